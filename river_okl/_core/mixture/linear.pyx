"""Linear experts: logistic regressions, by stochastic gradient descent on the log loss over the scaled features.

For two classes a model has one column of coefficients, for more one for each class.  The last model has quadratic
features, too: an ellipsoid, or a class with a larger spread than another, is easy for it and costs a kernel many
points.
"""

from libc.math cimport fmin
from libc.stdint cimport int32_t

import numpy as np

from river_okl._core.calibration cimport sigmoid, softmax
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

from river_okl._core.states import checked_numbers

RATES = (0.01, 0.03, 0.03)
cdef double OF_SQUARES = 0.15       # learning rate of the quadratic features, relative to that of the model
cdef double LARGEST_SQUARE = 16.0   # of a scaled value


cdef class LinearModels(Expert):
    """``LINEARS`` models over the features that a scaler counts.

    Column o of model i is number o · BLOCKS + i, and of the last one's squares number o · BLOCKS + LINEARS.
    """

    def __init__(self, Scaler scaler):
        cdef Py_ssize_t i
        self.name, self.rows = "linear", LINEARS
        self.scaler = scaler
        for i in range(LINEARS):
            self.rates[i] = RATES[i]
        self.reserve_columns(1)
        self.columns = 1

    cdef int reserve_columns(self, Py_ssize_t columns) except -1:
        """Room for more columns of coefficients, which are zero."""
        cdef Py_ssize_t i
        self.coef = <double **> self.resize(
            self.coef, self.reserved, max(BLOCKS * columns, self.reserved), sizeof(double *)
        )
        self.bias = self.doubles(self.bias, LINEARS * self.columns, LINEARS * columns)
        for i in range(self.reserved, BLOCKS * columns):
            self.coef[i] = self.doubles(NULL, 0, self.places)
            self.reserved = i + 1
        return 0

    cdef int reserve_class(self) except -1:
        return self.reserve_columns(max(2, self.columns) + 1)

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        cdef Py_ssize_t i
        if places > self.places:
            places = max(8, places, 2 * self.places)
            for i in range(self.reserved):
                self.coef[i] = self.doubles(self.coef[i], self.places, places)
            self.places = places
        return 0

    cdef void add_class(self) noexcept:
        """The score of two classes becomes a half for the one and against the other."""
        cdef Py_ssize_t i, j
        if self.columns > 1:
            self.columns += 1
            return
        self.columns = 3
        for i in range(BLOCKS):
            for j in range(self.places):
                self.coef[BLOCKS + i][j] = 0.5 * self.coef[i][j]
                self.coef[i][j] = -self.coef[BLOCKS + i][j]
        for i in range(LINEARS):
            self.bias[LINEARS + i] = 0.5 * self.bias[i]
            self.bias[i] = -self.bias[LINEARS + i]

    cdef int square(self, const Sample *x) except -1:
        """The last model's quadratic features: squares of the values, less their mean if the feature is centred."""
        cdef Py_ssize_t j
        cdef int32_t place
        if x.size > self.allocated:
            self.allocated = max(8, x.size, 2 * self.allocated)
            self.squares = self.doubles(self.squares, 0, self.allocated)
        for j in range(x.size):
            place = x.places[j]
            self.squares[j] = fmin(x.scaled[j] * x.scaled[j], LARGEST_SQUARE)
            if place >= 0 and self.scaler.features[place].centred:
                self.squares[j] -= 1.0
        return 0

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t i, j, o
        cdef double total
        cdef const double *coef
        cdef const double *of_squares
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        self.square(x)
        for i in range(LINEARS):
            for o in range(self.columns):
                coef = self.coef[o * BLOCKS + i]
                total = self.bias[o * LINEARS + i]
                for j in range(x.size):
                    if 0 <= places[j] < self.places:
                        total += coef[places[j]] * values[j]
                if i == LINEARS - 1:
                    of_squares = self.coef[o * BLOCKS + LINEARS]
                    for j in range(x.size):
                        if 0 <= places[j] < self.places:
                            total += of_squares[places[j]] * self.squares[j]
                p[o] = total
            if self.columns == 1:
                p[1] = sigmoid(p[0])
                p[0] = 1.0 - p[1]
            else:
                softmax(p, 1.0, self.columns, p)
            p += max(2, self.columns)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        """A step down the slope of the log loss, for every model."""
        cdef Py_ssize_t i, j, o, c = <Py_ssize_t> y.target
        cdef double step
        cdef const double *p = y.p + self.first * max(2, self.columns)
        cdef double *coef
        cdef double *of_squares
        cdef const int32_t *places = x.places
        cdef const double *values = x.scaled
        for i in range(LINEARS):
            for o in range(self.columns):
                step = self.rates[i] * y.counts * (c - p[1] if self.columns == 1 else (c == o) - p[o])
                coef = self.coef[o * BLOCKS + i]
                self.bias[o * LINEARS + i] += step
                for j in range(x.size):
                    coef[places[j]] += step * values[j]
                if i == LINEARS - 1:
                    of_squares = self.coef[o * BLOCKS + LINEARS]
                    for j in range(x.size):
                        of_squares[places[j]] += OF_SQUARES * step * self.squares[j]
            p += max(2, self.columns)
        return False

    cdef void forget(self, list places) noexcept:
        cdef Py_ssize_t i, place
        for place in places:
            for i in range(BLOCKS * self.columns):
                self.coef[i][place] = 0.0

    def names(self):
        return [f"linear(learning_rate={rate:g})" for rate in RATES[:-1]] + [f"quadratic(learning_rate={RATES[-1]:g})"]

    def state(self):
        cdef Py_ssize_t i, j, places = self.scaler.size
        return {
            "coef": np.array(
                [[self.coef[i][j] for j in range(places)] for i in range(BLOCKS * self.columns)]
            ).reshape(self.columns, BLOCKS, places),
            "bias": np.array([self.bias[i] for i in range(LINEARS * self.columns)]).reshape(self.columns, LINEARS),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, j, o
        coef, bias = state["coef"], state["bias"]
        checked_numbers("the coefficients of the linear models", coef, (self.columns, BLOCKS, self.scaler.size))
        checked_numbers("the biases of the linear models", bias, (self.columns, LINEARS))
        self.reserve_places(self.scaler.size)
        for o in range(self.columns):
            for i in range(LINEARS):
                self.bias[o * LINEARS + i] = bias[o, i]
            for i in range(BLOCKS):
                for j in range(self.scaler.size):
                    self.coef[o * BLOCKS + i][j] = coef[o, i, j]

    def permuted(self, dict state, list order):
        return state | {
            name: state[name][order] if self.columns > 1 else -state[name] if order == [1, 0] else state[name]
            for name in ("coef", "bias")
        }
