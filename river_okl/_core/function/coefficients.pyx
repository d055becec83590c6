"""The coefficients of an expansion, independent of its points and kernel.

    α[i] = scale · coef[column][i]      column = class · n_outputs + output

Coefficient i belongs to point i: the last point takes the position of a removed one.  Coefficients beyond n are 0.

More than two classes.  After ``split`` an output has one function per class, F_c, instead of one function f.  A sample
of class y with strongest rival r has the direction u = (e_y - e_r)/√2.  Along u, f is (F_y - F_r)/√2, and
f ← f + c κ(x, ·) adds c/√2 to F_y and -c/√2 to F_r.  As ‖u‖ = 1, everything that an algorithm for labels ±1 computes
(margins, κ(x, x), ‖f‖²) keeps its meaning, with y = +1.  For two classes F = ±f/√2 is the same model.  The direction is
``unit`` · (+1 for ``along[0]``, -1 for ``along[1]``); before ``split`` it is 1 for the only function.
"""

cimport cython
from libc.math cimport fabs, sqrt

import numpy as np

from river_okl._core.simd cimport loops
from river_okl._core.store.buffers cimport array_of, fill

from river_okl._core.states import checked_array, checked_float

cdef double SQRT_HALF = 0.5**0.5
cdef double LARGEST_SCALE = 1e100
cdef double LARGEST_RATIO = 1e130   # of a step to the scale: squares of unscaled coefficients stay finite


@cython.final
cdef class Coefficients(Owner):
    """Columns of coefficients, one per output and class."""

    def __cinit__(self, Py_ssize_t n_outputs):
        if n_outputs < 1:
            raise ValueError(f"n_outputs is {n_outputs}; it must be at least 1")
        self.scale = self.unit = 1.0
        self.n_along = 1
        self.n_outputs = n_outputs
        self.reserve_columns(n_outputs)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` points; called before the points reserve theirs."""
        cdef Py_ssize_t o
        for o in range(self.n_columns):
            self.coef[o] = self.doubles(self.coef[o], self.capacity, capacity)
        self.capacity = capacity
        return 0

    cdef int reserve_columns(self, Py_ssize_t n_columns) except -1:
        """Add columns of zeros."""
        cdef Py_ssize_t o
        self.coef = <double **> self.resize(self.coef, self.n_columns, n_columns, sizeof(double *))
        for o in range(self.n_columns, n_columns):
            self.coef[o] = self.doubles(NULL, 0, self.capacity)
        self.n_columns = n_columns
        return 0

    # Classes ----------------------------------------------------------------------------------------------------------

    cdef void split(self, Py_ssize_t n) noexcept:
        """Split f for labels ±1 into F = -f/√2 and f/√2, one per class.  The columns must exist."""
        cdef Py_ssize_t o, i
        for o in range(self.n_outputs):
            for i in range(n):
                self.coef[self.n_outputs + o][i] = SQRT_HALF * self.coef[o][i]
                self.coef[o][i] = -self.coef[self.n_outputs + o][i]
        self.n_classes = 2
        self.start_directions()

    cdef void start_directions(self) noexcept:
        """Set the direction to zero until that of a sample is known."""
        self.along[0] = self.along[1] = 0
        self.n_along, self.unit = 2, SQRT_HALF

    cdef list permute(self, list order, Py_ssize_t n):
        """Permute the classes: c becomes what order[c] was.  Without classes, [1, 0] negates f.  Return the
        origin of each column."""
        cdef Py_ssize_t o, i
        if sorted(order) != list(range(max(2, self.n_classes))):
            raise ValueError(f"{order} is not a permutation of {max(2, self.n_classes)} classes")
        if self.n_classes == 0:
            if order[0]:
                for o in range(self.n_columns):
                    for i in range(n):
                        self.coef[o][i] = -self.coef[o][i]
            return list(range(self.n_columns))
        columns = [c * self.n_outputs + o for c in order for o in range(self.n_outputs)]
        pointers = [<size_t> self.coef[o] for o in range(self.n_columns)]
        for o in range(self.n_columns):
            self.coef[o] = <double *> <size_t> pointers[columns[o]]
        self.start_directions()
        return columns

    cdef int check_output(self, Py_ssize_t o) except -1:
        if not 0 <= o < self.n_outputs:
            raise IndexError(f"output {o} of {self.n_outputs}")
        return 0

    cdef int reject_classes(self) except -1:
        if self.n_classes > 0:
            raise RuntimeError("with classes a support vector has no single coefficient: see columns")
        return 0

    cdef int check_weights(self, tuple weights) except -1:
        if len(weights) > self.n_outputs:
            raise IndexError(f"{len(weights)} weights for {self.n_outputs} outputs")
        return 0

    cdef void combine(
        self, const double *row, Py_ssize_t padded, const double[::1] weights, double[::1] out
    ) noexcept nogil:
        """Set out[c] = Σ weight · output of class c, given the kernel row of a sample."""
        cdef Py_ssize_t c, o
        for c in range(out.shape[0]):
            for o in range(weights.shape[0]):
                out[c] += weights[o] * loops.inner(row, self.coef[c * self.n_outputs + o], padded)
            out[c] *= self.scale

    # Changing them ----------------------------------------------------------------------------------------------------

    cdef void clear(self, Py_ssize_t i) noexcept:
        """Zero the coefficients of the point added at position i."""
        cdef Py_ssize_t o
        for o in range(self.n_columns):
            self.coef[o][i] = 0.0

    cdef void point_removed(self, Py_ssize_t i, Py_ssize_t last) noexcept:
        """Remove the coefficients at i; those of the last point take the position."""
        cdef Py_ssize_t o
        for o in range(self.n_columns):
            self.coef[o][i] = self.coef[o][last]
            self.coef[o][last] = 0.0

    cdef bint fold(self, Py_ssize_t n, double c) noexcept:
        """Multiply the coefficients by the scale, if it is out of range or too small for a step of size c.
        Return whether it was."""
        cdef Py_ssize_t i, o
        if 1.0 / LARGEST_SCALE < fabs(self.scale) < LARGEST_SCALE and fabs(c) <= LARGEST_RATIO * fabs(self.scale):
            return False
        for o in range(self.n_columns):
            for i in range(n):
                self.coef[o][i] *= self.scale
        self.scale = 1.0
        return True

    cdef bint clip(self, double largest, Py_ssize_t n) noexcept:
        """Clip |α_i| of output 0, over all classes, to ``largest``.  Return whether any was larger."""
        cdef Py_ssize_t i, c
        cdef double size
        cdef double limit = largest / fabs(self.scale)
        cdef double *coef = self.coef[0]
        cdef bint clipped = False
        for i in range(n):
            if self.n_classes == 0:
                if fabs(coef[i]) > limit:
                    coef[i] = limit if coef[i] > 0.0 else -limit
                    clipped = True
                continue
            size = sqrt(self.squared_size(i))
            if size > limit:
                for c in range(self.n_classes):
                    self.coef[c * self.n_outputs][i] *= limit / size
                clipped = True
        return clipped

    # Reading and writing ----------------------------------------------------------------------------------------------

    cdef double squared_size(self, Py_ssize_t i) noexcept:
        """Return α_i² of output 0, over all classes, without the scale."""
        cdef Py_ssize_t c
        cdef double size = 0.0
        for c in range(max(1, self.n_classes)):
            size += self.coef[c * self.n_outputs][i] * self.coef[c * self.n_outputs][i]
        return size

    cdef object magnitudes(self, Py_ssize_t n):
        """Return |α_i| of output 0, over all classes: √Σ α²."""
        cdef Py_ssize_t i
        cdef double[::1] view
        out = np.empty(n)
        view = out
        for i in range(n):
            view[i] = sqrt(self.squared_size(i)) * fabs(self.scale)
        return out

    cdef object read(self, Py_ssize_t n):
        """Return a copy of α of the first column."""
        out = array_of(self.coef[0], n)
        out *= self.scale
        return out

    cdef int write(self, values, Py_ssize_t n) except -1:
        """Set α of the first column."""
        cdef double[::1] v = np.ascontiguousarray(values, dtype=np.float64)
        cdef Py_ssize_t i
        if v.shape[0] != n:
            raise ValueError(f"{v.shape[0]} coefficients for {n} support vectors")
        for i in range(n):
            self.coef[0][i] = v[i] / self.scale
        return 0

    cdef object read_all(self, Py_ssize_t n):
        """Return a copy of all coefficients: an array of shape (points, columns)."""
        cdef Py_ssize_t i, o
        cdef double[:, ::1] view
        out = np.empty((n, self.n_columns))
        view = out
        for i in range(n):
            for o in range(self.n_columns):
                view[i, o] = self.coef[o][i] * self.scale
        return out

    cdef int write_all(self, matrix, Py_ssize_t n) except -1:
        """Set all coefficients from an array of shape (points, columns)."""
        cdef double[:, ::1] v = np.ascontiguousarray(matrix, dtype=np.float64)
        cdef Py_ssize_t i, o
        if v.shape[0] != n or v.shape[1] != self.n_columns:
            raise ValueError(f"coefficients of shape {matrix.shape} for {(n, self.n_columns)}")
        for o in range(self.n_columns):
            for i in range(n):
                self.coef[o][i] = v[i, o] / self.scale
        return 0

    cdef dict state(self, Py_ssize_t n):
        """Return the state by name, with unscaled coefficients by column."""
        cdef Py_ssize_t o
        return {
            "coef": np.array([array_of(self.coef[o], n) for o in range(self.n_columns)]),
            "scale": self.scale,
            "n_classes": self.n_classes,
        }

    cdef int restore(self, dict state, Py_ssize_t n) except -1:
        """Resume from a state of n points, after checking every number.  Columns and capacity must match it."""
        cdef Py_ssize_t o
        coef = checked_array(state, "coef", np.float64, (self.n_columns, n))
        scale = checked_float(state, "scale", -LARGEST_SCALE, LARGEST_SCALE)
        if not 1.0 / LARGEST_SCALE < abs(scale) < LARGEST_SCALE:
            raise ValueError(f"scale is {scale!r}")
        for o in range(self.n_columns):
            fill(self.coef[o], coef[o], n)
        self.scale = scale
        self.n_classes = state["n_classes"]
        if self.n_classes:
            self.start_directions()
        return 0
