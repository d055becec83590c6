"""The function that every algorithm of river_okl manipulates: f = Σ α_i κ(z_i, ·), a kernel expansion.

It is composed: where the z_i are is the business of ``points.pyx``, their kernel rows that of ``rows.pyx``, K and K⁻¹ that
of ``gram.pyx``; here are the coefficients.  What is kept, for support vectors i < n and outputs o (``_check`` recomputes
all of it by brute force):

    f_o           Σ_i scale · coef[o, i] · κ(z_i, ·)
    norms[o]      ‖f_o‖²            where asked for (``norm=True``)
    values[i]     f_0(z_i)/scale    where asked for (``values=True``)
    gram          K and K⁻¹         where asked for (``inverse=True``)

The last sample is the one that ``evaluate``, ``scores`` or ``observe`` was given last; ``add``, ``project``, ``absorb``,
``value``, ``row`` and ``self_similarity`` are about it, and raise where there is none or another thread has shown it.  It
is still the last sample after points came or went.  Where a sample is the last one again, its kernel row is reused; where
no coefficient moved either, the value.

More than two classes.  After ``split_classes`` an output is not one function f but one per class, F_c, and a sample of class
y sees f along the direction u = (e_y - e_r)/√2, r the class that rivals y most: its value is (F_y - F_r)/√2, and f ← f + c
κ(x, ·) moves F_y by c/√2 and F_r by -c/√2.  As ‖u‖ = 1, all that an algorithm for labels ±1 computes (margins, κ(x, x), ‖f‖²)
means the same, with y = +1; and with two classes F = ±f/√2 it is the same model.  The direction is ``unit`` · (+1 for
``along[0]``, -1 for ``along[1]``), and 1 for the one function that there is before.
"""

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

import math

import numpy as np

from river_okl._core.gram cimport Gram
from river_okl._core.kernel cimport Kernel, loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.points cimport LANES, MOST_POINTS, SPARSE_BELOW, Points, copy_array, fill
from river_okl._core.loops cimport TILE
from river_okl._core.rows cimport Rows, Tile
from river_okl._core.sample cimport Frame, Sample, take_row

from river_okl._core.linalg import dot
from river_okl._core.states import checked_functions, checked_points

cdef double SQRT_HALF = 0.5**0.5


cdef class Expansion:
    """f = Σ α_i κ(z_i, ·) over river samples.

    Parameters
    ----------
    kernel
        The terms of a ``river_okl.kernels`` kernel.
    budget
        The most support vectors between two steps; None: no limit.
    spare
        A step may hold one more: it adds before it removes. ``observe`` takes out what an interrupted step left.
    n_outputs
        Coefficients per support vector: functions that share their support vectors.
    norm
        Keep ‖f‖² up to date at every step; otherwise ``norm2`` computes it when asked.
    values
        Keep f(z_i) up to date at every step; otherwise ``values`` computes them when asked.
    inverse
        Keep K and K⁻¹, for ``project`` and ``absorb``.
    """

    cdef Points points
    cdef Rows rows
    cdef Gram gram_                     # or None
    cdef readonly object budget
    cdef readonly bint spare
    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_classes  # 0: one function per output; else columns are output by output, class by class
    cdef Py_ssize_t n_columns           # n_outputs, times n_classes if there are any
    cdef readonly bint keeps_norm, keeps_values
    cdef double scale_
    cdef double **coef              # [n_columns][capacity]; column class · n_outputs + output
    cdef double *norms              # [n_columns]
    cdef double *peaks              # [n_columns] the largest of each norm since they were computed from scratch
    cdef double *values_
    cdef Py_ssize_t changes         # of f since norms and values were last computed from scratch
    cdef bint stale                 # norms and values wait to be computed from scratch

    # scratch: what is known of the last sample; never pickled
    cdef Py_ssize_t along[2]        # its direction: classes
    cdef int n_along                # of which there are one or two
    cdef double unit
    cdef bint *sums_valid
    cdef double *sums               # [n_columns] Σ coef κ(z_i, x), without the scale
    cdef double residue             # δ² of the last sample, where residue_valid
    cdef bint residue_valid

    def __cinit__(self):
        self.scale_ = self.unit = 1.0
        self.n_along = 1

    def __init__(self, tuple kernel, *, budget=None, bint spare=False, Py_ssize_t n_outputs=1, bint norm=False, bint values=False, bint inverse=False):
        if n_outputs < 1:
            raise ValueError(f"n_outputs is {n_outputs}; it must be at least 1")
        if self.points is not None:
            raise RuntimeError("an Expansion is initialised once")
        if budget is not None and not 1 <= budget <= MOST_POINTS:
            raise ValueError(f"budget is {budget!r}: it must be a whole number from 1 to {MOST_POINTS:,}")
        self.budget = budget
        self.spare = spare
        self.points = Points(None if budget is None else min(budget + spare, MOST_POINTS))
        self.rows = Rows(self.points, Kernel(kernel))
        self.gram_ = Gram() if inverse else None
        self.keeps_norm = norm
        self.keeps_values = values
        self.n_outputs = n_outputs
        self.reserve_columns(n_outputs)

    def __dealloc__(self):
        cdef Py_ssize_t o
        if self.coef != NULL:
            for o in range(self.n_columns):
                okl_free(self.coef[o])
        okl_free(self.coef)
        okl_free(self.norms)
        okl_free(self.peaks)
        okl_free(self.values_)
        okl_free(self.sums_valid)
        okl_free(self.sums)

    def __sizeof__(self):
        cdef Py_ssize_t columns = self.n_columns + self.keeps_values
        total = object.__sizeof__(self) + self.n_columns * 40 + self.points.capacity * 8 * columns
        total += self.points.__sizeof__() + self.rows.__sizeof__()
        return total + self.gram_.__sizeof__() if self.gram_ is not None else total

    def __len__(self):
        return self.points.n

    # The support vectors and their kernel rows ------------------------------------------------------------------------

    @property
    def kernel(self):
        """The kernel as the core has it."""
        return self.rows.kernel

    @property
    def keeps_inverse(self):
        """Whether K and K⁻¹ are kept."""
        return self.gram_ is not None

    @property
    def memo(self):
        """Whether the row of the last sample is kept; tests switch it off."""
        return self.rows.memo

    @memo.setter
    def memo(self, bint value):
        self.rows.memo = value

    @property
    def births(self):
        """When each support vector joined, as a number that counts additions."""
        return self.points.births

    def oldest(self):
        """The position of the support vector that joined first."""
        return self.points.oldest()

    def point(self, Py_ssize_t i):
        """z_i in the user's feature names."""
        return self.points.point(i)

    @property
    def self_similarity(self):
        """κ(x, x) of the last sample."""
        self.rows.seen()
        return self.rows.self_similarity

    @property
    def row(self):
        """κ(z_i, x) of the last sample for every support vector, those that have joined since included."""
        self.rows.seen()
        return copy_array(self.rows.row, self.points.n)

    @property
    def self_similarities(self):
        """κ(z_i, z_i) of every support vector."""
        return self.rows.similarities()

    def row_of(self, Py_ssize_t i):
        """κ(z_i, z_j) for every support vector j."""
        return self.rows.row_of(i)

    def rows_of(self, positions):
        """``row_of`` each of these positions: an array (positions, support vectors)."""
        return self.rows.rows_of(positions)

    def rows_among(self, positions):
        """K of these positions, and every f_o at them: arrays (positions, positions) and (outputs, positions)."""
        return self.rows.rows_among(positions, np.ascontiguousarray(self.columns.T))

    def gram(self):
        """K, computed."""
        return self.rows.gram()

    # Values at a sample -----------------------------------------------------------------------------------------------

    cdef int look(self, sample) except -1:
        """The last sample is this one.  Requires ``points.enter``."""
        if self.rows.look(sample):
            self.residue_valid = False
            self.forget_sums()
        return 0

    cdef double sum(self, Py_ssize_t column) noexcept:
        """Σ_i coef[column, i] κ(z_i, x) for the last sample."""
        if not self.sums_valid[column]:
            self.sums[column] = loops.inner(self.rows.row, self.coef[column], self.points.padded())
            self.sums_valid[column] = True
        return self.sums[column]

    cdef inline Py_ssize_t column(self, int k, Py_ssize_t output) noexcept:
        """Where the k-th class of the direction has its coefficients."""
        return self.along[k] * self.n_outputs + output

    cdef inline double signed_unit(self, int k) noexcept:
        """How far the direction points to its k-th class."""
        return self.unit if k == 0 else -self.unit

    cdef double sum_along(self, Py_ssize_t output) noexcept:
        """An output at the last sample, along its direction, without the scale."""
        cdef double total = self.sum(self.column(0, output))
        if self.n_along > 1:
            total -= self.sum(self.column(1, output))
        return self.unit * total

    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0:
        """Σ weight · output of class c at the last sample."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        self.check_weights(weights)
        for o in range(len(weights)):
            total += <double> weights[o] * self.sum(c * self.n_outputs + o)
        return self.scale_ * total

    cdef int check_weights(self, tuple weights) except -1:
        if len(weights) > self.n_outputs:
            raise IndexError(f"{len(weights)} weights for {self.n_outputs} outputs")
        return 0

    cdef void forget_sums(self) noexcept:
        memset(self.sums_valid, 0, self.n_columns * sizeof(bint))

    cpdef double evaluate(self, sample, tuple weights=None) except? -1.0:
        """Σ weight · output at x (None: output 0), of the first class if there are classes; x is the last sample then."""
        self.points.enter()
        try:
            self.look(sample)
            if weights is not None:
                return self.combined(0, weights)
            return self.scale_ * self.sum(0) if self.points.n else 0.0
        finally:
            self.points.leave()

    def scores(self, sample, tuple weights=(1.0,)):
        """``evaluate`` for every class."""
        cdef Py_ssize_t c
        self.points.enter()
        try:
            self.look(sample)
            return [self.combined(c, weights) for c in range(self.n_classes)]
        finally:
            self.points.leave()

    cpdef double observe(self, sample, Py_ssize_t target=-1) except? -1.0:
        """f(x) of a sample that is about to be learned, along its direction; x is the last sample then.

        It counts for a kernel that takes γ from the stream. With classes, ``target`` is that of x, and its value the margin
        (F_y - F_r)/√2 over the rival class, the first of the largest.
        """
        cdef double value
        if self.n_classes > 0 or target >= 0:
            if not 0 <= target < self.n_classes:
                raise IndexError(f"class {target} of {self.n_classes}")
        self.residue_valid = False  # as in a model that is loaded between two samples: solving has side effects
        if self.spare:
            self.finish_interrupted()
        value = self.evaluate(sample)
        if self.rows.kernel.adapting and self.rows.kernel.observe(&self.rows.samples[self.rows.last]):
            self.kernel_moved()
            value = self.evaluate(sample)
        if self.n_classes == 0:
            return value
        self.face(target)
        return self.scale_ * self.sum_along(0)

    cdef void face(self, Py_ssize_t target) noexcept:
        """The direction of the last sample, whose class is the target."""
        cdef Py_ssize_t c, rival = 1 if target == 0 else 0
        for c in range(self.n_classes):
            if c != target and self.sum(c * self.n_outputs) > self.sum(rival * self.n_outputs):
                rival = c
        self.along[0] = target
        self.along[1] = rival

    cpdef double value(self, tuple weights=(1.0,)) except? -1.0:
        """Σ weight · output at the last sample, along its direction, for what f has become since."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        self.rows.seen()
        self.check_weights(weights)
        for o in range(len(weights)):
            total += <double> weights[o] * self.sum_along(o)
        return self.scale_ * total

    def evaluate_many(self, Frame frame, tuple weights=(1.0,)):
        """Σ weight · output at every row of a frame, for every class: an array (rows, classes or 1).

        Equal to ``evaluate`` and ``scores`` bit for bit; there is no last sample then.
        """
        cdef Py_ssize_t i, s, rows = len(frame), tiled
        out = np.zeros((rows, max(1, self.n_classes)))
        cdef double[:, ::1] view = out
        cdef const double[::1] factors = np.array(weights)
        cdef Sample x
        cdef Tile tile
        self.check_weights(weights)
        self.points.enter()
        try:
            tiled = self.rows.start_frame(frame, &x)
            room = self.rows.make_tile(&tile) if tiled else None
            with nogil:
                for i in range(tiled // TILE):
                    self.rows.measure_tile(&x, frame, i * TILE, &tile)
                    for s in range(TILE):
                        self.rows.tile_row(&tile, s, self.rows.row)
                        self.combine_row(factors, view, i * TILE + s)
                for i in range(tiled, rows):
                    take_row(&x, frame, i)
                    if self.points.n:
                        self.rows.compute(&x, self.rows.row)
                        self.combine_row(factors, view, i)
        finally:
            self.points.leave()
        return out

    cdef void combine_row(self, const double[::1] weights, double[:, ::1] out, Py_ssize_t i) noexcept nogil:
        """out[i, :] = ``combined`` at the sample whose row stands in ``rows.row``."""
        cdef Py_ssize_t c, o
        for c in range(out.shape[1]):
            for o in range(weights.shape[0]):
                out[i, c] += weights[o] * loops.inner(self.rows.row, self.coef[c * self.n_outputs + o], self.points.padded())
            out[i, c] *= self.scale_

    # Norms and values -------------------------------------------------------------------------------------------------

    cdef int finish_interrupted(self) except -1:
        """What was added by a step that was interrupted before it made room leaves again."""
        cdef Py_ssize_t i, newest = 0
        while self.budget is not None and self.points.n > self.budget:
            for i in range(self.points.n):
                if self.points.birth[i] > self.points.birth[newest]:
                    newest = i
            self.remove(newest)
        return 0

    cdef int kernel_moved(self) except -1:
        """Everything that was computed with the old γ is computed again."""
        cdef Py_ssize_t i
        self.rows.kernel_moved()
        if self.gram_ is not None:
            self.gram_.clear()
            for i in range(self.points.n):
                self.rows.compute_of(i, self.rows.other)
                self.gram_.append_row(self.rows.other, self.rows.self_[i])
            self.gram_.rebuild()
        self.stale = True
        return 0

    cdef bint tracks(self) noexcept:
        """Whether norms and values are to be updated with f."""
        return (self.keeps_norm or self.keeps_values) and not self.stale

    cdef int settle(self) except -1:
        """Norms and values from scratch, if they are stale."""
        cdef Py_ssize_t i, o
        cdef double value
        if not self.stale:
            return 0
        self.stale = False
        self.changes = 0
        if not (self.keeps_norm or self.keeps_values):
            return 0
        memset(self.norms, 0, self.n_columns * 8)
        if self.gram_ is not None:
            for o in range(self.n_columns):
                self.gram_.times(self.coef[o], False, self.rows.other)
                for i in range(self.points.n):
                    self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * self.rows.other[i]
                    if o == 0 and self.keeps_values:
                        self.values_[i] = self.rows.other[i]
            memcpy(self.peaks, self.norms, self.n_columns * 8)
            return 0
        for i in range(self.points.n):
            self.rows.compute_of(i, self.rows.other)
            for o in range(self.n_columns):
                value = loops.inner(self.rows.other, self.coef[o], self.points.padded())
                self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * value
                if o == 0 and self.keeps_values:
                    self.values_[i] = value
        memcpy(self.peaks, self.norms, self.n_columns * 8)
        return 0

    cdef int changed(self) except -1:
        """f is another one: sums are no longer valid.  Norms and values are computed from scratch now and then (amortised, a
        small part of an evaluation), so that rounding does not pile up, and where a norm is all but cancelled."""
        cdef Py_ssize_t o
        self.forget_sums()
        self.changes += 1
        if self.changes >= 64 * self.points.n + 1024:
            self.stale = True
        for o in range(self.n_columns):
            self.peaks[o] = max(self.peaks[o], self.norms[o])
            if self.norms[o] < 1e-7 * self.peaks[o]:
                self.stale = True
        return 0

    # Changing f -------------------------------------------------------------------------------------------------------

    cpdef int add(self, double c, Py_ssize_t output=0) except -1:
        """f ← f + c κ(x, ·) with the last sample x as a new support vector, the last; the other outputs get coefficient 0."""
        cdef Py_ssize_t i, o, n
        cdef double similarity
        self.check_output(output)
        self.points.enter()  # before anything is read: who waits for another thread may find another sample
        try:
            self.rows.seen()
            n, similarity = self.points.n, self.rows.self_similarity
            if n >= self.points.limit:
                raise RuntimeError(f"the budget of {self.budget} support vectors is full")
            if self.gram_ is not None:
                self.solve()
            if n == self.points.capacity:
                self.grow()
            if self.tracks():  # the values at x of what f is now
                self.sum_along(output)
                self.sum(0)
            self.points.store(&self.rows.samples[self.rows.last])
            self.rows.added()
        finally:
            self.points.leave()
        if self.tracks():
            self.update_norms(output, c, similarity)
        if self.gram_ is not None:
            self.gram_.grow(self.rows.row, similarity, self.residue)
        for o in range(self.n_columns):
            self.coef[o][n] = 0.0
        self.move(n, c / self.scale_, output)
        if self.keeps_values and not self.stale:
            self.values_[n] = self.sums[0]
            if output == 0:
                for i in range(n + 1):
                    self.values_[i] += c / self.scale_ * self.rows.row[i]
        self.residue_valid = False
        self.changed()
        return 0

    cdef void update_norms(self, Py_ssize_t output, double c, double k) noexcept:
        """‖f + c κ(x, ·)‖² = ‖f‖² + 2 c f(x) + c² κ(x, x), x the last sample, along its direction.  Requires its sums."""
        cdef Py_ssize_t column
        cdef double step
        cdef int a
        for a in range(self.n_along):
            column = self.column(a, output)
            step = self.signed_unit(a) * c
            self.norms[column] += step * (2.0 * self.scale_ * self.sums[column] + step * k)

    cdef inline void move(self, Py_ssize_t i, double c, Py_ssize_t output) noexcept:
        """The coefficient of i, without the scale, moves by c along the direction of the last sample."""
        cdef int a
        for a in range(self.n_along):
            self.coef[self.column(a, output)][i] += self.signed_unit(a) * c

    cpdef int scale(self, double c) except -1:
        """f ← c f, every output, in O(1): one common factor, folded into the coefficients before it leaves range."""
        cdef Py_ssize_t i, o
        self.scale_ *= c
        for o in range(self.n_columns):
            self.norms[o] = self.norms[o] * c * c  # c² alone may overflow
            self.peaks[o] = self.peaks[o] * c * c
        if not 1e-100 < fabs(self.scale_) < 1e100:
            for o in range(self.n_columns):
                for i in range(self.points.n):
                    self.coef[o][i] *= self.scale_
            self.scale_ = 1.0
            self.forget_sums()
            memset(self.norms, 0, self.n_columns * 8)
            memset(self.peaks, 0, self.n_columns * 8)
            self.stale = True
        return 0

    cpdef int project_on_ball(self, double radius) except -1:
        """Π_U(f) = min(1, U/‖f‖) f"""
        cdef double norm = sqrt(self.squared_norm())
        if norm > radius:
            self.scale(radius / norm)
        return 0

    cpdef int shift(self, Py_ssize_t i, double c, Py_ssize_t output=0) except -1:
        """α_i ← α_i + c; with classes, along the direction of the last sample."""
        cdef Py_ssize_t j
        cdef double value
        self.points.check_position(i)
        self.check_output(output)
        if self.n_classes > 0:
            self.stale = True
        if self.tracks():
            self.rows.compute_of(i, self.rows.other)
            value = loops.inner(self.rows.other, self.coef[output], self.points.padded())
            self.norms[output] += c * (2.0 * self.scale_ * value + c * self.rows.self_[i])
            if self.keeps_values and output == 0:
                for j in range(self.points.n):
                    self.values_[j] += c / self.scale_ * self.rows.other[j]
        self.move(i, c / self.scale_, output)
        self.changed()
        return 0

    cpdef int set(self, Py_ssize_t i, double c, Py_ssize_t output=0) except -1:
        """α_i ← c"""
        self.points.check_position(i)
        self.check_output(output)
        self.refuse_classes()
        self.shift(i, c - self.scale_ * self.coef[output][i], output)
        self.coef[output][i] = c / self.scale_
        return 0

    cpdef int clip(self, double largest) except -1:
        """|α_i| ≤ largest for output 0, over all classes; what is longer is shortened."""
        cdef Py_ssize_t i, c
        cdef double size
        cdef double limit = largest / fabs(self.scale_)
        cdef double *coef = self.coef[0]
        cdef bint clipped = False
        for i in range(self.points.n):
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
        if clipped:
            self.stale = True
            self.changed()
        return 0

    cpdef int remove(self, Py_ssize_t i) except -1:
        """Support vector i and its term leave; the last support vector takes position i."""
        cdef Py_ssize_t j, o, last
        cdef double value
        self.points.enter()
        try:
            self.points.check_position(i)
            last = self.points.n - 1
            if self.tracks():
                self.rows.prepare_points()
                self.rows.row_of_point(i, self.rows.other)
                for o in range(self.n_columns):
                    value = loops.inner(self.rows.other, self.coef[o], self.points.padded())
                    self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * (self.coef[o][i] * self.rows.self_[i] - 2.0 * value)
                if self.keeps_values:
                    for j in range(self.points.n):
                        self.values_[j] -= self.coef[0][i] * self.rows.other[j]
                    self.values_[i] = self.values_[last]
            self.points.drop(i)
            self.rows.dropped(i)
        finally:
            self.points.leave()
        if self.gram_ is not None:
            self.gram_.shrink(i)
        for o in range(self.n_columns):
            self.coef[o][i] = self.coef[o][last]
            self.coef[o][last] = 0.0
        self.residue_valid = False
        if last == 0:  # exactly nothing is left, whatever rounding says
            memset(self.norms, 0, self.n_columns * 8)
            memset(self.peaks, 0, self.n_columns * 8)
        self.changed()
        self.points.forget_emptied()
        return 0

    def keep(self, positions, norms=None):
        """Only these support vectors stay; the others are removed from the last position to the first.

        ``norms`` is the ‖f_o‖² of every column that is left, where it is known.
        """
        cdef Py_ssize_t i, o
        staying = set(np.asarray(positions).tolist())
        self.stale = True
        for i in range(self.points.n - 1, -1, -1):
            if i not in staying:
                self.remove(i)
        if norms is not None and self.keeps_norm and not self.keeps_values and self.points.n:
            for o in range(self.n_columns):
                self.norms[o] = self.peaks[o] = norms[o]
            self.changes = 0
            self.stale = False

    # Projection -------------------------------------------------------------------------------------------------------

    cdef int solve(self) except -1:
        self.rows.seen()
        self.require_gram()
        if not self.residue_valid:
            self.residue = self.gram_.solve(self.rows.row, self.rows.self_similarity)
            self.residue_valid = True
        return 0

    cdef int require_gram(self) except -1:
        if self.gram_ is None:
            raise RuntimeError("this expansion keeps no inverse Gram")
        return 0

    cpdef double project(self) except? -1.0:
        """δ² = ‖κ(x,·) - P κ(x,·)‖², P the projection on the span of the support vectors, x the last sample."""
        self.solve()
        return self.residue

    cpdef int absorb(self, double c, Py_ssize_t output=0) except -1:
        """f ← f + c P κ(x, ·), x the last sample: the coefficients get c d, d = K⁻¹k; nothing is added."""
        cdef Py_ssize_t i, column
        cdef double step
        cdef double *image
        cdef double *d
        cdef int a
        self.check_output(output)
        self.solve()
        d = self.gram_.solution
        if self.tracks():  # ‖f + c Pκ‖² with the d that is there: <f, Pκ> = αᵀKd, ‖Pκ‖² = dᵀKd
            image = self.gram_.gram_times_solution()
            for a in range(self.n_along):
                column = self.column(a, output)
                step = self.signed_unit(a) * c
                for i in range(self.points.n):
                    self.norms[column] += step * (2.0 * self.scale_ * self.coef[column][i] + step * d[i]) * image[i]
        for i in range(self.points.n):
            self.move(i, c / self.scale_ * d[i], output)
        self.changed()
        if self.keeps_values:
            self.stale = True
        return 0

    @property
    def projection(self):
        """d = K⁻¹ k of the last sample: P κ(x, ·) = Σ d_i κ(z_i, ·)."""
        self.solve()
        return copy_array(self.gram_.solution, self.points.n)

    def inverse_times(self, vector):
        """K⁻¹ v"""
        return self.times(vector, True)

    def gram_times(self, vector):
        """K v"""
        return self.times(vector, False)

    cdef times(self, vector, bint inverted):
        self.require_gram()
        cdef double[::1] v = np.ascontiguousarray(vector, dtype=np.float64)
        if v.shape[0] != self.points.n:
            raise ValueError(f"a vector of {v.shape[0]} numbers for {self.points.n} support vectors")
        cdef double[::1] out = np.empty(max(self.points.n, 1))
        if self.points.n:
            self.gram_.times(&v[0], inverted, &out[0])
        return np.asarray(out)[: self.points.n]

    @property
    def inverse_diagonal(self):
        """The diagonal of K⁻¹: one over the δ² of every support vector given the others."""
        self.require_gram()
        return self.gram_.diagonal()

    @property
    def inverse(self):
        """K⁻¹, a copy."""
        self.require_gram()
        return self.gram_.dense()

    # Reading f --------------------------------------------------------------------------------------------------------

    @property
    def norm2(self):
        """‖f‖², of output 0; with classes the sum of theirs."""
        return self.squared_norm()

    cdef double squared_norm(self) except -1.0:
        if self.keeps_norm and self.n_classes == 0:
            self.settle()
            return max(0.0, self.norms[0])
        return sum(self.norms2[:: self.n_outputs]) if self.n_classes else self.norms2[0]

    @property
    def norms2(self):
        """‖f_o‖² of every column of coefficients."""
        cdef Py_ssize_t i, o
        if self.keeps_norm:
            self.settle()
            return [max(0.0, self.norms[o]) for o in range(self.n_columns)]
        coefficients = list(np.ascontiguousarray(self.columns.T))
        total = [0.0] * self.n_columns
        for i in range(self.points.n):
            row = self.row_of(i)
            for o in range(self.n_columns):
                total[o] += coefficients[o][i] * dot(row, coefficients[o])
        return [max(0.0, value) for value in total]

    @property
    def coefficients(self):
        """α of output 0, a copy."""
        return self.coefficients_of(0)

    @coefficients.setter
    def coefficients(self, values):
        self.set_coefficients(values)

    def coefficients_of(self, Py_ssize_t output):
        """α of one output, a copy."""
        self.check_output(output)
        self.refuse_classes()
        out = copy_array(self.coef[output], self.points.n)
        out *= self.scale_
        return out

    def set_coefficients(self, values, Py_ssize_t output=0):
        """α ← values, for one output."""
        cdef double[::1] v = np.ascontiguousarray(values, dtype=np.float64)
        cdef Py_ssize_t i
        self.check_output(output)
        self.refuse_classes()
        if v.shape[0] != self.points.n:
            raise ValueError(f"{v.shape[0]} coefficients for {self.points.n} support vectors")
        for i in range(self.points.n):
            self.coef[output][i] = v[i] / self.scale_
        self.changed()
        self.stale = True

    @property
    def columns(self):
        """Every coefficient: a copy of shape (support vectors, outputs), or (support vectors, classes · outputs)."""
        cdef Py_ssize_t i, o
        cdef double[:, ::1] view
        out = np.empty((self.points.n, self.n_columns))
        view = out
        for i in range(self.points.n):
            for o in range(self.n_columns):
                view[i, o] = self.coef[o][i] * self.scale_
        return out

    @columns.setter
    def columns(self, matrix):
        cdef double[:, ::1] v = np.ascontiguousarray(matrix, dtype=np.float64)
        cdef Py_ssize_t i, o
        if v.shape[0] != self.points.n or v.shape[1] != self.n_columns:
            raise ValueError(f"coefficients of shape {matrix.shape} for {(self.points.n, self.n_columns)}")
        for o in range(self.n_columns):
            for i in range(self.points.n):
                self.coef[o][i] = v[i, o] / self.scale_
        self.changed()
        self.stale = True

    @property
    def magnitudes(self):
        """|α_i| of output 0, over all classes: √Σ α².  ‖α_i κ(z_i, ·)‖ is this times √κ(z_i, z_i)."""
        cdef Py_ssize_t i
        cdef double[::1] view
        out = np.empty(self.points.n)
        view = out
        for i in range(self.points.n):
            view[i] = sqrt(self.squared_size(i)) * fabs(self.scale_)
        return out

    cdef double squared_size(self, Py_ssize_t i) noexcept:
        """α_i² of output 0, without the scale."""
        cdef Py_ssize_t c
        cdef double size = 0.0
        for c in range(max(1, self.n_classes)):
            size += self.coef[c * self.n_outputs][i] * self.coef[c * self.n_outputs][i]
        return size

    @property
    def values(self):
        """f(z_i) of every support vector."""
        if not self.keeps_values:
            return np.array([self.value_of(i) for i in range(self.points.n)], dtype=np.float64)
        self.settle()
        out = copy_array(self.values_, self.points.n)
        out *= self.scale_
        return out

    cpdef double value_of(self, Py_ssize_t i) except? -1.0:
        """f(z_i), of output 0."""
        self.points.check_position(i)
        self.rows.compute_of(i, self.rows.other)
        return self.scale_ * loops.inner(self.rows.other, self.coef[0], self.points.padded())

    cpdef Py_ssize_t smallest(self) except -1:
        """The position of the smallest α_i² κ(z_i, z_i); ties (1e-9 relative) go to the oldest."""
        cdef Py_ssize_t i, best = 0
        cdef double size, least
        self.points.check_position(0)
        least = self.squared_size(0) * self.rows.self_[0]
        for i in range(1, self.points.n):
            size = self.squared_size(i) * self.rows.self_[i]
            if size < least:
                least = size
        best = -1
        for i in range(self.points.n):
            size = self.squared_size(i) * self.rows.self_[i]
            if size <= least * (1.0 + 1e-9) and (best < 0 or self.points.birth[i] < self.points.birth[best]):
                best = i
        return best

    # Columns ----------------------------------------------------------------------------------------------------------

    cdef int check_output(self, Py_ssize_t o) except -1:
        if not 0 <= o < self.n_outputs:
            raise IndexError(f"output {o} of {self.n_outputs}")
        return 0

    cdef int refuse_classes(self) except -1:
        if self.n_classes > 0:
            raise RuntimeError("with classes a support vector has no single coefficient: see columns")
        return 0

    def split_classes(self):
        """One function f for labels ±1 becomes one for each of two classes, F = -f/√2 and f/√2."""
        cdef Py_ssize_t o, i
        cdef double *negative
        cdef double *positive
        self.refuse_classes()
        if self.keeps_values:
            raise RuntimeError("values of a support vector are of one function")
        self.reserve_columns(2 * self.n_outputs)
        for o in range(self.n_outputs):
            negative = self.coef[o]
            positive = self.coef[self.n_outputs + o]
            for i in range(self.points.n):
                positive[i] = SQRT_HALF * negative[i]
                negative[i] = -positive[i]
            self.norms[o] *= 0.5
            self.peaks[o] *= 0.5
            self.norms[self.n_outputs + o] = self.norms[o]
            self.peaks[self.n_outputs + o] = self.peaks[o]
        self.n_classes = 2
        self.start_directions()

    cdef void start_directions(self) noexcept:
        """There are classes: until ``observe`` says between which of them x is, nothing moves."""
        self.along[0] = self.along[1] = 0
        self.n_along, self.unit = 2, SQRT_HALF
        self.forget_sums()

    def add_class(self):
        """One more class, with F = 0."""
        if self.n_classes == 0:
            raise RuntimeError("split_classes first")
        self.reserve_columns(self.n_columns + self.n_outputs)
        self.n_classes += 1

    cdef int reserve_columns(self, Py_ssize_t n_columns) except -1:
        """More columns of coefficients, zero so far."""
        cdef Py_ssize_t o, old = self.n_columns
        self.coef = <double **> aligned_resize(self.coef, old, n_columns, sizeof(double *))
        self.norms = <double *> aligned_resize(self.norms, old, n_columns, 8)
        self.peaks = <double *> aligned_resize(self.peaks, old, n_columns, 8)
        self.sums = <double *> aligned_resize(self.sums, old, n_columns, 8)
        self.sums_valid = <bint *> aligned_resize(self.sums_valid, old, n_columns, sizeof(bint))
        for o in range(old, n_columns):
            self.coef[o] = <double *> aligned_resize(NULL, 0, self.points.capacity, 8)
            self.n_columns = o + 1
        return 0

    cdef int grow(self) except -1:
        """Room for more support vectors, everywhere."""
        cdef Py_ssize_t o, capacity = self.points.next_capacity(), old = self.points.capacity
        for o in range(self.n_columns):
            self.coef[o] = <double *> aligned_resize(self.coef[o], old, capacity, 8)
        if self.keeps_values:
            self.values_ = <double *> aligned_resize(self.values_, old, capacity, 8)
        if self.gram_ is not None:
            self.gram_.reserve(capacity)
        self.rows.reserve(capacity)
        return self.points.grow(capacity)

    # Pickling ---------------------------------------------------------------------------------------------------------

    def __getstate__(self):
        return self.points.state() | {
            "self": self.self_similarities.tobytes(),
            "coef": b"".join(copy_array(self.coef[o], self.points.n).tobytes() for o in range(self.n_columns)),
            "scale": self.scale_,
            "norms": copy_array(self.norms, self.n_columns).tobytes(),
            "peaks": copy_array(self.peaks, self.n_columns).tobytes(),
            "values": copy_array(self.values_, self.points.n).tobytes() if self.keeps_values else b"",
            "n_classes": self.n_classes,
            "moves": self.changes,
            "stale": bool(self.stale),
            "gram": None if self.gram_ is None else self.gram_.state(),
        }

    def __setstate__(self, states):
        cdef Py_ssize_t o, n
        kernel, state = states
        if self.points.n_slots or self.points.capacity:
            raise RuntimeError("state is set on a new Expansion only")
        checked = checked_points(state, self.points.most, LANES, SPARSE_BELOW)
        n = len(checked["birth"])
        checked_functions(state, n, self.n_outputs, values=self.keeps_values, inverse=self.gram_ is not None)
        self.rows.kernel.__setstate__(kernel)
        if state["n_classes"]:
            self.reserve_columns(self.n_outputs * <Py_ssize_t> state["n_classes"])
            self.n_classes = state["n_classes"]
            self.start_directions()
        while self.points.capacity < state["capacity"]:
            self.grow()
        self.points.restore(state, checked)
        if n:
            fill(self.rows.self_, state["self"], n * 8)
            for o in range(self.n_columns):
                fill(self.coef[o], state["coef"][o * n * 8 : (o + 1) * n * 8], n * 8)
            if self.keeps_values:
                fill(self.values_, state["values"], n * 8)
        self.scale_ = state["scale"]
        fill(self.norms, state["norms"], self.n_columns * 8)
        fill(self.peaks, state["peaks"], self.n_columns * 8)
        self.changes = state["moves"]
        self.stale = state["stale"]
        if self.gram_ is not None:
            self.gram_.restore(state["gram"], n)

    def __reduce__(self):
        options = (
            self.kernel.terms, self.budget, bool(self.spare), self.n_outputs, bool(self.keeps_norm), bool(self.keeps_values), self.gram_ is not None
        )  # fmt: skip
        return _new, options, (self.kernel.__getstate__(), self.__getstate__())

    def _check(self):
        """The invariants at the head of this file, of points.pyx, rows.pyx and gram.pyx, by brute force."""
        cdef Py_ssize_t i, o, n = self.points.n
        gram, slack = self.rows.check()
        for o in range(self.n_columns):
            assert all(self.coef[o][i] == 0.0 for i in range(n, self.points.capacity))
        for o in range(self.n_columns):
            alpha = self.columns[:, o]
            size = 1e-9 * float(np.abs(alpha) @ np.abs(gram) @ np.abs(alpha)) + slack * float(np.abs(alpha).sum()) ** 2
            np.testing.assert_allclose(self.norms2[o], alpha @ gram @ alpha, rtol=1e-6, atol=size + 1e-300)
            if o == 0 and not self.n_classes:
                size = 1e-9 * float((np.abs(gram) @ np.abs(alpha)).max(initial=0.0)) + slack * float(np.abs(alpha).sum())
                np.testing.assert_allclose(self.values, gram @ alpha, rtol=1e-6, atol=size + 1e-300)
        if self.gram_ is not None:
            self.gram_.check(gram, slack)
            if self.rows.has_sample and self.rows.fresh and n:
                # in the direction of an eigenvalue λ a jitter ε leaves ε / (λ + ε) of k, itself at most √(λ k_tt)
                residual = np.abs(self.row - gram @ self.projection).max()
                assert residual <= 0.5 * math.sqrt(1e-8) * gram.max(), "d = K⁻¹k solves K d = k"


def _new(terms, budget, spare, n_outputs, norm, values, inverse):
    return Expansion(terms, budget=budget, spare=spare, n_outputs=n_outputs, norm=norm, values=values, inverse=inverse)

