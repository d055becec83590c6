"""Linear experts: logistic regressions, by stochastic gradient descent on the log loss over the scaled features.

A model has one column of coefficients for two classes, and one column per class for more.  The last model also has
quadratic features: it fits ellipsoids, and classes of different spread, for which a kernel needs many points.  Learning
rates are constant, so that the models follow concept drift; the lower one suits stationary streams.
"""

from libc.math cimport fmin
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

from river_okl._core.calibration cimport probabilities_of
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis, Classes, Conversion

cdef enum:
    LINEARS = 3
    BLOCKS = LINEARS + 1        # of coefficients

cdef double[LINEARS] rates = [0.03, 0.01, 0.03]
cdef double OF_SQUARES = 0.15       # learning rate of the quadratic features, relative to that of the last model
cdef double LARGEST_SQUARE = 16.0   # of a scaled value


cdef class LinearModels(Expert):
    """``LINEARS`` models over the features of a scaler.

    All coefficients of a feature are contiguous: first the columns of every model, then the columns of its square.
    """

    cdef readonly Scaler scaler
    # for two classes the scores are of the second; cells of columns beyond them are 0
    cdef double *coef                   # [feature, BLOCKS, column]
    cdef double *bias                   # [LINEARS, column]
    # scratch: the last sample
    cdef double *score                  # [BLOCKS, column]; once it is learned, the steps of the biases
    cdef double *squares                # [allocated]
    cdef Py_ssize_t allocated

    def __init__(self, Scaler scaler):
        self.name, self.rows = "linear", LINEARS
        self.scaler = scaler
        self.per_class = Classes(1, split=0.5)
        self.declare(<size_t> &self.coef, "coef", (scaler, BLOCKS, self.per_class))
        self.declare(<size_t> &self.bias, "bias", (LINEARS, self.per_class))
        self.scratch(<size_t> &self.score, (BLOCKS, self.per_class))

    cdef int square(self, const Sample *x) except -1:
        """Compute the quadratic features: squares of the values, minus their mean if the feature is centred."""
        cdef Py_ssize_t j, allocated
        cdef int32_t place
        if x.size > self.allocated:
            allocated = max(8, x.size, 2 * self.allocated)
            self.squares = self.doubles(self.squares, 0, allocated)
            self.allocated = allocated
        for j in range(x.size):
            place = x.places[j]
            self.squares[j] = fmin(x.scaled[j] * x.scaled[j], LARGEST_SQUARE)
            if place >= 0 and self.scaler.features[place].centred:
                self.squares[j] -= 1.0
        return 0

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t i, j, o, columns = self.per_class.n, room = self.per_class.room, linear = LINEARS * room
        cdef double *score = self.score
        cdef double *of_last = self.score + (LINEARS - 1) * room
        cdef const double *coef
        cdef double value
        self.square(x)
        memcpy(score, self.bias, linear * 8)
        for j in range(x.size):
            if 0 <= x.places[j] < self.scaler.room:
                coef, value = self.coef + x.places[j] * BLOCKS * room, x.scaled[j]
                for o in range(linear):
                    score[o] += coef[o] * value
        for j in range(x.size):
            if 0 <= x.places[j] < self.scaler.room:
                coef, value = self.coef + (x.places[j] * BLOCKS + LINEARS) * room, self.squares[j]
                for o in range(room):
                    of_last[o] += coef[o] * value
        for i in range(LINEARS):
            probabilities_of(score + i * room, 1.0, columns, p)
            p += max(2, columns)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        """Take a gradient step on the log loss, for every model."""
        cdef Py_ssize_t i, j, o, c = <Py_ssize_t> y.target
        cdef Py_ssize_t columns = self.per_class.n, room = self.per_class.room, linear = LINEARS * room
        cdef Py_ssize_t first = 1 if columns == 1 else 0    # the class of the first column
        cdef double rate, value, square
        cdef const double *p = y.p + self.first * max(2, columns)
        cdef double *coef
        cdef double *step = self.score
        cdef double *of_squares = self.score + linear
        memset(step, 0, linear * 8)
        for i in range(LINEARS):
            rate = rates[i] * y.counts
            for o in range(columns):
                step[i * room + o] = rate * ((1.0 if c == first + o else 0.0) - p[first + o])
            p += max(2, columns)
        for o in range(room):
            of_squares[o] = OF_SQUARES * step[linear - room + o]
        for o in range(linear):
            self.bias[o] += step[o]
        for j in range(x.size):
            coef, value, square = self.coef + x.places[j] * BLOCKS * room, x.scaled[j], self.squares[j]
            for o in range(linear):
                coef[o] += step[o] * value
            coef += linear
            for o in range(room):
                coef[o] += of_squares[o] * square
        return False

    cdef int change_units(self, Axis axis, const Conversion *to) except -1:
        """Keep the functions, except where a square is clipped: z = (z' - shift) / ratio."""
        cdef Py_ssize_t place, o, last, room = self.per_class.room, linear = LINEARS * room
        cdef double ratio, shift, square
        cdef double *coef
        for place in range(min(to.n, self.scaler.room)):
            ratio, shift = to.ratio[place], to.shift[place] / to.ratio[place]
            if ratio == 1.0 and shift == 0.0:
                continue
            coef = self.coef + place * BLOCKS * room
            for o in range(linear):
                self.bias[o] -= shift * coef[o]
                coef[o] /= ratio
            for o in range(room):
                last = linear - room + o
                square = coef[linear + o] / (ratio * ratio)
                self.bias[last] += shift * shift * coef[linear + o]
                if self.scaler.features[place].centred:
                    self.bias[last] += square - coef[linear + o]
                coef[last] -= 2.0 * shift * coef[linear + o] / ratio
                coef[linear + o] = square

    def names(self):
        *linear, quadratic = [f"learning_rate={rate:g}" for rate in rates]
        return [*[f"linear({rate})" for rate in linear], f"quadratic({quadratic})"]
