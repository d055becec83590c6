"""Linear experts: logistic regressions, by stochastic gradient descent on the log loss over the scaled features.

For two classes a model has one column of coefficients, for more one for each class.  The last model has quadratic
features, too: an ellipsoid, or a class with a larger spread than another, is easy for it and costs a kernel many
points.
"""

from libc.math cimport fmin
from libc.stdint cimport int32_t
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.calibration cimport sigmoid, softmax
from river_okl._core.memory cimport array_of
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

from river_okl._core.states import checked_numbers

RATES = (0.01, 0.03, 0.03)
cdef double OF_SQUARES = 0.15       # learning rate of the quadratic features, relative to that of the model
cdef double LARGEST_SQUARE = 16.0   # of a scaled value


cdef void divide(double *rows, Py_ssize_t n, Py_ssize_t room) noexcept:
    """The first column of so many rows becomes a half for the second and against the first."""
    cdef Py_ssize_t i
    for i in range(n):
        rows[i * room + 1] = 0.5 * rows[i * room]
        rows[i * room] = -rows[i * room + 1]


cdef class LinearModels(Expert):
    """``LINEARS`` models over the features that a scaler counts.

    All coefficients of a feature stand side by side: of every model those of all columns, at last those of the square.
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
        cdef Py_ssize_t i, before = self.room, room = max(columns, before + before // 8)
        cdef double *bias
        cdef double *score
        if columns <= before:
            return 0
        bias, score = self.doubles(NULL, 0, LINEARS * room), self.doubles(NULL, 0, BLOCKS * room)
        self.coef = self.table(self.coef, BLOCKS * self.places, before, BLOCKS * self.places, room)
        for i in range(LINEARS if before else 0):
            memcpy(bias + i * room, self.bias + i * before, before * 8)
        self.release(self.bias)
        self.release(self.score)
        self.bias, self.score, self.room = bias, score, room
        return 0

    cdef int reserve_class(self) except -1:
        return self.reserve_columns(max(2, self.columns) + 1)

    cdef int reserve_places(self, Py_ssize_t places) except -1:
        cdef Py_ssize_t each = BLOCKS * self.room
        if places > self.places:
            places = max(8, places, 2 * self.places)
            self.coef = self.doubles(self.coef, each * self.places, each * places)
            self.places = places
        return 0

    cdef void add_class(self) noexcept:
        """The score of two classes becomes a half for the one and against the other."""
        if self.columns > 1:
            self.columns += 1
            return
        self.columns = 3
        divide(self.coef, BLOCKS * self.places, self.room)
        divide(self.bias, LINEARS, self.room)

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
        cdef Py_ssize_t i, j, o, room = self.room, linear = LINEARS * room
        cdef double *score = self.score
        cdef double *of_last = self.score + (LINEARS - 1) * room
        cdef const double *coef
        cdef double value
        self.square(x)
        memcpy(score, self.bias, linear * 8)
        for j in range(x.size):
            if 0 <= x.places[j] < self.places:
                coef, value = self.coef + x.places[j] * BLOCKS * room, x.scaled[j]
                for o in range(linear):
                    score[o] += coef[o] * value
        for j in range(x.size):
            if 0 <= x.places[j] < self.places:
                coef, value = self.coef + (x.places[j] * BLOCKS + LINEARS) * room, self.squares[j]
                for o in range(room):
                    of_last[o] += coef[o] * value
        for i in range(LINEARS):
            if self.columns == 1:
                p[1] = sigmoid(score[i * room])
                p[0] = 1.0 - p[1]
            else:
                softmax(score + i * room, 1.0, self.columns, p)
            p += max(2, self.columns)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) noexcept:
        """A step down the slope of the log loss, for every model."""
        cdef Py_ssize_t i, j, o, c = <Py_ssize_t> y.target, room = self.room, linear = LINEARS * room
        cdef double rate, value, square
        cdef const double *p = y.p + self.first * max(2, self.columns)
        cdef double *coef
        cdef double *step = self.score
        cdef double *of_squares = self.score + linear
        memset(step, 0, linear * 8)
        for i in range(LINEARS):
            rate = self.rates[i] * y.counts
            if self.columns == 1:
                step[i * room] = rate * (c - p[1])
            else:
                for o in range(self.columns):
                    step[i * room + o] = rate * (0.0 - p[o])
                step[i * room + c] = rate * (1.0 - p[c])
            p += max(2, self.columns)
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

    cdef void forget(self, list places) noexcept:
        cdef Py_ssize_t place, each = BLOCKS * self.room
        for place in places:
            memset(self.coef + place * each, 0, each * 8)

    def names(self):
        return [f"linear(learning_rate={rate:g})" for rate in RATES[:-1]] + [f"quadratic(learning_rate={RATES[-1]:g})"]

    def state(self):
        cdef Py_ssize_t places = self.scaler.size, room = self.room
        coef = array_of(self.coef, places * BLOCKS * room).reshape(places, BLOCKS, room)
        bias = array_of(self.bias, LINEARS * room).reshape(LINEARS, room)
        return {
            "coef": np.ascontiguousarray(coef[:, :, :self.columns].transpose(2, 1, 0)),
            "bias": np.ascontiguousarray(bias[:, :self.columns].T),
        }

    def restore(self, dict state):
        cdef Py_ssize_t i, j, o
        coef, bias = state["coef"], state["bias"]
        checked_numbers("the coefficients of the linear models", coef, (self.columns, BLOCKS, self.scaler.size))
        checked_numbers("the biases of the linear models", bias, (self.columns, LINEARS))
        self.reserve_places(self.scaler.size)
        for o in range(self.columns):
            for i in range(LINEARS):
                self.bias[i * self.room + o] = bias[o, i]
            for i in range(BLOCKS):
                for j in range(self.scaler.size):
                    self.coef[(j * BLOCKS + i) * self.room + o] = coef[o, i, j]

    def permuted(self, dict state, list order):
        return state | {
            name: state[name][order] if self.columns > 1 else -state[name] if order == [1, 0] else state[name]
            for name in ("coef", "bias")
        }
