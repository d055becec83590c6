"""The function that every algorithm of river_okl updates: f = Σ α_i κ(z_i, ·), a kernel expansion.

It is composed of the z_i with their kernel rows, K and K⁻¹ (support_vectors.pyx), the α_i with their classes and
directions (coefficients.pyx), and f(x) of the last sample, ‖f‖² and f(z_i) (values.pyx).  This file keeps them
consistent and reads f; ``_check`` recomputes everything by brute force.

Read f, with weights for its outputs, by ``evaluate`` (a sample), ``evaluate_many`` (rows of a frame),
``observe`` (a sample about to be learned) or ``value`` (the last sample, after f has changed).

The last sample is the one last given to ``evaluate`` or ``observe``.  ``add``, ``project``, ``absorb``, ``value``,
``row`` and ``self_similarity`` refer to it, and raise if there is none.  With classes ``observe`` sets its direction.
If it is given again, its kernel row is reused, and so is the value unless a coefficient has changed.

A sample is a dict or a row of a ``Frame``.  A rejected sample changes nothing, not even the last sample.  Positions of
support vectors are 0 ≤ i < len(f), outputs 0 ≤ o < n_outputs.  Others raise IndexError and leave f unchanged.
"""

cimport cython
from libc.math cimport sqrt

import math

import numpy as np

from river_okl._core.function.choice cimport oldest_of_least, partner, replaceable, smallest
from river_okl._core.function.coefficients cimport Coefficients
from river_okl._core.function.support_vectors cimport SupportVectors
from river_okl._core.function.values cimport Norms, Sums
from river_okl._core.kernel.rows cimport Tile
from river_okl._core.loops cimport TILE
from river_okl._core.simd cimport loops
from river_okl._core.store.points cimport MAX_POINTS
from river_okl._core.store.sample cimport Frame, Sample, take_row

from river_okl._core.states import checked_whole


@cython.final
cdef class Expansion(SupportVectors):
    """f = Σ α_i κ(z_i, ·) over river samples.

    Parameters
    ----------
    kernel
        The terms of a ``river_okl.kernels`` kernel.
    budget
        Maximum number of support vectors between two steps; None: no limit.
    per_class
        With more than two classes, the budget is per class, and all share the support vectors.
    spare
        Allow one more within a step that adds before it removes.  ``observe`` removes it after an interrupted step.
    n_outputs
        Coefficients per support vector: the number of functions that share the support vectors.
    norm
        Update ‖f‖² at every step; otherwise ``norm2`` computes it on demand.
    values
        Update f(z_i) at every step; otherwise ``values`` computes them on demand.
    inverse
        Keep K and K⁻¹, for ``project`` and ``absorb``.
    """

    cdef Coefficients alpha
    cdef Norms norms
    cdef readonly object budget     # of all classes; None: no limit
    cdef object each                # the budget per class, or None
    cdef readonly bint spare
    cdef Sums sums                  # scratch about the last sample; never pickled

    def __init__(
        self, tuple kernel, budget=None, bint per_class=False, bint spare=False, Py_ssize_t n_outputs=1,
        bint norm=False, bint values=False, bint inverse=False
    ):
        if self.points is not None:
            raise RuntimeError("an Expansion cannot be initialised twice")
        if budget is not None and not 1 <= budget <= MAX_POINTS:
            raise ValueError(f"budget is {budget!r}: it must be an integer from 1 to {MAX_POINTS:,}")
        self.budget, self.spare = budget, spare
        self.each = budget if per_class else None
        SupportVectors.__init__(self, kernel, None if budget is None else min(budget + spare, MAX_POINTS), inverse)
        self.alpha = Coefficients(n_outputs)
        self.norms = Norms(self.rows, self.alpha, self.gram_, norm, values)
        self.sums = Sums(self.rows, self.alpha)

    # Values at a sample -----------------------------------------------------------------------------------------------

    cdef int look(self, sample) except -1:
        """Make this the last sample."""
        if self.rows.look(sample):
            self.ald_residual_valid = False
            self.sums.forget()
        return 0

    cdef double at(self, sample) except? -1.0:
        """Return output 0 of the first class at x, which becomes the last sample."""
        self.look(sample)
        return self.alpha.scale * self.sums.of(0) if self.points.n else 0.0

    def evaluate(self, sample, tuple weights=None):
        """Return Σ weight · output at x (None: output 0); with classes a list, one for each.

        x becomes the last sample.
        """
        cdef Py_ssize_t c
        self.look(sample)
        if self.alpha.n_classes:
            weights = weights or (1.0,)
            return [self.sums.combined(c, weights) for c in range(self.alpha.n_classes)]
        if weights is not None:
            return self.sums.combined(0, weights)
        return self.alpha.scale * self.sums.of(0) if self.points.n else 0.0

    cdef double observed(self, sample, Py_ssize_t target) except? -1.0:
        """Implement ``observe``.

        With classes f(x) is the margin (F_y - F_r)/√2 over the rival, the highest-scoring other class (the first of a
        tie).  x becomes the last sample and updates a data-driven γ.
        """
        cdef double value
        if (self.alpha.n_classes > 0 or target >= 0) and not 0 <= target < self.alpha.n_classes:
            raise IndexError(f"class {target} of {self.alpha.n_classes}")
        self.ald_residual_valid = False  # solve again, as a newly loaded model would: solving has side effects
        if self.spare:
            self.finish_interrupted()
        value = self.at(sample)
        if self.rows.kernel.adapting and self.rows.kernel.observe(&self.rows.samples[self.rows.last]):
            try:
                self.kernel_moved()
            except BaseException:
                self.lock.fail()
                raise
            value = self.at(self.rows.given())
        if self.alpha.n_classes == 0:
            return value
        self.sums.turn_to(target)
        return self.alpha.scale * self.sums.along(0)

    cpdef double value(self, tuple weights=(1.0,)) except? -1.0:
        """Return Σ weight · output of the current f at the last sample, along its direction."""
        cdef Py_ssize_t o
        cdef double total = 0.0
        self.rows.seen()
        self.alpha.check_weights(weights)
        for o in range(len(weights)):
            total += <double> weights[o] * self.sums.along(o)
        return self.alpha.scale * total

    def evaluate_many(self, Frame frame, tuple weights=(1.0,)):
        """Return Σ weight · output at every row of a frame: an array of shape (rows, classes or 1).

        The values equal those of ``evaluate`` to the last bit.  There is no last sample afterwards.
        """
        cdef Py_ssize_t i, s, rows = len(frame), tiled
        cdef double[:, ::1] view
        cdef const double[::1] factors = np.array(weights)
        cdef Sample x
        cdef Tile tile
        self.alpha.check_weights(weights)
        out = np.zeros((rows, max(1, self.alpha.n_classes)))
        view = out
        tiled = self.rows.start_frame(frame, &x)
        room = self.rows.make_tile(&tile) if tiled else None  # no-cython-lint
        with nogil:
            for i in range(tiled // TILE):
                self.rows.measure_tile(&x, frame, i * TILE, &tile)
                for s in range(TILE):
                    self.rows.tile_row(&tile, s, self.rows.row)
                    self.alpha.combine(self.rows.row, self.points.padded(), factors, view[i * TILE + s])
            for i in range(tiled, rows):
                take_row(&x, frame, i)
                if self.points.n:
                    self.rows.compute(&x, self.rows.row)
                    self.alpha.combine(self.rows.row, self.points.padded(), factors, view[i])
        return out

    # Changing f -------------------------------------------------------------------------------------------------------

    cdef int finish_interrupted(self) except -1:
        """Remove the excess support vectors of a step interrupted before its removal."""
        while self.budget is not None and self.points.n > self.budget:
            self.remove(self.points.births.argmax())
        return 0

    cdef int kernel_moved(self) except -1:
        """Recompute everything that depends on γ."""
        cdef Py_ssize_t i
        self.rows.kernel_moved()
        if self.gram_ is not None:
            self.gram_.clear()
            for i in range(self.points.n):
                self.rows.compute_of(i, self.rows.other)
                self.gram_.append_row(self.rows.other, self.rows.self_[i])
            self.gram_.rebuild()
        self.norms.stale = True
        return 0

    cdef void changed(self) noexcept:
        """Mark the value at the last sample and the norms as changed."""
        self.sums.forget()
        self.norms.changed()

    cpdef int add(self, double c, Py_ssize_t output=0) except -1:
        """Add c κ(x, ·) to f, along the direction of the last sample x; the other outputs get coefficient 0.

        Requires a last sample, and room: fewer support vectors than the budget, plus one with ``spare``.
        """
        self.alpha.check_output(output)
        self.rows.seen()
        if self.points.n >= self.points.limit:
            raise RuntimeError(f"the budget of {self.budget} support vectors is full")
        try:
            return self.append(c, output)
        except BaseException:
            self.lock.fail()
            raise

    cdef int append(self, double c, Py_ssize_t output) except -1:
        """Implement ``add`` if there is room."""
        cdef Py_ssize_t n = self.points.n
        self.fold(c)
        if self.gram_ is not None:
            self.solve()
        if n == self.points.capacity:
            self.grow()
        if self.norms.tracks():  # the values of the current f at x
            self.sums.along(output)
            self.sums.of(0)
        self.points.store(&self.rows.samples[self.rows.last])
        self.rows.point_added()
        self.norms.added(output, c, self.sums.values)
        if self.gram_ is not None:
            self.gram_.grow(self.rows.row, self.rows.self_similarity, self.ald_residual)
        self.alpha.clear(n)
        self.alpha.move(n, c / self.alpha.scale, output)
        self.ald_residual_valid = False
        self.changed()
        return 0

    cpdef int scale(self, double c) except -1:
        """Set f ← c f for every output, in O(1), by a common factor."""
        self.alpha.scale *= c
        self.norms.scaled(c)
        self.fold(0.0)
        return 0

    cdef void fold(self, double c) noexcept:
        """Fold the common factor into the coefficients before it goes out of range, or before a step of size c does."""
        if self.alpha.fold(self.points.n, c):
            self.sums.forget()
            self.norms.clear()
            self.norms.stale = True

    cpdef int project_on_ball(self, double radius) except -1:
        """Project f on the ball of this radius: Π_U(f) = min(1, U/‖f‖) f."""
        cdef double norm = sqrt(self.norms.square())
        if norm > radius:
            self.scale(radius / norm)
        return 0

    cpdef int shift(self, Py_ssize_t i, double c, Py_ssize_t output=0) except -1:
        """Add c to α_i; with classes, along the direction of the last sample."""
        self.points.check_position(i)
        self.alpha.check_output(output)
        self.fold(c)
        self.norms.shifted(i, c, output)
        self.alpha.move(i, c / self.alpha.scale, output)
        self.changed()
        return 0

    cpdef int set(self, Py_ssize_t i, double c, Py_ssize_t output=0) except -1:
        """Set α_i to c."""
        self.points.check_position(i)
        self.alpha.check_output(output)
        self.alpha.reject_classes()
        self.shift(i, c - self.alpha.scale * self.alpha.coef[output][i], output)
        self.alpha.coef[output][i] = c / self.alpha.scale
        return 0

    cpdef int clip(self, double largest) except -1:
        """Clip |α_i| of output 0, over all classes, to ``largest``."""
        if self.alpha.clip(largest, self.points.n):
            self.norms.stale = True
            self.changed()
        return 0

    cpdef int remove(self, Py_ssize_t i) except -1:
        """Remove support vector i and its term; the last support vector takes position i."""
        self.points.check_position(i)
        try:
            return self.drop(i)
        except BaseException:
            self.lock.fail()
            raise

    cdef int drop(self, Py_ssize_t i) except -1:
        """Implement ``remove`` for a valid position."""
        cdef Py_ssize_t last = self.points.n - 1
        self.norms.dropping(i)
        self.points.drop(i)
        self.rows.point_removed(i)
        if self.gram_ is not None:
            self.gram_.shrink(i)
        self.alpha.point_removed(i, last)
        self.ald_residual_valid = False
        if last == 0:
            self.norms.clear()
        self.changed()
        self.points.tidy()
        return 0

    cpdef int pass_on(self, Py_ssize_t r, Py_ssize_t i, double share) except -1:
        """Add share · α_r to α_i, for every output of every class."""
        cdef Py_ssize_t o
        self.points.check_position(r)
        self.points.check_position(i)
        for o in range(self.alpha.n_columns):
            self.alpha.coef[o][i] += share * self.alpha.coef[o][r]
        self.norms.stale = True
        self.changed()
        return 0

    cpdef int replace(self, Py_ssize_t r, double share, double c) except -1:
        """Replace support vector r by the last sample, with coefficient c + share · α_r."""
        cdef Py_ssize_t o
        self.rows.seen()
        self.points.check_position(r)
        passed = [share * self.alpha.coef[o][r] for o in range(self.alpha.n_columns)]
        self.remove(r)
        self.add(c)
        for o in range(self.alpha.n_columns):
            self.alpha.coef[o][self.points.n - 1] += <double> passed[o]
        self.norms.stale = True
        self.changed()
        return 0

    def keep(self, positions, norms=None):
        """Keep the support vectors at ``positions``; remove the others from the last position to the first.

        ``norms``, if given, must be the resulting ‖f_o‖² of every column.
        """
        cdef Py_ssize_t i
        staying = set(np.asarray(positions).tolist())
        self.norms.stale = True
        for i in range(self.points.n - 1, -1, -1):
            if i not in staying:
                self.remove(i)
        if norms is not None and self.norms.keeps_norm and not self.norms.keeps_values and self.points.n:
            self.norms.refresh_with(norms)

    cpdef int absorb(self, double c, Py_ssize_t output=0) except -1:
        """Set f ← f + c P κ(x, ·), x the last sample: add c K⁻¹k to the coefficients, and no support vector."""
        cdef Py_ssize_t i
        self.alpha.check_output(output)
        self.solve()
        self.fold(c)
        self.norms.absorbed(output, c)
        for i in range(self.points.n):
            self.alpha.move(i, c / self.alpha.scale * self.gram_.solution[i], output)
        self.changed()
        return 0

    # Reading f --------------------------------------------------------------------------------------------------------

    @property
    def norm2(self):
        """‖f‖² of output 0, summed over classes."""
        return self.norms.peek()

    def refresh_norm2(self):
        """Return ``norm2`` for a step: recompute and store it if it is stale."""
        return self.norms.square()

    @property
    def coefficients(self):
        """A copy of α of output 0; settable, with one value per support vector.  Raises with classes."""
        self.alpha.reject_classes()
        return self.alpha.read(self.points.n)

    @coefficients.setter
    def coefficients(self, values):
        self.alpha.reject_classes()
        self.alpha.write(values, self.points.n)
        self.changed()
        self.norms.stale = True

    @property
    def columns(self):
        """A copy of all coefficients, of shape (support vectors, outputs) or (support vectors, classes · outputs)."""
        return self.alpha.read_all(self.points.n)

    @columns.setter
    def columns(self, matrix):
        self.alpha.write_all(matrix, self.points.n)
        self.changed()
        self.norms.stale = True

    @property
    def magnitudes(self):
        """|α_i| of output 0, over all classes: √Σ α².  The norm of term i is |α_i| √κ(z_i, z_i)."""
        return self.alpha.magnitudes(self.points.n)

    @property
    def values(self):
        """f(z_i) of every support vector, for output 0; computed in O(B²) unless they are stored."""
        if not self.norms.keeps_values:
            return np.array([self.value_of(i) for i in range(self.points.n)], dtype=np.float64)
        return self.norms.read_values()

    cpdef double value_of(self, Py_ssize_t i) except? -1.0:
        """Compute f(z_i) of output 0.  The last sample is unchanged."""
        self.points.check_position(i)
        self.rows.compute_of(i, self.rows.other)
        return self.alpha.scale * loops.inner(self.rows.other, self.alpha.coef[0], self.points.padded())

    def rows_among(self, positions):
        """Return K at the positions, (positions, positions), and f_o at each, (outputs, positions)."""
        return self.rows.rows_among(positions, np.ascontiguousarray(self.columns.T))

    # Choosing one (choice.pyx), of ties the oldest: requires a support vector -----------------------------------------

    cpdef Py_ssize_t smallest(self) except -1:  # no-cython-lint
        """Return the position of the smallest α_i² κ(z_i, z_i)."""
        self.points.check_position(0)
        return smallest(self.rows, self.alpha)

    def oldest_of_least(self, const double[::1] values, double scale=0.0):
        """Return the position of the smallest value; ties are relative to the value or ``scale``."""
        self.points.check_position(values.shape[0] - 1)
        return oldest_of_least(self.points, &values[0], values.shape[0], scale)

    cpdef Py_ssize_t replaceable(self, double dependent) except -1:  # no-cython-lint
        """Return the position of the smallest α_i² δ_i², δ_i the distance of κ_i from the span of κ_x.  x is
        the last sample; a δ_i² below ``dependent`` · κ(z_i, z_i) counts as 0."""
        self.rows.seen()
        self.points.check_position(0)
        return replaceable(self.rows, self.alpha, dependent)

    def partner(self, Py_ssize_t p):
        """Return the support vector m whose fusion with p has the smallest loss, and its h and α_z
        (merging.h).  Requires a single Gaussian kernel, and that α_p is the smallest coefficient."""
        self.points.check_position(p)
        self.alpha.reject_classes()
        return partner(self.rows, self.alpha, p)

    # Columns ----------------------------------------------------------------------------------------------------------

    @property
    def n_outputs(self):
        """Number of functions that share the support vectors."""
        return self.alpha.n_outputs

    @property
    def n_classes(self):
        """Number of classes, with one function each; 0: an output is one function."""
        return self.alpha.n_classes

    cdef Py_ssize_t count_classes(self) noexcept:
        return self.alpha.n_classes

    @property
    def direction(self):
        """The direction of the last sample: [(class, weight)]."""
        cdef int k
        return [(self.alpha.along[k], self.alpha.signed_unit(k)) for k in range(self.alpha.n_along)]

    def add_class(self):
        """Add a class with F = 0; the third one also splits f into functions of the first two."""
        cdef Py_ssize_t n_classes = max(2, self.alpha.n_classes) + 1
        if self.norms.keeps_values:
            raise RuntimeError("values=True supports a single function only")
        try:
            self.reserve_columns(n_classes * self.alpha.n_outputs)
        except BaseException:
            self.lock.fail()
            raise
        if self.alpha.n_classes == 0:
            self.norms.split()
            self.alpha.split(self.points.n)
        self.alpha.n_classes = n_classes
        self.share_budget(n_classes)
        self.sums.forget()

    def permute(self, list order):
        """Permute the labels: class c becomes what order[c] was; for two labels, [1, 0] negates f."""
        columns = self.alpha.permute(order, self.points.n)
        self.norms.permute(columns, self.alpha.n_classes == 0 and order[0] == 1)
        self.sums.forget()

    cdef int share_budget(self, Py_ssize_t n_classes) except -1:
        """Set the budget to that per class times the number of classes."""
        if self.each is not None and n_classes > 2:
            self.budget = min(self.each * n_classes, MAX_POINTS)
            self.points.max_points = self.points.limit = min(self.budget + self.spare, MAX_POINTS)
        return 0

    cdef int reserve_columns(self, Py_ssize_t n_columns) except -1:
        """Add columns of zero coefficients."""
        self.norms.reserve_columns(self.alpha.n_columns, n_columns)
        self.sums.reserve(n_columns)
        self.alpha.reserve_columns(n_columns)
        return 0

    cdef int grow(self) except -1:
        """Reserve room for more support vectors in every part."""
        cdef Py_ssize_t capacity = self.points.next_capacity()
        self.reserve(capacity)
        self.rows.reserve(capacity)
        return self.points.grow(capacity)

    cdef int reserve(self, Py_ssize_t capacity) except -1:
        """Reserve room for ``capacity`` support vectors, except in points and rows."""
        self.alpha.reserve(capacity)
        self.norms.reserve(capacity)
        if self.gram_ is not None:
            self.gram_.reserve(capacity)
        return 0

    # State ------------------------------------------------------------------------------------------------------------

    def state(self):
        """Return the state by name, except the options, for ``restore``."""
        return {
            "kernel": self.rows.kernel.state(),
            "features": self.points.features.state(),
            "points": self.points.state(),
            "coefficients": self.alpha.state(self.points.n),
            "norms": self.norms.state(),
            "gram": None if self.gram_ is None else self.gram_.state(),
        }

    def restore(self, dict state):
        """Resume from an untrusted state, after checking every number.  If this raises, discard the expansion."""
        self.fill(state)
        self.norms.check_sizes()

    def __setstate__(self, state):
        self.fill(state)  # without the bounds of a checkpoint: a pickle's coefficients may be larger

    cdef int fill(self, dict state) except -1:
        cdef Py_ssize_t n_classes = checked_whole(state["coefficients"], "n_classes", 0, 2**20)
        if n_classes == 1 or (n_classes and self.norms.keeps_values):
            raise ValueError(f"n_classes is {n_classes}")
        if (state["gram"] is None) != (self.gram_ is None):
            raise ValueError("an inverse Gram matrix that does not match")
        self.share_budget(n_classes)
        self.points.features.restore(state["features"])
        self.points.restore(state["points"])
        self.rows.kernel.restore(state["kernel"])
        self.rows.restored()
        if n_classes:
            self.reserve_columns(self.alpha.n_outputs * n_classes)
        self.reserve(self.points.capacity)
        self.alpha.restore(state["coefficients"], self.points.n)
        self.norms.restore(state["norms"])
        if self.gram_ is not None:
            self.gram_.restore(state["gram"], self.points.n)
        return 0

    def room_for(self, dict state):
        """Return the bytes that ``restore`` allocates for the sizes claimed by a state, which may contain less."""
        capacity = checked_whole(state["points"], "capacity", 0, MAX_POINTS)
        n_columns = self.alpha.n_outputs * max(1, checked_whole(state["coefficients"], "n_classes", 0, 2**20))
        dense = int(np.count_nonzero(np.asarray(state["points"]["ranks"]) >= 0))
        return capacity * (8 * (n_columns + 9 + dense) + 16 * (1 + (self.gram_ is not None) * capacity))

    def __reduce__(self):
        options = (
            self.kernel.terms, self.budget if self.each is None else self.each, self.each is not None, bool(self.spare),
            self.alpha.n_outputs, bool(self.norms.keeps_norm), bool(self.norms.keeps_values), self.gram_ is not None
        )
        return Expansion, options, self.state()

    def _check(self):
        """Check by brute force the invariants that the core's files state."""
        gram, slack = self.rows.check()
        self.norms.check(gram, slack)
        if self.gram_ is not None:
            self.gram_.check(gram, slack)
            if self.rows.has_sample and self.rows.fresh and self.points.n:
                # along an eigenvector of λ, a jitter ε leaves ε / (λ + ε) of k, whose part there is at most √(λ k_tt)
                residual = np.abs(self.row - gram @ self.projection).max()
                assert residual <= 0.5 * math.sqrt(1e-8) * gram.max(), "d = K⁻¹k solves K d = k"
