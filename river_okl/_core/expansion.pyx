"""The function that every algorithm of river_okl manipulates: f = Σ α_i κ(z_i, ·), a kernel expansion.

The support vectors z_i and their kernel rows are those of ``points.pyx``; here are the coefficients.  What is kept, for
support vectors i < n and outputs o (``_check`` recomputes all of it by brute force):

    f_o           Σ_i scale · coef[o, i] · κ(z_i, ·)
    norms[o]      ‖f_o‖²            where asked for (``norm=True``)
    values[i]     f_0(z_i)/scale    where asked for (``values=True``)
    gram          K and K⁻¹         where asked for (``inverse=True``)

Where a sample is the one of the last call, its kernel row is reused; where no coefficient moved either, the value.

More than two classes.  After ``split_classes`` an output is not one function f but one per class, F_c, and a sample of class
y sees f along the direction u = (e_y - e_r)/√2, r the class that rivals y most: its value is (F_y - F_r)/√2, and f ← f + c
κ(x, ·) moves F_y by c/√2 and F_r by -c/√2.  As ‖u‖ = 1, all that an algorithm for labels ±1 computes (margins, κ(x, x), ‖f‖²)
means the same, with y = +1; and with two classes F = ±f/√2 it is the same model.
"""

from libc.math cimport fabs, sqrt
from libc.string cimport memcpy, memset

import math

import numpy as np

from river_okl._core.gram cimport Gram
from river_okl._core.kernel cimport loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.points cimport Points, Tile, copy_array, fill, take_row
from river_okl._core.rows cimport TILE
from river_okl._core.sample cimport LARGEST_SELF, Frame, Sample

from river_okl._core.points import checked_array, checked_whole

cdef double SQRT_HALF = 0.5**0.5


cdef class Expansion(Points):
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

    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_classes  # 0: one function per output; else columns are output by output, class by class
    cdef Py_ssize_t n_columns           # n_outputs, times n_classes if there are any
    cdef Py_ssize_t target, rival       # the classes that the last sample is between
    cdef readonly bint keeps_norm, keeps_values
    cdef Gram gram_
    cdef double scale_
    cdef double **coef              # [n_columns][capacity]; column class · n_outputs + output
    cdef double *norms              # [n_columns]
    cdef double *peaks              # [n_columns] the largest of each norm since they were computed from scratch
    cdef double *values_
    cdef Py_ssize_t moves           # changes of f since norms and values were last computed from scratch
    cdef bint stale                 # norms and values wait to be computed from scratch

    # scratch: what is known of the last sample; never pickled
    cdef bint *sums_valid
    cdef double *sums               # [n_columns] Σ coef κ(z_i, x), without the scale
    cdef double residue             # δ² of the last sample, where residue_valid
    cdef bint residue_valid

    def __cinit__(self):
        self.scale_ = 1.0

    def __init__(self, tuple kernel, *, budget=None, bint spare=False, Py_ssize_t n_outputs=1, bint norm=False, bint values=False, bint inverse=False):
        if n_outputs < 1:
            raise ValueError(f"n_outputs is {n_outputs}; it must be at least 1")
        self.start(kernel, budget, spare)
        self.keeps_norm = norm
        self.keeps_values = values
        self.gram_ = Gram() if inverse else None
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
        total = Points.__sizeof__(self) + self.n_columns * 40 + self.capacity * 8 * (self.n_columns + self.keeps_values)
        return total + self.gram_.__sizeof__() if self.gram_ is not None else total

    # Values -----------------------------------------------------------------------------------------------------------

    cdef double sum(self, Py_ssize_t o) noexcept:
        """Σ_i coef[o, i] κ(z_i, x) for the last sample."""
        if not self.sums_valid[o]:
            self.sums[o] = loops.inner(self.row_, self.coef[o], self.padded())
            self.sums_valid[o] = True
        return self.sums[o]

    cdef double value(self, Py_ssize_t output) noexcept:
        """An output at the last sample, without the scale: along the sample's direction where there are classes."""
        if self.n_classes == 0:
            return self.sum(output)
        return SQRT_HALF * (
            self.sum(self.target * self.n_outputs + output) - self.sum(self.rival * self.n_outputs + output)
        )

    cdef void forget_sums(self) noexcept:
        memset(self.sums_valid, 0, self.n_columns * sizeof(bint))

    cpdef double evaluate(self, sample) except? -1.0:
        """f(x), of output 0; x is remembered for ``add``, ``project``, ``row``, ``outputs`` and ``self_similarity``."""
        self.enter()
        try:
            if self.look_at(sample):
                self.residue_valid = False
                self.forget_sums()
            return self.scale_ * self.sum(0) if self.n else 0.0
        finally:
            self.busy = False

    cpdef double observe(self, sample) except? -1.0:
        """``evaluate`` for a sample that is about to be learned: it counts for a kernel that takes γ from the stream."""
        self.residue_valid = False  # as in a model that is loaded between two samples: solving has side effects
        if self.spare:
            self.finish_interrupted()
        cdef double value = self.evaluate(sample)
        if not self.kernel.adapting:
            return value
        if self.kernel.observe(&self.samples[self.last]):
            self.kernel_moved()
            value = self.evaluate(sample)
        return value

    cpdef double observe_class(self, sample, Py_ssize_t target) except? -1.0:
        """``observe`` for a sample of a class: its margin (F_y - F_r)/√2 over the rival class, the first of the largest."""
        cdef Py_ssize_t c
        if not 0 <= target < self.n_classes:
            raise IndexError(f"class {target} of {self.n_classes}")
        self.observe(sample)
        self.target = target
        self.rival = 1 if target == 0 else 0
        for c in range(self.n_classes):
            if c != target and self.sum(c * self.n_outputs) > self.sum(self.rival * self.n_outputs):
                self.rival = c
        return self.scale_ * self.value(0)

    cpdef double combine(self, sample, tuple weights) except? -1.0:
        """Σ weight · output, in one call, so that no other thread's sample comes between."""
        self.evaluate(sample)
        return self.combined(0, weights)

    def scores(self, sample, tuple weights=(1.0,)):
        """``combine`` for every class."""
        cdef Py_ssize_t c
        self.evaluate(sample)
        return [self.combined(c, weights) for c in range(self.n_classes)]

    cdef double combined(self, Py_ssize_t c, tuple weights) except? -1.0:
        """Σ weight · output of class c at the last sample."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        for o in range(len(weights)):
            total += <double> weights[o] * self.sum(c * self.n_outputs + o)
        return self.scale_ * total

    def evaluate_many(self, Frame frame, tuple weights=(1.0,)):
        """Σ weight · output at every row of a frame, for every class: an array (rows, classes or 1).

        Equal to ``evaluate``, ``combine`` and ``scores`` bit for bit.
        """
        cdef Py_ssize_t i, rows = len(frame), tiled = 0
        out = np.zeros((rows, max(1, self.n_classes)))
        cdef double[:, ::1] view = out
        cdef const double[::1] factors = np.array(weights)
        cdef Sample *x
        cdef Sample sample
        cdef Tile tile
        self.enter()
        try:
            x = &self.samples[1 - self.last]
            self.has_sample = False
            self.learner = self.busy_thread
            if rows:
                frame.row = 0
                self.encode(frame, x)
                self.refresh_slots(x)
            sample = x[0]
            for i in range(rows):
                take_row(&sample, frame, i)
                if not fabs(self.kernel.self_similarity(sample.square)) <= LARGEST_SELF:
                    raise ValueError(f"row {i}: the kernel with itself is more than {LARGEST_SELF:g}: scale the features")
            if rows >= TILE and self.n and self.kernel.has_distance and self.by_distances(&sample):
                tiled = rows // TILE * TILE
                room = self.make_tile(&tile)
            with nogil:
                for i in range(tiled // TILE):
                    self.evaluate_tile(&sample, frame, i * TILE, &tile, factors, view)
                for i in range(tiled, rows):
                    take_row(&sample, frame, i)
                    if self.n:
                        self.compute_row(&sample, self.row_)
                        self.combine_row(factors, view, i)
        finally:
            self.busy = False
        return out

    cdef void evaluate_tile(
        self, Sample *x, Frame frame, Py_ssize_t first, Tile *tile, const double[::1] weights, double[:, ::1] out
    ) noexcept nogil:
        """TILE rows of a frame at once."""
        cdef Py_ssize_t s
        self.lay_out_dense()
        for s in range(TILE):
            take_row(x, frame, first + s)
            tile.squares[s] = x.square
            tile.rests[s] = self.lay_out(x, tile.numbers[s], tile.dots[s])
        self.finish_tile(tile)
        for s in range(TILE):
            self.tile_row(tile, s, self.row_)
            self.combine_row(weights, out, first + s)

    cdef void combine_row(self, const double[::1] weights, double[:, ::1] out, Py_ssize_t i) noexcept nogil:
        """out[i, :] = ``combined`` at the sample whose row stands in ``row_``."""
        cdef Py_ssize_t c, o
        for c in range(out.shape[1]):
            for o in range(weights.shape[0]):
                out[i, c] += weights[o] * loops.inner(self.row_, self.coef[c * self.n_outputs + o], self.padded())
            out[i, c] *= self.scale_

    @property
    def outputs(self):
        """Every output at the last sample."""
        cdef Py_ssize_t o
        self.learned_sample()
        return [self.scale_ * self.value(o) for o in range(self.n_outputs)]

    cpdef double output(self, Py_ssize_t o) except? -1.0:
        """Output o at the last sample."""
        self.learned_sample()
        self.check_output(o)
        return self.scale_ * self.value(o)

    # Norms and values -------------------------------------------------------------------------------------------------

    cdef int finish_interrupted(self) except -1:
        """What was added by a step that was interrupted before it made room leaves again."""
        cdef Py_ssize_t i, newest = 0
        while self.budget is not None and self.n > self.budget:
            for i in range(self.n):
                if self.birth[i] > self.birth[newest]:
                    newest = i
            self.remove(newest)
        return 0

    cdef int kernel_moved(self) except -1:
        """Everything that was computed with the old γ is computed again."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.self_[i] = self.kernel.self_similarity(self.square[i])
        self.row_fresh = False
        if self.gram_ is not None:
            self.gram_.clear()
            for i in range(self.n):
                self.compute_row_of(i, self.other_row)
                self.gram_.append_row(self.other_row, self.self_[i])
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
        self.moves = 0
        if not (self.keeps_norm or self.keeps_values):
            return 0
        memset(self.norms, 0, self.n_columns * 8)
        if self.gram_ is not None:
            for o in range(self.n_columns):
                self.gram_.times(self.coef[o], False, self.other_row)
                for i in range(self.n):
                    self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * self.other_row[i]
                    if o == 0 and self.keeps_values:
                        self.values_[i] = self.other_row[i]
            memcpy(self.peaks, self.norms, self.n_columns * 8)
            return 0
        for i in range(self.n):
            self.compute_row_of(i, self.other_row)
            for o in range(self.n_columns):
                value = loops.inner(self.other_row, self.coef[o], self.padded())
                self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * value
                if o == 0 and self.keeps_values:
                    self.values_[i] = value
        memcpy(self.peaks, self.norms, self.n_columns * 8)
        return 0

    cdef int moved(self) except -1:
        """f changed: sums are no longer valid.  Norms and values are computed from scratch now and then (amortised, a
        small part of an evaluation), so that rounding does not pile up, and where a norm is all but cancelled."""
        cdef Py_ssize_t o
        self.forget_sums()
        self.moves += 1
        if self.moves >= 64 * self.n + 1024:
            self.stale = True
        for o in range(self.n_columns):
            self.peaks[o] = max(self.peaks[o], self.norms[o])
            if self.norms[o] < 1e-7 * self.peaks[o]:
                self.stale = True
        return 0

    # Changing f -------------------------------------------------------------------------------------------------------

    cpdef int add(self, double c, Py_ssize_t output=0) except -1:
        """f ← f + c κ(x, ·) with the last sample x as a new support vector; the other outputs get coefficient 0."""
        cdef Sample *x
        cdef Py_ssize_t i, o, n
        self.check_output(output)
        self.enter()  # before anything is read: who waits for another thread may find another sample
        try:
            x, n = self.learned_sample(), self.n
            if self.budget is not None and n >= self.budget + self.spare:
                raise RuntimeError(f"the budget of {self.budget} support vectors is full")
            if self.gram_ is not None:
                self.solve()
            if n == self.capacity:
                self.grow()
            self.store_point(x)
        finally:
            self.settle_sparse_squares()
            self.busy = False
        if self.tracks():
            self.norm_moves(output, c, x.self_similarity)
        if self.gram_ is not None:
            self.gram_.grow(self.row_, x.self_similarity, self.residue)
        for o in range(self.n_columns):
            self.coef[o][n] = 0.0
        self.move(n, c / self.scale_, output)
        self.row_[n] = x.self_similarity
        if self.keeps_values and not self.stale:
            self.values_[n] = self.sum(0)
            if output == 0:
                for i in range(n + 1):
                    self.values_[i] += c / self.scale_ * self.row_[i]
        self.n = n + 1
        self.row_fresh = self.residue_valid = False
        self.moved()
        return 0

    cdef void norm_moves(self, Py_ssize_t output, double c, double k) noexcept:
        """‖f + c κ(x, ·)‖² = ‖f‖² + 2 c f(x) + c² κ(x, x), x the last sample."""
        cdef Py_ssize_t column
        if self.n_classes == 0:
            self.norms[output] += c * (2.0 * self.scale_ * self.sum(output) + c * k)
            return
        c *= SQRT_HALF
        column = self.target * self.n_outputs + output
        self.norms[column] += c * (2.0 * self.scale_ * self.sum(column) + c * k)
        column = self.rival * self.n_outputs + output
        self.norms[column] -= c * (2.0 * self.scale_ * self.sum(column) - c * k)

    cdef inline void move(self, Py_ssize_t i, double c, Py_ssize_t output) noexcept:
        """The coefficient of i, without the scale, moves by c."""
        if self.n_classes == 0:
            self.coef[output][i] += c
        else:
            self.coef[self.target * self.n_outputs + output][i] += SQRT_HALF * c
            self.coef[self.rival * self.n_outputs + output][i] -= SQRT_HALF * c

    cpdef int scale(self, double c) except -1:
        """f ← c f, every output, in O(1): one common factor, folded into the coefficients before it leaves range."""
        cdef Py_ssize_t i, o
        self.scale_ *= c
        for o in range(self.n_columns):
            self.norms[o] = self.norms[o] * c * c  # c² alone may overflow
            self.peaks[o] = self.peaks[o] * c * c
        if not 1e-100 < fabs(self.scale_) < 1e100:
            for o in range(self.n_columns):
                for i in range(self.n):
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
        """α_i ← α_i + c"""
        cdef Py_ssize_t j
        cdef double value
        self.check_position(i)
        self.check_output(output)
        if self.n_classes > 0:
            self.stale = True
        if self.tracks():
            self.compute_row_of(i, self.other_row)
            value = loops.inner(self.other_row, self.coef[output], self.padded())
            self.norms[output] += c * (2.0 * self.scale_ * value + c * self.self_[i])
            if self.keeps_values and output == 0:
                for j in range(self.n):
                    self.values_[j] += c / self.scale_ * self.other_row[j]
        self.move(i, c / self.scale_, output)
        self.moved()
        return 0

    cpdef int set(self, Py_ssize_t i, double c, Py_ssize_t output=0) except -1:
        """α_i ← c"""
        self.check_position(i)
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
        for i in range(self.n):
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
            self.moved()
        return 0

    cpdef int remove(self, Py_ssize_t i) except -1:
        """Support vector i and its term leave; the last support vector takes position i."""
        cdef Py_ssize_t j, o, last
        cdef double value
        self.enter()
        try:
            self.check_position(i)
            last = self.n - 1
            if self.tracks():
                self.reserve_items(self.n_dense)
                self.lay_out_dense()
                self.row_of_point(i, self.other_row)
                for o in range(self.n_columns):
                    value = loops.inner(self.other_row, self.coef[o], self.padded())
                    self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * (self.coef[o][i] * self.self_[i] - 2.0 * value)
                if self.keeps_values:
                    for j in range(self.n):
                        self.values_[j] -= self.coef[0][i] * self.other_row[j]
                    self.values_[i] = self.values_[last]
            self.drop_point(i)
        finally:
            self.busy = False
        if self.gram_ is not None:
            self.gram_.shrink(i)
        for o in range(self.n_columns):
            self.coef[o][i] = self.coef[o][last]
            self.coef[o][last] = 0.0
        self.residue_valid = False
        if last == 0:  # exactly nothing is left, whatever rounding says
            memset(self.norms, 0, self.n_columns * 8)
            memset(self.peaks, 0, self.n_columns * 8)
        self.moved()
        self.forget_emptied()
        return 0

    def keep(self, positions, gram=None):
        """Only these support vectors stay; the others are removed from the last position to the first.

        ``gram`` is their K, in the order of the positions, where it is at hand: the norms then need no kernel rows.
        """
        cdef Py_ssize_t i, o
        staying = set(np.asarray(positions).tolist())
        columns = self.columns[positions] if gram is not None and not self.keeps_values else None
        self.stale = True
        for i in range(self.n - 1, -1, -1):
            if i not in staying:
                self.remove(i)
        if columns is not None and self.keeps_norm and self.n:
            for o, norm in enumerate(((gram @ columns) * columns).sum(axis=0)):
                self.norms[o] = self.peaks[o] = norm
            self.moves = 0
            self.stale = False

    # Projection -------------------------------------------------------------------------------------------------------

    cdef int solve(self) except -1:
        cdef Sample *x = self.learned_sample()
        if self.gram_ is None:
            raise RuntimeError("this expansion keeps no inverse Gram")
        if not self.residue_valid:
            self.residue = self.gram_.solve(self.row_, x.self_similarity)
            self.residue_valid = True
        return 0

    cpdef double project(self) except? -1.0:
        """δ² = ‖κ(x,·) - P κ(x,·)‖², P the projection on the span of the support vectors, x the last sample."""
        self.solve()
        return self.residue

    cpdef int absorb(self, double c, Py_ssize_t output=0) except -1:
        """f ← f + c P κ(x, ·): the coefficients get c d, d = K⁻¹k; nothing is added."""
        cdef Py_ssize_t i, column
        cdef double step
        cdef double *image
        self.check_output(output)
        self.solve()
        if self.tracks():  # ‖f + c Pκ‖² with the d that is there: <f, Pκ> = αᵀKd, ‖Pκ‖² = dᵀKd
            image = self.gram_.gram_times_solution()
            for i in range(self.n):
                if self.n_classes == 0:
                    self.norms[output] += c * (2.0 * self.scale_ * self.coef[output][i] + c * self.gram_.solution[i]) * image[i]
                else:
                    step = SQRT_HALF * c
                    column = self.target * self.n_outputs + output
                    self.norms[column] += step * (2.0 * self.scale_ * self.coef[column][i] + step * self.gram_.solution[i]) * image[i]
                    column = self.rival * self.n_outputs + output
                    self.norms[column] -= step * (2.0 * self.scale_ * self.coef[column][i] - step * self.gram_.solution[i]) * image[i]
        for i in range(self.n):
            self.move(i, c / self.scale_ * self.gram_.solution[i], output)
        self.moved()
        if self.keeps_values:
            self.stale = True
        return 0

    @property
    def projection(self):
        """d = K⁻¹ k of the last sample: P κ(x, ·) = Σ d_i κ(z_i, ·)."""
        self.solve()
        return copy_array(self.gram_.solution, self.n)

    def inverse_times(self, vector):
        """K⁻¹ v"""
        return self.times(vector, True)

    def gram_times(self, vector):
        """K v"""
        return self.times(vector, False)

    cdef times(self, vector, bint inverted):
        if self.gram_ is None:
            raise RuntimeError("this expansion keeps no inverse Gram")
        cdef double[::1] v = np.ascontiguousarray(vector, dtype=np.float64)
        if v.shape[0] != self.n:
            raise ValueError(f"a vector of {v.shape[0]} numbers for {self.n} support vectors")
        cdef double[::1] out = np.empty(max(self.n, 1))
        if self.n:
            self.gram_.times(&v[0], inverted, &out[0])
        return np.asarray(out)[: self.n]

    @property
    def inverse_diagonal(self):
        """The diagonal of K⁻¹: one over the δ² of every support vector given the others."""
        cdef Py_ssize_t i
        cdef double[::1] view
        if self.gram_ is None:
            raise RuntimeError("this expansion keeps no inverse Gram")
        out = np.empty(self.n)
        view = out
        for i in range(self.n):
            view[i] = self.gram_.inverse[i * self.gram_.capacity + i]
        return out

    @property
    def inverse(self):
        """K⁻¹, a copy."""
        if self.gram_ is None:
            raise RuntimeError("this expansion keeps no inverse Gram")
        out = np.empty((self.n, self.n))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t i, j, ld = self.gram_.capacity
        for j in range(self.n):
            for i in range(j + 1):
                view[i, j] = view[j, i] = self.gram_.inverse[j * ld + i]
        return out

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
        coefficients = list(self.columns.T)
        total = [0.0] * self.n_columns
        for i in range(self.n):
            row = self.row_of(i)
            for o in range(self.n_columns):
                total[o] += coefficients[o][i] * float(row @ coefficients[o])
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
        out = copy_array(self.coef[output], self.n)
        out *= self.scale_
        return out

    def set_coefficients(self, values, Py_ssize_t output=0):
        """α ← values, for one output."""
        cdef double[::1] v = np.ascontiguousarray(values, dtype=np.float64)
        cdef Py_ssize_t i
        self.check_output(output)
        self.refuse_classes()
        if v.shape[0] != self.n:
            raise ValueError(f"{v.shape[0]} coefficients for {self.n} support vectors")
        for i in range(self.n):
            self.coef[output][i] = v[i] / self.scale_
        self.moved()
        self.stale = True

    @property
    def columns(self):
        """Every coefficient: a copy of shape (support vectors, outputs), or (support vectors, classes · outputs)."""
        cdef Py_ssize_t o
        out = np.empty((self.n, self.n_columns))
        for o in range(self.n_columns):
            out[:, o] = copy_array(self.coef[o], self.n)
        out *= self.scale_
        return out

    @columns.setter
    def columns(self, matrix):
        cdef double[:, ::1] v = np.ascontiguousarray(matrix, dtype=np.float64)
        cdef Py_ssize_t i, o
        if v.shape[0] != self.n or v.shape[1] != self.n_columns:
            raise ValueError(f"coefficients of shape {matrix.shape} for {(self.n, self.n_columns)}")
        for o in range(self.n_columns):
            for i in range(self.n):
                self.coef[o][i] = v[i, o] / self.scale_
        self.moved()
        self.stale = True

    @property
    def magnitudes(self):
        """|α_i| of output 0, over all classes: √Σ α².  ‖α_i κ(z_i, ·)‖ is this times √κ(z_i, z_i)."""
        cdef Py_ssize_t i
        cdef double[::1] view
        out = np.empty(self.n)
        view = out
        for i in range(self.n):
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
            return np.array([self.at(i) for i in range(self.n)], dtype=np.float64)
        self.settle()
        out = copy_array(self.values_, self.n)
        out *= self.scale_
        return out

    cpdef double at(self, Py_ssize_t i) except? -1.0:
        """f(z_i)"""
        self.check_position(i)
        self.compute_row_of(i, self.other_row)
        return self.scale_ * loops.inner(self.other_row, self.coef[0], self.padded())

    cpdef Py_ssize_t smallest(self) except -1:
        """The position of the smallest α_i² κ(z_i, z_i); ties (1e-9 relative) go to the oldest."""
        cdef Py_ssize_t i, best = 0
        cdef double size, least
        self.check_position(0)
        least = self.squared_size(0) * self.self_[0]
        for i in range(1, self.n):
            size = self.squared_size(i) * self.self_[i]
            if size < least:
                least = size
        best = -1
        for i in range(self.n):
            size = self.squared_size(i) * self.self_[i]
            if size <= least * (1.0 + 1e-9) and (best < 0 or self.birth[i] < self.birth[best]):
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
            for i in range(self.n):
                positive[i] = SQRT_HALF * negative[i]
                negative[i] = -positive[i]
            self.norms[o] *= 0.5
            self.peaks[o] *= 0.5
            self.norms[self.n_outputs + o] = self.norms[o]
            self.peaks[self.n_outputs + o] = self.peaks[o]
        self.n_classes = 2
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
            self.coef[o] = <double *> aligned_resize(NULL, 0, self.capacity, 8)
            self.n_columns = o + 1
        return 0

    cdef int grow(self) except -1:
        cdef Py_ssize_t o, capacity = self.more_room(), old = self.capacity
        for o in range(self.n_columns):
            self.coef[o] = <double *> aligned_resize(self.coef[o], old, capacity, 8)
        if self.keeps_values:
            self.values_ = <double *> aligned_resize(self.values_, old, capacity, 8)
        if self.gram_ is not None:
            self.gram_.reserve(capacity)
        return self.grow_points(capacity)

    # Pickling ---------------------------------------------------------------------------------------------------------

    def __getstate__(self):
        return self.points_state() | {
            "coef": b"".join(copy_array(self.coef[o], self.n).tobytes() for o in range(self.n_columns)),
            "scale": self.scale_,
            "norms": copy_array(self.norms, self.n_columns).tobytes(),
            "peaks": copy_array(self.peaks, self.n_columns).tobytes(),
            "values": copy_array(self.values_, self.n).tobytes() if self.keeps_values else b"",
            "n_classes": self.n_classes,
            "moves": self.moves,
            "stale": bool(self.stale),
            "gram": self.gram_state(),
        }

    def gram_state(self):
        """K and K⁻¹ as bytes, or None."""
        if self.gram_ is None:
            return None
        return (
            packed_triangle(self.gram_.gram, self.gram_.capacity, self.n),
            packed_triangle(self.gram_.inverse, self.gram_.capacity, self.n),
            self.gram_.steps,
            bool(self.gram_.fragile),
        )

    def __setstate__(self, states):
        cdef Py_ssize_t j, o, n, at = 0
        kernel, state = states
        if self.n or self.capacity or self.n_slots:
            raise RuntimeError("state is set on a new Expansion only")
        checked = self.checked_points(state)
        n = len(checked["birth"])
        self.check_functions(state, n)
        self.kernel.__setstate__(kernel)
        if state["n_classes"]:
            self.reserve_columns(self.n_outputs * <Py_ssize_t> state["n_classes"])
            self.n_classes = state["n_classes"]
        while self.capacity < state["capacity"]:
            self.grow()
        self.restore_points(state, checked)
        for o in range(self.n_columns if n else 0):
            fill(self.coef[o], state["coef"][o * n * 8 : (o + 1) * n * 8], n * 8)
        self.scale_ = state["scale"]
        fill(self.norms, state["norms"], self.n_columns * 8)
        fill(self.peaks, state["peaks"], self.n_columns * 8)
        if self.keeps_values and n:
            fill(self.values_, state["values"], n * 8)
        self.moves = state["moves"]
        self.stale = state["stale"]
        if self.gram_ is not None:
            at = 0
            for j in range(n):
                fill(self.gram_.gram + j * self.gram_.capacity, state["gram"][0][at : at + 8 * (j + 1)], 8 * (j + 1))
                fill(self.gram_.inverse + j * self.gram_.capacity, state["gram"][1][at : at + 8 * (j + 1)], 8 * (j + 1))
                at += 8 * (j + 1)
            self.gram_.n = n
            self.gram_.steps = state["gram"][2]
            self.gram_.fragile = state["gram"][3]

    cdef check_functions(self, dict state, Py_ssize_t n):
        """As ``checked_points``; that norms belong to their coefficients, and the inverse to its matrix, is believed."""
        if type(state["scale"]) is not float or not 1e-100 < abs(state["scale"]) < 1e100:
            raise ValueError(f"scale is {state['scale']!r}")
        checked_whole(state, "moves", 0, 2**62)
        if type(state["stale"]) is not bool:
            raise ValueError(f"stale is {state['stale']!r}")
        if checked_whole(state, "n_classes", 0, 2**20) == 1 or (state["n_classes"] and self.keeps_values):
            raise ValueError(f"n_classes is {state['n_classes']}")
        n_columns = self.n_outputs * max(1, state["n_classes"])
        checked_array(state, "coef", np.float64, n * n_columns)
        checked_array(state, "norms", np.float64, n_columns)
        checked_array(state, "peaks", np.float64, n_columns)
        checked_array(state, "values", np.float64, n if self.keeps_values else 0)
        if (state["gram"] is None) != (self.gram_ is None):
            raise ValueError("an inverse Gram that does not match")
        if self.gram_ is not None:
            gram, inverse, steps, fragile = state["gram"]
            state = {"gram": gram, "inverse": inverse, "steps": steps}
            checked_array(state, "gram", np.float64, n * (n + 1) // 2)
            checked_array(state, "inverse", np.float64, n * (n + 1) // 2)
            checked_whole(state, "steps", 0, 2**62)
            if type(fragile) is not bool:
                raise ValueError(f"fragile is {fragile!r}")

    def __reduce__(self):
        options = (
            self.kernel.terms, self.budget, bool(self.spare), self.n_outputs, bool(self.keeps_norm), bool(self.keeps_values), self.gram_ is not None
        )  # fmt: skip
        return _new, options, (self.kernel.__getstate__(), self.__getstate__())

    def _check(self):
        """The invariants at the head of this file and of points.pyx, by brute force."""
        cdef Py_ssize_t i, j, o, n = self.n
        gram, slack = self.check_points()
        for o in range(self.n_columns):
            assert all(self.coef[o][i] == 0.0 for i in range(n, self.capacity))
        for o in range(self.n_columns):
            alpha = self.columns[:, o]
            size = 1e-9 * float(np.abs(alpha) @ np.abs(gram) @ np.abs(alpha)) + slack * float(np.abs(alpha).sum()) ** 2
            np.testing.assert_allclose(self.norms2[o], alpha @ gram @ alpha, rtol=1e-6, atol=size + 1e-300)
            if o == 0 and not self.n_classes:
                size = 1e-9 * float((np.abs(gram) @ np.abs(alpha)).max(initial=0.0)) + slack * float(np.abs(alpha).sum())
                np.testing.assert_allclose(self.values, gram @ alpha, rtol=1e-6, atol=size + 1e-300)
        if self.gram_ is not None:
            assert self.gram_.n == n
            stored = np.array([[self.gram_.gram[max(i, j) * self.gram_.capacity + min(i, j)] for j in range(n)] for i in range(n)])
            np.testing.assert_allclose(stored.reshape(n, n), gram, rtol=1e-9, atol=10 * slack + 1e-12)
            assert np.isfinite(self.inverse).all()
            if self.has_sample and self.row_fresh and n:
                # in the direction of an eigenvalue λ a jitter ε leaves ε / (λ + ε) of k, itself at most √(λ k_tt)
                residual = np.abs(self.row - gram @ self.projection).max()
                assert residual <= 0.5 * math.sqrt(1e-8) * gram.max(), "d = K⁻¹k solves K d = k"


def _new(terms, budget, spare, n_outputs, norm, values, inverse):
    return Expansion(terms, budget=budget, spare=spare, n_outputs=n_outputs, norm=norm, values=values, inverse=inverse)


cdef bytes packed_triangle(const double *a, Py_ssize_t ld, Py_ssize_t n):
    """The upper triangle of a column-major matrix, column after column."""
    cdef Py_ssize_t j
    return b"".join([copy_array(a + j * ld, j + 1).tobytes() for j in range(n)])
