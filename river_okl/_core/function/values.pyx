"""Values and norms of f: f(x) of the last sample, and ‖f‖² and f(z_i) if an algorithm needs them.

``Sums`` are scratch: Σ_i coef[column, i] κ(z_i, x) of every column for the last sample, computed once, on
demand.  Call ``forget`` after any change of f or of the last sample.

``Norms`` are updated as f changes:

    norms[o]      ‖f_o‖² of every column of coefficients
    values[i]     f_0(z_i)/scale

They are recomputed from scratch regularly (amortised, a small part of an evaluation), so that rounding errors do not
accumulate, and when a norm has almost cancelled.  Call the methods about a change before the coefficients change.
"""

cimport cython
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.simd cimport loops
from river_okl._core.store.buffers cimport array_of, fill

from river_okl._core.invariants import assert_close
from river_okl._core.linalg import dot
from river_okl._core.states import (
    LARGEST_COUNT, LARGEST_NUMBER, LARGEST_SQUARE, LARGEST_UNSCALED, checked_array, checked_flag, checked_numbers,
    checked_whole
)


@cython.final
cdef class Sums(Owner):
    """The sums of the function with these rows and coefficients."""

    def __cinit__(self, Rows rows not None, Coefficients alpha not None):
        self.rows = rows
        self.alpha = alpha
        self.reserve(alpha.n_columns)

    cdef int reserve(self, Py_ssize_t n_columns) except -1:
        """Reserve room for ``n_columns`` columns, all unknown; called before the coefficients reserve theirs."""
        self.values = self.doubles(self.values, 0, n_columns)
        self.known = <bint *> self.resize(self.known, 0, n_columns, sizeof(bint))
        return 0

    cdef void forget(self) noexcept:
        memset(self.known, 0, self.alpha.n_columns * sizeof(bint))

    cdef double of(self, Py_ssize_t column) noexcept:
        """Return the sum of a column, without the scale."""
        if not self.known[column]:
            self.values[column] = loops.inner(self.rows.row, self.alpha.coef[column], self.rows.points.padded())
            self.known[column] = True
        return self.values[column]

    cdef double along(self, Py_ssize_t output) noexcept:
        """Return the sum of an output along the direction of the last sample, without the scale."""
        cdef double total = self.of(self.alpha.column(0, output))
        if self.alpha.n_along > 1:
            total -= self.of(self.alpha.column(1, output))
        return self.alpha.unit * total

    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0:
        """Return Σ weight · output of class c."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        self.alpha.check_weights(weights)
        for o in range(len(weights)):
            total += <double> weights[o] * self.of(c * self.alpha.n_outputs + o)
        return self.alpha.scale * total

    cdef void turn_to(self, Py_ssize_t target) noexcept:
        """Set the direction of the last sample: class ``target`` against the largest other (the first in ties)."""
        cdef Py_ssize_t c, rival = 1 if target == 0 else 0
        for c in range(self.alpha.n_classes):
            if c != target and self.of(c * self.alpha.n_outputs) > self.of(rival * self.alpha.n_outputs):
                rival = c
        self.alpha.along[0] = target
        self.alpha.along[1] = rival


@cython.final
cdef class Norms(Owner):
    """Norms and values of the function with these rows, coefficients and Gram matrix."""

    def __cinit__(self, Rows rows not None, Coefficients alpha not None, Gram gram, bint keeps_norm, bint keeps_values):
        self.rows = rows
        self.alpha = alpha
        self.gram = gram
        self.keeps_norm = keeps_norm
        self.keeps_values = keeps_values
        self.reserve_columns(0, alpha.n_columns)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for the values of ``capacity`` points."""
        if self.keeps_values:
            self.values = self.doubles(self.values, self.capacity, capacity)
            self.capacity = capacity
        return 0

    cdef int reserve_columns(self, Py_ssize_t old, Py_ssize_t n_columns) except -1:
        """Add columns with norm 0."""
        self.norms = self.doubles(self.norms, old, n_columns)
        self.peaks = self.doubles(self.peaks, old, n_columns)
        return 0

    cdef int refresh(self) except -1:
        """Compute norms and values from scratch if they are stale."""
        cdef Py_ssize_t i, o, n = self.rows.points.n, n_columns = self.alpha.n_columns
        cdef double value, square = self.alpha.scale * self.alpha.scale
        cdef double *other = self.rows.other
        if not self.stale:
            return 0
        self.stale = False
        self.changes = 0
        if not (self.keeps_norm or self.keeps_values):
            return 0
        memset(self.norms, 0, n_columns * 8)
        if self.gram is not None:
            for o in range(n_columns):
                self.gram.gram.times(1.0, self.alpha.coef[o], other)
                for i in range(n):
                    self.norms[o] += square * self.alpha.coef[o][i] * other[i]
                    if o == 0 and self.keeps_values:
                        self.values[i] = other[i]
        else:
            for i in range(n):
                self.rows.compute_of(i, other)
                for o in range(n_columns):
                    value = loops.inner(other, self.alpha.coef[o], self.rows.points.padded())
                    self.norms[o] += square * self.alpha.coef[o][i] * value
                    if o == 0 and self.keeps_values:
                        self.values[i] = value
        memcpy(self.peaks, self.norms, n_columns * 8)
        return 0

    # f changes --------------------------------------------------------------------------------------------------------

    cdef void changed(self) noexcept:
        """Record a change of f.  Norms and values become stale after many changes, or if a norm has cancelled."""
        cdef Py_ssize_t o
        self.changes += 1
        if self.changes >= 64 * self.rows.points.n + 1024:
            self.stale = True
        for o in range(self.alpha.n_columns):
            self.peaks[o] = max(self.peaks[o], self.norms[o])
            if self.norms[o] < 1e-7 * self.peaks[o]:
                self.stale = True

    cdef void clear(self) noexcept:
        """Set the norms to exactly 0, as f is 0."""
        memset(self.norms, 0, self.alpha.n_columns * 8)
        memset(self.peaks, 0, self.alpha.n_columns * 8)

    cdef void added(self, Py_ssize_t output, double c, const double *sums) noexcept:
        """Update for f + c κ(x, ·), along the direction of the last sample x, now the last point.

        ‖f + c κ(x, ·)‖² = ‖f‖² + 2 c f(x) + c² κ(x, x); ``sums`` are the f_o(x)/scale before the change.
        """
        cdef Py_ssize_t i, column, n = self.rows.points.n
        cdef double step, scale = self.alpha.scale
        cdef int a
        if not self.tracks():
            return
        for a in range(self.alpha.n_along):
            column = self.alpha.column(a, output)
            step = self.alpha.signed_unit(a) * c
            self.norms[column] += step * (2.0 * scale * sums[column] + step * self.rows.self_similarity)
        if self.keeps_values:
            self.values[n - 1] = sums[0]
            if output == 0:
                for i in range(n):
                    self.values[i] += c / scale * self.rows.row[i]

    cdef void scaled(self, double c) noexcept:
        """Update for c f."""
        cdef Py_ssize_t o
        for o in range(self.alpha.n_columns):
            self.norms[o] = self.norms[o] * c * c  # c² alone may overflow
            self.peaks[o] = self.peaks[o] * c * c

    cdef int shifted(self, Py_ssize_t i, double c, Py_ssize_t output) except -1:
        """Update for f + c κ(z_i, ·)."""
        cdef Py_ssize_t j
        cdef double value, scale = self.alpha.scale
        cdef double *other = self.rows.other
        if self.alpha.n_classes > 0:
            self.stale = True
        if not self.tracks():
            return 0
        self.rows.compute_of(i, other)
        value = loops.inner(other, self.alpha.coef[output], self.rows.points.padded())
        self.norms[output] += c * (2.0 * scale * value + c * self.rows.self_[i])
        if self.keeps_values and output == 0:
            for j in range(self.rows.points.n):
                self.values[j] += c / scale * other[j]
        return 0

    cdef int dropping(self, Py_ssize_t i) except -1:
        """Update for f without its term at z_i, which is about to be removed."""
        cdef Py_ssize_t j, o, n = self.rows.points.n
        cdef double value, square = self.alpha.scale * self.alpha.scale
        cdef double *other = self.rows.other
        cdef double *coef
        if not self.tracks():
            return 0
        self.rows.compute_of(i, other)
        for o in range(self.alpha.n_columns):
            coef = self.alpha.coef[o]
            value = loops.inner(other, coef, self.rows.points.padded())
            self.norms[o] += square * coef[i] * (coef[i] * self.rows.self_[i] - 2.0 * value)
        if self.keeps_values:
            for j in range(n):
                self.values[j] -= self.alpha.coef[0][i] * other[j]
            self.values[i] = self.values[n - 1]
        return 0

    cdef void absorbed(self, Py_ssize_t output, double c) noexcept:
        """Update for f + c Pκ along the direction, with d of the last solve: <f, Pκ> = αᵀKd, ‖Pκ‖² = dᵀKd."""
        cdef Py_ssize_t i, column
        cdef double step, scale = self.alpha.scale
        cdef double *image
        cdef int a
        if self.tracks():
            image = self.gram.residual
            self.gram.gram.times(1.0, self.gram.solution, image)
            for a in range(self.alpha.n_along):
                column = self.alpha.column(a, output)
                step = self.alpha.signed_unit(a) * c
                for i in range(self.rows.points.n):
                    self.norms[column] += (
                        step * (2.0 * scale * self.alpha.coef[column][i] + step * self.gram.solution[i]) * image[i]
                    )
        if self.keeps_values:
            self.stale = True

    cdef void split(self) noexcept:
        """Split each function into two, with half the squared norm each.  The columns must exist."""
        cdef Py_ssize_t o, n_outputs = self.alpha.n_outputs
        for o in range(n_outputs):
            self.norms[n_outputs + o] = self.norms[o] = 0.5 * self.norms[o]
            self.peaks[n_outputs + o] = self.peaks[o] = 0.5 * self.peaks[o]

    cdef int permute(self, list columns, bint negated) except -1:
        """Permute the columns: o becomes what columns[o] was.  Negate the values if ``negated``."""
        cdef Py_ssize_t i, n_columns = self.alpha.n_columns
        fill(self.norms, array_of(self.norms, n_columns)[columns], n_columns)
        fill(self.peaks, array_of(self.peaks, n_columns)[columns], n_columns)
        if negated and self.keeps_values:
            for i in range(self.rows.points.n):
                self.values[i] = -self.values[i]
        return 0

    cdef int refresh_with(self, norms) except -1:
        """Set ‖f_o‖² to norms computed elsewhere."""
        cdef Py_ssize_t o
        for o in range(self.alpha.n_columns):
            self.norms[o] = self.peaks[o] = norms[o]
        self.changes = 0
        self.stale = False
        return 0

    # Reading ----------------------------------------------------------------------------------------------------------

    cdef double square(self) except -1.0:
        """Return ‖f‖² of output 0, summed over classes."""
        self.refresh()
        return self.peek()

    cdef double peek(self) except -1.0:
        """Return ``square`` without ``refresh``, so that reading does not change the last bits of later steps."""
        if self.keeps_norm and self.alpha.n_classes == 0 and not self.stale:
            return max(0.0, self.norms[0])
        squares = self.squares()
        return sum(squares[:: self.alpha.n_outputs]) if self.alpha.n_classes else squares[0]

    cdef list squares(self):
        """Return ‖f_o‖² of every column of coefficients, computed unless stored."""
        cdef Py_ssize_t i, o
        if self.keeps_norm and not self.stale:
            return [max(0.0, self.norms[o]) for o in range(self.alpha.n_columns)]
        coefficients = list(np.ascontiguousarray(self.alpha.read_all(self.rows.points.n).T))
        total = [0.0] * self.alpha.n_columns
        for i in range(self.rows.points.n):
            row = self.rows.row_of(i)
            for o in range(self.alpha.n_columns):
                total[o] += coefficients[o][i] * dot(row, coefficients[o])
        return [max(0.0, value) for value in total]

    cdef object read_values(self):
        """Return a copy of f(z_i) for every point, if the values are stored."""
        self.refresh()
        out = array_of(self.values, self.rows.points.n)
        out *= self.alpha.scale
        return out

    cdef dict state(self):
        """Return the state by name."""
        return {
            "norms": array_of(self.norms, self.alpha.n_columns),
            "peaks": array_of(self.peaks, self.alpha.n_columns),
            "values": array_of(self.values, self.rows.points.n if self.keeps_values else 0),
            "moves": self.changes,
            "stale": bool(self.stale),
        }

    cdef int restore(self, dict state) except -1:
        """Resume from a state, after checking every number.  Columns, capacity and points must match it."""
        cdef Py_ssize_t n = self.rows.points.n if self.keeps_values else 0
        norms, peaks = [checked_array(state, name, np.float64, self.alpha.n_columns) for name in ("norms", "peaks")]
        values = checked_array(state, "values", np.float64, n)
        changes, stale = checked_whole(state, "moves", 0, LARGEST_COUNT), checked_flag("stale", state["stale"])
        fill(self.norms, norms, self.alpha.n_columns)
        fill(self.peaks, peaks, self.alpha.n_columns)
        fill(self.values, values, n)
        self.changes, self.stale = changes, stale
        return 0

    cdef int check_sizes(self) except -1:
        """Raise ValueError if a number is too large for later steps."""
        largest = min(LARGEST_UNSCALED, LARGEST_NUMBER / abs(self.alpha.scale))
        coef, state = self.alpha.state(self.rows.points.n)["coef"], self.state()
        checked_numbers("coef", coef, coef.shape, -largest, largest)
        for name in ("norms", "peaks", "values"):
            checked_numbers(name, state[name], state[name].shape, -LARGEST_SQUARE, LARGEST_SQUARE)
        return 0

    cdef object check(self, gram, double slack):
        """Check the invariants at the head of this file, given K, and that coefficients beyond the points are 0."""
        cdef Py_ssize_t i, o, n = self.rows.points.n
        columns, squares = self.alpha.read_all(n), self.squares()
        for o in range(self.alpha.n_columns):
            assert all(self.alpha.coef[o][i] == 0.0 for i in range(n, self.alpha.capacity))
            alpha = columns[:, o]
            size = 1e-9 * float(np.abs(alpha) @ np.abs(gram) @ np.abs(alpha)) + slack * float(np.abs(alpha).sum()) ** 2
            # squares of coefficients of 1e-120 underflow; the error of a large term stays when it is removed
            assert_close(squares[o], alpha @ gram @ alpha, rtol=1e-6, atol=size + slack * self.peaks[o] + 1e-200)
        if self.keeps_values:
            alpha = columns[:, 0]
            size = 1e-9 * float((np.abs(gram) @ np.abs(alpha)).max(initial=0.0)) + slack * float(np.abs(alpha).sum())
            assert_close(self.read_values(), gram @ alpha, rtol=1e-6, atol=size + 1e-300)
