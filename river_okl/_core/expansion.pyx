"""The function that every algorithm of river_okl manipulates: f = Σ α_i κ(z_i, ·), a kernel expansion.

What is kept, for support vectors i < n, outputs o and features j (``_check`` recomputes all of it by brute force):

    Z[j, i]       the value of feature j in z_i, stored feature by feature: all i of one j stand together
    f_o           Σ_i scale · coef[o, i] · κ(z_i, ·)
    square[i]     ‖z_i‖²            sparse_square[i]  the part of it from posting lists
    self[i]       κ(z_i, z_i)       birth[i]          when z_i joined: 0, 1, 2, ...
    norms[o]      ‖f_o‖²            where asked for (``norm=True``)
    values[i]     f_0(z_i)/scale    where asked for (``values=True``)
    gram          K and K⁻¹         where asked for (``inverse=True``)
    count[j]      #{i : Z[j, i] ≠ 0} > 0: a feature that no support vector has is unknown

Why feature-major: a row of dot products x · z_i is one axpy per non-zero feature of x, contiguous over the
support vectors, which is the same loop for dense and for sparse samples, and a new feature is one more row.  A
feature that few support vectors have (less than 1/``SPARSE_BELOW`` of the capacity) is a posting list of (i, value)
instead, so that wide data costs what it holds; support vectors remember which posting lists they are in.

Where a sample has (nearly) all the features with dense rows, the row is ‖x-z_i‖² as a sum of squared differences: the
same cost, and no cancellation for unscaled features with large offsets.  Otherwise ‖x-z‖² = ‖x‖² + ‖z‖² - 2 x·z, whose
error is a few ulp of the squares.

The row memo: river calls ``predict_one(x)``, then ``learn_one(x, y)``.  ``evaluate`` encodes x and, where it is the
point of the last call and no support vector came or went, reuses the kernel row; where no coefficient moved
either, the value.  The comparison is of keys and numbers, so changing the dict in between is safe.

Positions: ``add`` appends, ``remove(i)`` moves the last support vector to i.

More than two classes.  After ``split_classes`` an output is not one function f but one per class, F_c, and a sample of class
y sees f along the direction u = (e_y - e_r)/√2, r the class that rivals y most: its value is (F_y - F_r)/√2, and f ← f + c
κ(x, ·) moves F_y by c/√2 and F_r by -c/√2.  As ‖u‖ = 1, all that an algorithm for labels ±1 computes (margins, κ(x, x), ‖f‖²)
means the same, with y = +1; and with two classes F = ±f/√2 it is the same model.
"""

from cpython.dict cimport PyDict_Next
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.math cimport fabs, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

import math
import time

import numpy as np

from river_okl._core.gram cimport Gram
from river_okl._core.kernel cimport Kernel, loops
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.rows cimport DOT_POWER, EXP_DISTANCE, EXP_SQUARED_DISTANCE, TILE
from river_okl._core.sample cimport LARGEST, LARGEST_SELF, Frame, Sample, number

from river_okl._core.sample import refuse

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()

cdef enum:
    LANES = 8               # doubles in the widest vector: capacities are multiples of it
    SPARSE_BELOW = 8        # a feature of fewer than capacity / 8 support vectors is a posting list
    NOGIL_ABOVE = 200000    # multiply-adds, about 50 µs: longer calls release the GIL

cdef double SQRT_HALF = 0.5**0.5
cdef Py_ssize_t MAX_BUDGET = 2**31 - 1   # positions are 32-bit in posting lists


cdef struct Feature:
    PyObject *key               # borrowed from the vocabulary; NULL: the slot is free
    Py_ssize_t count            # support vectors that have it
    double *dense               # Z[j, :], or NULL where it is a posting list:
    int32_t *owners             #   the support vectors that have it, in no order
    double *amounts             #   and their values
    Py_ssize_t allocated
    Py_ssize_t rank             # where it stands in the list of dense features, for its removal


cdef struct Owned:
    # The posting lists that a support vector is in.
    int32_t *slots
    Py_ssize_t size, allocated


cdef struct Tile:
    # TILE samples that are evaluated together.
    double *numbers[TILE]   # for the dense features
    double *dots[TILE]      # dot products with posting lists; then squared distances
    double squares[TILE]
    double rests[TILE]      # the squares of what is not in the dense features


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

    cdef readonly Kernel kernel
    cdef readonly object budget
    cdef readonly bint spare
    cdef readonly Py_ssize_t n_outputs
    cdef readonly Py_ssize_t n_classes  # 0: one function per output; else columns are output by output, class by class
    cdef Py_ssize_t n_columns           # n_outputs, times n_classes if there are any
    cdef Py_ssize_t target, rival       # the classes that the last sample is between
    cdef readonly bint keeps_norm, keeps_values
    cdef Gram gram_

    cdef Py_ssize_t n, capacity
    cdef double scale_
    cdef double **coef              # [n_columns][capacity]; column class · n_outputs + output
    cdef double *square
    cdef double *sparse_square
    cdef bint sparse_square_stale
    cdef double *self_
    cdef int64_t *birth
    cdef int64_t born               # points that ever joined
    cdef Owned *owned               # [capacity]
    cdef double *norms              # [n_columns]
    cdef double *peaks              # [n_columns] the largest of each norm since they were computed from scratch
    cdef double *values_
    cdef Py_ssize_t moves           # changes of f since norms and values were last computed from scratch
    cdef bint stale                 # norms and values wait to be computed from scratch

    cdef dict vocabulary            # feature name -> slot
    cdef Feature *features
    cdef Py_ssize_t n_features      # slots that are not free: the size of the vocabulary
    cdef Py_ssize_t n_slots, slots_allocated
    cdef int32_t *dense_slots
    cdef Py_ssize_t n_dense
    cdef list free_slots
    cdef list emptied               # slots of features that no support vector has any more, until they are forgotten
    cdef Py_ssize_t version         # changes of the vocabulary

    # scratch: the last sample, its kernel row and values; never pickled
    cdef Sample samples[2]
    cdef int last                   # which of the two is the last sample
    cdef bint has_sample, row_fresh # row_fresh: no support vector came or went since it was computed
    cdef bint *sums_valid
    cdef double *sums               # [n_columns] Σ coef κ(z_i, x), without the scale
    cdef double *dots
    cdef double *row_
    cdef double *other_row          # of a support vector
    cdef const double **pointers    # dense rows of the features of a sample, and its numbers
    cdef double *numbers
    cdef Py_ssize_t items_allocated
    cdef double residue             # δ² of the last sample, where residue_valid
    cdef bint residue_valid
    cdef public bint memo           # tests switch the memo off
    cdef bint busy
    cdef unsigned long busy_thread, learner

    def __cinit__(self):
        self.scale_ = 1.0
        self.vocabulary = {}
        self.free_slots = []
        self.emptied = []
        self.memo = True

    def __init__(self, tuple kernel, *, budget=None, bint spare=False, Py_ssize_t n_outputs=1, bint norm=False, bint values=False, bint inverse=False):
        if budget is not None and not 1 <= budget <= MAX_BUDGET:
            raise ValueError(f"budget is {budget!r}: it must be a whole number from 1 to {MAX_BUDGET:,}")
        if self.kernel is not None:
            raise RuntimeError("an Expansion is initialised once")
        self.kernel = Kernel(kernel)
        self.budget = budget
        self.spare = spare
        self.keeps_norm = norm
        self.keeps_values = values
        self.gram_ = Gram() if inverse else None
        if n_outputs < 1:
            raise ValueError(f"n_outputs is {n_outputs}; it must be at least 1")
        self.n_outputs = n_outputs
        self.reserve_columns(n_outputs)

    def __dealloc__(self):
        cdef Py_ssize_t i, j
        if self.coef != NULL:
            for i in range(self.n_columns):
                okl_free(self.coef[i])
        okl_free(self.coef)
        okl_free(self.square)
        okl_free(self.sparse_square)
        okl_free(self.self_)
        okl_free(self.birth)
        if self.owned != NULL:
            for i in range(self.capacity):
                okl_free(self.owned[i].slots)
        okl_free(self.owned)
        okl_free(self.norms)
        okl_free(self.peaks)
        okl_free(self.values_)
        for j in range(self.n_slots):
            okl_free(self.features[j].dense)
            okl_free(self.features[j].owners)
            okl_free(self.features[j].amounts)
        okl_free(self.features)
        okl_free(self.dense_slots)
        for i in range(2):
            for j in range(self.samples[i].allocated):
                Py_XDECREF(self.samples[i].keys[j])
            okl_free(self.samples[i].keys)
            okl_free(self.samples[i].slots)
            okl_free(self.samples[i].numbers)
        okl_free(self.sums_valid)
        okl_free(self.sums)
        okl_free(self.dots)
        okl_free(self.row_)
        okl_free(self.other_row)
        okl_free(self.pointers)
        okl_free(self.numbers)

    def __sizeof__(self):
        """Every byte that this object owns outside Python's own objects (the vocabulary is one)."""
        cdef Py_ssize_t i, j, total = object.__sizeof__(self)
        total += self.capacity * (self.n_columns * 8 + 4 * 8 + sizeof(Owned))
        total += self.capacity * 8 * (3 + self.keeps_values)
        for i in range(self.capacity):
            total += self.owned[i].allocated * 4
        total += self.slots_allocated * (sizeof(Feature) + 4)
        for j in range(self.n_slots):
            total += (self.capacity * 8 if self.features[j].dense != NULL else 0) + self.features[j].allocated * 12
        for i in range(2):
            total += self.samples[i].allocated * (sizeof(PyObject *) + 4 + 8)
        if self.gram_ is not None:
            total += self.gram_.__sizeof__()
        return total + self.items_allocated * 16 + self.n_columns * 40

    # Only one thread at a time is inside; the GIL sees to it but for calls that release it or run a user's __hash__.
    cdef int enter(self) except -1:
        while self.busy:
            if self.busy_thread == PyThread_get_thread_ident():
                raise RuntimeError("a feature's __hash__, __eq__ or __float__ calls the model that is reading it")
            time.sleep(5e-5)
        self.busy = True
        self.busy_thread = PyThread_get_thread_ident()
        return 0

    # Encoding ---------------------------------------------------------------------------------------------------

    cdef int reserve_items(self, Py_ssize_t size) except -1:
        cdef Sample *x
        cdef Py_ssize_t allocated, i
        for i in range(2):
            x = &self.samples[i]
            if size > x.allocated:
                allocated = max(size, 2 * x.allocated, 8)
                x.keys = <PyObject **> aligned_resize(x.keys, x.allocated, allocated, sizeof(PyObject *))
                x.slots = <int32_t *> aligned_resize(x.slots, x.allocated, allocated, 4)
                x.numbers = <double *> aligned_resize(x.numbers, x.allocated, allocated, 8)
                x.allocated = allocated
        size = max(size, self.n_dense)
        if size > self.items_allocated:
            allocated = max(size, 2 * self.items_allocated, 8)
            self.pointers = <const double **> aligned_resize(self.pointers, 0, allocated, sizeof(double *))
            self.numbers = <double *> aligned_resize(self.numbers, 0, allocated, 8)
            self.items_allocated = allocated
        return 0

    cdef inline int look_up(self, Sample *x, Py_ssize_t i, object key) except -1:
        """Item i of x has this key.  Streams repeat their keys in order, so mostly it is known from two samples ago."""
        if x.keys[i] == <PyObject *> key:
            return 0
        slot = self.vocabulary.get(key)
        Py_INCREF(key)
        Py_XDECREF(x.keys[i])
        x.keys[i] = <PyObject *> key
        x.slots[i] = -1 if slot is None else slot
        return 0

    cdef int refresh_slots(self, Sample *x) except -1:
        """The vocabulary has changed since x was encoded."""
        cdef Py_ssize_t i
        if x.version != self.version:
            for i in range(x.size):
                slot = self.vocabulary.get(<object> x.keys[i])
                x.slots[i] = -1 if slot is None else slot
            self.date_slots(x)
        return 0

    cdef void date_slots(self, Sample *x) noexcept:
        """The slots of x are of today's vocabulary; those guessed for a longer sample may not be."""
        cdef Py_ssize_t i
        for i in range(x.size, x.allocated):
            Py_XDECREF(x.keys[i])
            x.keys[i] = NULL
        x.version = self.version

    cdef int encode(self, object sample, Sample *x) except -1:
        cdef PyObject *key
        cdef PyObject *value
        cdef Py_ssize_t position = 0, i = 0, size
        cdef double v, square = 0.0
        cdef Frame frame
        cdef const double *numbers
        if isinstance(sample, Frame):
            frame = <Frame> sample
            size = len(frame.names)
            self.reserve_items(size)
            self.refresh_slots(x)
            x.size = 0
            numbers = &frame.matrix[frame.row, 0] if size else NULL
            for i in range(size):
                v = numbers[i]
                self.look_up(x, i, frame.names[i])
                x.numbers[i] = v
                square += v * v
            i = size
        elif isinstance(sample, dict):
            size = len(<dict> sample)
            self.reserve_items(size)
            self.refresh_slots(x)
            x.size = 0
            while i < size and PyDict_Next(<dict> sample, &position, &key, &value):
                if PyFloat_CheckExact(<object> value):
                    v = PyFloat_AS_DOUBLE(<object> value)
                    if not fabs(v) <= LARGEST:
                        refuse(<object> key, <object> value)
                else:
                    v = number(<object> key, <object> value)
                self.look_up(x, i, <object> key)
                x.numbers[i] = v
                square += v * v
                i += 1
        else:
            raise TypeError(f"a sample is a dict of features, not {sample!r}")
        x.size = i
        x.square = square
        x.self_similarity = self.kernel.self_similarity(square)
        if not fabs(x.self_similarity) <= LARGEST_SELF:
            raise ValueError(
                f"the kernel of this sample with itself is {x.self_similarity:g}, more than {LARGEST_SELF:g}: scale the "
                f"features (preprocessing.StandardScaler); the largest is {max(sample.items(), key=_magnitude)}"
            )
        return 0

    cdef bint same(self, Sample *a, Sample *b) noexcept:
        if a.size != b.size:
            return False
        return a.size == 0 or (  # no buffers to compare, perhaps
            memcmp(a.numbers, b.numbers, a.size * 8) == 0 and memcmp(a.keys, b.keys, a.size * sizeof(PyObject *)) == 0
        )

    # Kernel rows ------------------------------------------------------------------------------------------------

    cdef Py_ssize_t padded(self) noexcept nogil:
        return (self.n + LANES - 1) // LANES * LANES

    cdef void compute_row(self, Sample *x, double *out) noexcept nogil:
        """out[i] = κ(z_i, x)"""
        cdef Py_ssize_t i, m = 0, n = self.padded()
        cdef Feature *feature
        if self.by_distances(x):
            self.lay_out_dense()
            self.finish_row(self.lay_out(x, self.numbers, self.dots), x.square, out)
            return
        memset(self.dots, 0, n * 8)
        for i in range(x.size):
            if x.slots[i] >= 0 and x.numbers[i] != 0.0:
                feature = &self.features[x.slots[i]]
                if feature.dense == NULL:
                    scatter(feature, x.numbers[i], self.dots)
                else:
                    self.pointers[m] = feature.dense
                    self.numbers[m] = x.numbers[i]
                    m += 1
        loops.dots(self.pointers, self.numbers, m, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, False, self.square, x.square, n, out)

    cdef bint by_distances(self, Sample *x) noexcept nogil:
        """Whether x has (nearly) all the features with dense rows."""
        cdef Py_ssize_t i, m = 0
        for i in range(x.size):
            m += x.slots[i] >= 0 and self.features[x.slots[i]].dense != NULL
        return 5 * m + 8 >= 4 * self.n_dense

    cdef void lay_out_dense(self) noexcept nogil:
        """The row of every dense feature."""
        cdef Py_ssize_t j
        for j in range(self.n_dense):
            self.pointers[j] = self.features[self.dense_slots[j]].dense

    cdef void clear_dots(self, double *dots) noexcept nogil:
        """Room for the dot products with posting lists, or of a kernel of dot products alone."""
        if self.n_features > self.n_dense or not self.kernel.has_distance:
            memset(dots, 0, self.padded() * 8)

    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil:
        """The numbers of x for the dense features, and the dot products of the others; returns the square of those."""
        cdef Py_ssize_t i
        cdef Feature *feature
        cdef double rest = 0.0
        memset(numbers, 0, self.n_dense * 8)
        self.clear_dots(dots)
        for i in range(x.size):
            feature = &self.features[x.slots[i]] if x.slots[i] >= 0 else NULL
            if feature != NULL and feature.dense != NULL:
                numbers[feature.rank] = x.numbers[i]
            else:
                rest += x.numbers[i] * x.numbers[i]
                if feature != NULL:
                    scatter(feature, x.numbers[i], dots)
        return rest

    cdef void start_distances(self, double rest, double *dots) noexcept nogil:
        """The part of ‖x-z_i‖² that is not from dense features, in place of its dot products."""
        cdef Py_ssize_t i, n = self.padded()
        cdef const double *sparse_square = self.sparse_square
        if self.n_features == self.n_dense:  # no posting lists: their squares and dot products are 0
            for i in range(n):
                dots[i] = rest
        else:
            for i in range(n):
                dots[i] = max(0.0, rest + sparse_square[i] - 2.0 * dots[i])

    cdef void finish_row(self, double rest, double square, double *out) noexcept nogil:
        """Kernel values from the laid-out dense features, and from posting lists through their dot products."""
        cdef Py_ssize_t n = self.padded()
        if self.kernel.has_distance:
            self.start_distances(rest, self.dots)
            loops.distances(self.pointers, self.numbers, self.n_dense, n, self.dots)
        else:  # a distance would lose the digits of the dot product of a long and a short vector
            loops.dots(self.pointers, self.numbers, self.n_dense, n, self.dots)
        loops.kernel_row(&self.kernel.program, self.dots, self.kernel.has_distance, self.square, square, n, out)

    cdef void settle_sparse_squares(self) noexcept:
        """A feature became a posting list or stopped to be one.  Done at once: were it left to the next evaluation, a
        prediction would decide in which order these sums are formed."""
        cdef Py_ssize_t j, k
        cdef Feature *feature
        if not self.sparse_square_stale:
            return
        memset(self.sparse_square, 0, self.capacity * 8)
        for j in range(self.n_slots):
            feature = &self.features[j]
            if feature.key != NULL and feature.dense == NULL:
                for k in range(feature.count):
                    self.sparse_square[feature.owners[k]] += feature.amounts[k] * feature.amounts[k]
        self.sparse_square_stale = False

    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil:
        """``lay_out`` for z_p; the dense features are laid out before."""
        cdef Py_ssize_t j
        cdef Feature *feature
        cdef double v, rest = 0.0
        self.clear_dots(dots)
        for j in range(self.owned[p].size):
            feature = &self.features[self.owned[p].slots[j]]
            v = feature.amounts[find(feature.owners, <int32_t> p)]
            rest += v * v
            scatter(feature, v, dots)
        for j in range(self.n_dense):
            numbers[j] = self.pointers[j][p]
        return rest

    cdef int compute_row_of(self, Py_ssize_t p, double *out) except -1:
        """out[i] = κ(z_i, z_p)"""
        self.enter()
        try:
            self.reserve_items(self.n_dense)
            self.lay_out_dense()
            self.finish_row(self.lay_out_point(p, self.numbers, self.dots), self.square[p], out)
            out[p] = self.self_[p]
        finally:
            self.busy = False
        return 0

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
        cdef Sample *x
        self.enter()
        try:
            x = &self.samples[1 - self.last]
            self.encode(sample, x)
            self.residue_valid = self.residue_valid and self.row_fresh
            if not (self.has_sample and self.row_fresh and self.memo and self.same(x, &self.samples[self.last])):
                self.last = 1 - self.last
                self.refresh_slots(x)
                if self.n * x.size > NOGIL_ABOVE:
                    with nogil:
                        self.compute_row(x, self.row_)
                elif self.n:
                    self.compute_row(x, self.row_)
                self.has_sample = self.row_fresh = True
                self.residue_valid = False
                self.forget_sums()
            self.learner = self.busy_thread
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

    cdef Sample *learned_sample(self) except NULL:
        """The sample of the last evaluate, if this thread made it."""
        if self.learner not in (0, PyThread_get_thread_ident()):
            raise RuntimeError("two threads use the model while one learns: this sample is not learned; use a lock")
        if not self.has_sample:
            raise RuntimeError("evaluate a sample first")
        return &self.samples[self.last]

    @property
    def self_similarity(self):
        """κ(x, x) of the last sample."""
        return self.learned_sample().self_similarity

    @property
    def row(self):
        """κ(z_i, x) of the last sample for every support vector."""
        self.learned_sample()
        return copy_array(self.row_, self.n)

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

    # Changing f -------------------------------------------------------------------------------------------------

    cpdef int add(self, double c, Py_ssize_t output=0) except -1:
        """f ← f + c κ(x, ·) with the last sample x as a new support vector; the other outputs get coefficient 0."""
        cdef Sample *x = self.learned_sample()
        cdef Py_ssize_t i, o, n = self.n
        self.check_output(output)
        if self.budget is not None and n >= self.budget + self.spare:
            raise RuntimeError(f"the budget of {self.budget} support vectors is full")
        if self.gram_ is not None:
            self.solve()
        self.enter()
        try:
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
        self.square[n] = x.square
        self.self_[n] = x.self_similarity
        self.birth[n] = self.born
        self.born += 1
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
        cdef Py_ssize_t j, o, last = self.n - 1
        cdef double value
        self.check_position(i)
        if self.tracks():
            self.compute_row_of(i, self.other_row)
            for o in range(self.n_columns):
                value = loops.inner(self.other_row, self.coef[o], self.padded())
                self.norms[o] += self.scale_ * self.scale_ * self.coef[o][i] * (self.coef[o][i] * self.self_[i] - 2.0 * value)
            if self.keeps_values:
                for j in range(self.n):
                    self.values_[j] -= self.coef[0][i] * self.other_row[j]
                self.values_[i] = self.values_[last]
        self.enter()
        try:
            self.drop_point(i)
        finally:
            self.busy = False
        if self.gram_ is not None:
            self.gram_.shrink(i)
        for o in range(self.n_columns):
            self.coef[o][i] = self.coef[o][last]
            self.coef[o][last] = 0.0
        self.square[i] = self.square[last]
        self.square[last] = 0.0
        self.sparse_square[i] = self.sparse_square[last]
        self.sparse_square[last] = 0.0
        self.self_[i] = self.self_[last]
        self.birth[i] = self.birth[last]
        if self.has_sample:
            self.row_[i] = self.row_[last]
            self.row_[last] = 0.0
        self.n = last
        self.settle_sparse_squares()
        self.row_fresh = self.residue_valid = False
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

    # Projection -------------------------------------------------------------------------------------------------

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

    # Reading f --------------------------------------------------------------------------------------------------

    def __len__(self):
        return self.n

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
    def births(self):
        """When each support vector joined, as a number that counts additions."""
        cdef int64_t[::1] view
        out = np.empty(self.n, dtype=np.int64)
        if self.n:
            view = out
            memcpy(&view[0], self.birth, self.n * 8)
        return out

    @property
    def self_similarities(self):
        """κ(z_i, z_i) of every support vector."""
        return copy_array(self.self_, self.n)

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

    def row_of(self, Py_ssize_t i):
        """κ(z_i, z_j) for every support vector j."""
        self.check_position(i)
        self.compute_row_of(i, self.other_row)
        return copy_array(self.other_row, self.n)

    def rows_of(self, positions):
        """``row_of`` each of these positions: an array (positions, support vectors)."""
        out = np.empty((len(positions), self.n))
        cdef double[:, ::1] view = out
        cdef const int64_t[::1] chosen = np.array(positions, dtype=np.int64)
        cdef Py_ssize_t j = 0, s
        cdef Tile tile
        for s in range(chosen.shape[0]):
            self.check_position(chosen[s])
        if chosen.shape[0] >= TILE and self.kernel.has_distance:
            room = self.make_tile(&tile)
            self.enter()
            try:
                self.reserve_items(self.n_dense)
                with nogil:
                    while j + TILE <= chosen.shape[0]:
                        self.lay_out_dense()
                        for s in range(TILE):
                            tile.squares[s] = self.square[chosen[j + s]]
                            tile.rests[s] = self.lay_out_point(chosen[j + s], tile.numbers[s], tile.dots[s])
                        self.finish_tile(&tile)
                        for s in range(TILE):
                            self.tile_row(&tile, s, self.other_row)
                            self.other_row[chosen[j + s]] = self.self_[chosen[j + s]]
                            memcpy(&view[j + s, 0], self.other_row, self.n * 8)
                        j += TILE
            finally:
                self.busy = False
        while j < chosen.shape[0]:
            self.compute_row_of(chosen[j], self.other_row)
            memcpy(&view[j, 0], self.other_row, self.n * 8)
            j += 1
        return out

    def gram(self):
        """K, computed."""
        out = self.rows_of(range(self.n))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t i, j
        for i in range(self.n):
            for j in range(i):
                view[j, i] = view[i, j]
        return out

    cpdef Py_ssize_t oldest(self) except -1:
        """The position of the support vector that joined first."""
        cdef Py_ssize_t i, best = 0
        self.check_position(0)
        for i in range(1, self.n):
            if self.birth[i] < self.birth[best]:
                best = i
        return best

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

    def point(self, Py_ssize_t i):
        """z_i in the user's feature names."""
        cdef Py_ssize_t j
        cdef Feature *feature
        self.check_position(i)
        slots = {self.owned[i].slots[j] for j in range(self.owned[i].size)}
        slots |= {self.dense_slots[j] for j in range(self.n_dense) if self.features[self.dense_slots[j]].dense[i] != 0.0}
        out = {}
        for slot in sorted(slots):
            feature = &self.features[slot]
            out[<object> feature.key] = (
                feature.dense[i] if feature.dense != NULL else feature.amounts[find(feature.owners, <int32_t> i)]
            )
        return out

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

    cdef object make_tile(self, Tile *tile):
        """Room for TILE samples and their rows, which lasts as long as the object that is returned."""
        cdef Py_ssize_t s, n = self.padded()
        room = np.empty(TILE * (self.n_dense + n) + LANES)
        cdef double[::1] view = room
        cdef double *start = &view[0] + (64 - <size_t> &view[0] % 64) % 64 // 8
        for s in range(TILE):
            tile.dots[s] = start + s * n
            tile.numbers[s] = start + TILE * n + s * self.n_dense
        return room

    cdef void finish_tile(self, Tile *tile) noexcept nogil:
        """The squared distances of the samples that are laid out."""
        cdef Py_ssize_t s, n = self.padded()
        for s in range(TILE):
            self.start_distances(tile.rests[s], tile.dots[s])
        loops.distances_tile(self.pointers, tile.numbers[0], self.n_dense, n, tile.dots[0], n)

    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil:
        loops.kernel_row(&self.kernel.program, tile.dots[s], True, self.square, tile.squares[s], self.padded(), out)

    cdef void combine_row(self, const double[::1] weights, double[:, ::1] out, Py_ssize_t i) noexcept nogil:
        """out[i, :] = ``combined`` at the sample whose row stands in ``row_``."""
        cdef Py_ssize_t c, o
        for c in range(out.shape[1]):
            for o in range(weights.shape[0]):
                out[i, c] += weights[o] * loops.inner(self.row_, self.coef[c * self.n_outputs + o], self.padded())
            out[i, c] *= self.scale_

    # Storage ----------------------------------------------------------------------------------------------------

    cdef int check_position(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"position {i} of {self.n} support vectors")
        return 0

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
        """More room: twice as much, but no more than the budget needs."""
        cdef Py_ssize_t o, j, capacity = max(LANES, 2 * self.capacity), old = self.capacity
        if self.budget is not None:
            capacity = min(capacity, (<Py_ssize_t> self.budget + self.spare + LANES - 1) // LANES * LANES)
        if capacity > MAX_BUDGET:
            raise MemoryError(f"{self.n:,} support vectors are the most that there can be")
        for o in range(self.n_columns):
            self.coef[o] = <double *> aligned_resize(self.coef[o], old, capacity, 8)
        self.square = <double *> aligned_resize(self.square, old, capacity, 8)
        self.sparse_square = <double *> aligned_resize(self.sparse_square, old, capacity, 8)
        self.self_ = <double *> aligned_resize(self.self_, old, capacity, 8)
        self.birth = <int64_t *> aligned_resize(self.birth, old, capacity, 8)
        self.dots = <double *> aligned_resize(self.dots, old, capacity, 8)
        self.row_ = <double *> aligned_resize(self.row_, old, capacity, 8)
        self.other_row = <double *> aligned_resize(self.other_row, old, capacity, 8)
        if self.keeps_values:
            self.values_ = <double *> aligned_resize(self.values_, old, capacity, 8)
        for j in range(self.n_dense):
            self.features[self.dense_slots[j]].dense = <double *> aligned_resize(
                self.features[self.dense_slots[j]].dense, old, capacity, 8
            )
        if self.gram_ is not None:
            self.gram_.reserve(capacity)
        self.owned = <Owned *> aligned_resize(self.owned, old, capacity, sizeof(Owned))
        self.capacity = capacity
        for j in range(self.n_dense - 1, -1, -1):
            if self.features[self.dense_slots[j]].count * (2 * SPARSE_BELOW) < capacity:
                self.make_sparse(self.dense_slots[j])
        self.settle_sparse_squares()
        return 0

    cdef int32_t new_slot(self, object key) except -1:
        cdef int32_t slot = self.free_slots.pop() if self.free_slots else self.append_slot()
        try:
            self.occupy(slot, key)
        except:
            self.free_slots.append(slot)
            raise
        return slot

    cdef int32_t append_slot(self) except -1:
        if self.n_slots == self.slots_allocated:
            allocated = max(16, 2 * self.slots_allocated)
            self.features = <Feature *> aligned_resize(self.features, self.n_slots, allocated, sizeof(Feature))
            self.dense_slots = <int32_t *> aligned_resize(self.dense_slots, self.n_dense, allocated, 4)
            self.slots_allocated = allocated
        self.n_slots += 1
        return <int32_t> self.n_slots - 1

    cdef int occupy(self, int32_t slot, object key) except -1:
        self.vocabulary[key] = slot
        self.features[slot].key = <PyObject *> key
        self.features[slot].count = 0
        self.n_features += 1
        self.version += 1
        return 0

    cdef int store_point(self, Sample *x) except -1:
        """Z[:, n] = x"""
        cdef Py_ssize_t i, n = self.n
        cdef Owned *own = &self.owned[n]
        cdef Feature *feature
        self.refresh_slots(x)
        self.make_room(x, own)
        own.size = 0
        self.sparse_square[n] = 0.0
        for i in range(x.size):
            if x.numbers[i] == 0.0:
                continue
            feature = &self.features[x.slots[i]]
            if feature.dense != NULL:
                feature.dense[n] = x.numbers[i]
                feature.count += 1
                continue
            feature.owners[feature.count] = <int32_t> n
            feature.amounts[feature.count] = x.numbers[i]
            feature.count += 1
            self.sparse_square[n] += x.numbers[i] * x.numbers[i]
            own.slots[own.size] = x.slots[i]
            own.size += 1
        return 0

    cdef int make_room(self, Sample *x, Owned *own) except -1:
        """What may raise of storing x: names with a __hash__ of their own, and memory.  Until then nothing is stored, and
        new features are emptied ones."""
        cdef Py_ssize_t i, size, posts = 0, before = len(self.emptied)
        cdef Feature *feature
        for i in range(x.size):
            if x.numbers[i] == 0.0:
                continue
            if x.slots[i] < 0:
                x.slots[i] = self.new_slot(<object> x.keys[i])
                self.date_slots(x)
                self.emptied.append(x.slots[i])
            feature = &self.features[x.slots[i]]
            if feature.dense != NULL:
                continue
            if (feature.count + 1) * SPARSE_BELOW >= self.capacity:
                self.make_dense(x.slots[i])
                continue
            posts += 1
            if feature.count == feature.allocated:
                size = max(4, 2 * feature.allocated)
                feature.owners = <int32_t *> aligned_resize(feature.owners, feature.count, size, 4)
                feature.amounts = <double *> aligned_resize(feature.amounts, feature.count, size, 8)
                feature.allocated = size
        self.reserve_posts(own, posts)
        if len(self.emptied) > before:
            del self.emptied[before:]
        return 0

    cdef int reserve_posts(self, Owned *own, Py_ssize_t size) except -1:
        """The room stays, so that replacing points does not allocate."""
        cdef Py_ssize_t allocated
        if size > own.allocated:
            allocated = max(4, 2 * own.allocated, size)
            own.slots = <int32_t *> aligned_resize(own.slots, own.size, allocated, 4)
            own.allocated = allocated
        return 0

    cdef int put_in(self, Owned *own, int32_t slot) except -1:
        """A posting list more that a support vector is in."""
        self.reserve_posts(own, own.size + 1)
        own.slots[own.size] = slot
        own.size += 1
        return 0

    cdef int make_dense(self, int32_t slot) except -1:
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t k
        feature.dense = <double *> aligned_resize(NULL, 0, self.capacity, 8)
        for k in range(feature.count):
            feature.dense[feature.owners[k]] = feature.amounts[k]
            take_out(&self.owned[feature.owners[k]], slot)
        okl_free(feature.owners)
        okl_free(feature.amounts)
        feature.owners = NULL
        feature.amounts = NULL
        feature.allocated = 0
        feature.rank = self.n_dense
        self.dense_slots[self.n_dense] = slot
        self.n_dense += 1
        self.sparse_square_stale = True
        return 0

    cdef int make_sparse(self, int32_t slot) except -1:
        """The dense row of a feature that few support vectors have any more becomes a posting list."""
        cdef Feature *feature = &self.features[slot]
        cdef Py_ssize_t i
        feature.allocated = max(4, feature.count)
        feature.owners = <int32_t *> aligned_resize(NULL, 0, feature.allocated, 4)
        feature.amounts = <double *> aligned_resize(NULL, 0, feature.allocated, 8)
        feature.count = 0
        for i in range(self.capacity):
            if feature.dense[i] != 0.0:
                self.put_in(&self.owned[i], slot)
                feature.owners[feature.count] = <int32_t> i
                feature.amounts[feature.count] = feature.dense[i]
                feature.count += 1
        self.leave_dense(slot)
        self.sparse_square_stale = True
        return 0

    cdef void leave_dense(self, int32_t slot) noexcept:
        cdef Feature *feature = &self.features[slot]
        self.n_dense -= 1
        self.dense_slots[feature.rank] = self.dense_slots[self.n_dense]
        self.features[self.dense_slots[feature.rank]].rank = feature.rank
        okl_free(feature.dense)
        feature.dense = NULL

    cdef int forget_emptied(self) except -1:
        """The last thing that ``remove`` does: where a name's __hash__ raises, its feature stays known until the next time."""
        if not self.emptied:
            return 0
        for slot in self.emptied:
            if self.features[<int32_t> slot].key != NULL and self.features[<int32_t> slot].count == 0:
                self.drop_feature(slot)
        self.emptied.clear()
        return 0

    cdef int drop_feature(self, int32_t slot) except -1:
        """No support vector has it any more; its posting buffer stays for the slot's next feature."""
        cdef Feature *feature = &self.features[slot]
        key = <object> feature.key
        del self.vocabulary[key]
        feature.key = NULL
        if feature.dense != NULL:
            self.leave_dense(slot)
        self.n_features -= 1
        self.version += 1
        self.free_slots.append(slot)
        return 0

    cdef int drop_point(self, Py_ssize_t p) except -1:
        """Z[:, p] = Z[:, n-1], and column n-1 goes."""
        cdef Py_ssize_t j, k, last = self.n - 1
        cdef Owned *own = &self.owned[p]
        cdef Owned spare
        cdef Feature *feature
        cdef int32_t slot
        for j in range(own.size):
            feature = &self.features[own.slots[j]]
            k = find(feature.owners, <int32_t> p)
            feature.count -= 1
            feature.owners[k] = feature.owners[feature.count]
            feature.amounts[k] = feature.amounts[feature.count]
            if feature.count == 0:
                self.emptied.append(own.slots[j])
        own.size = 0
        if p != last:
            for j in range(self.owned[last].size):
                feature = &self.features[self.owned[last].slots[j]]
                feature.owners[find(feature.owners, <int32_t> last)] = <int32_t> p
            spare = self.owned[p]
            self.owned[p] = self.owned[last]
            self.owned[last] = spare
        j = 0
        while j < self.n_dense:
            slot = self.dense_slots[j]
            feature = &self.features[slot]
            if feature.dense[p] != 0.0:
                feature.count -= 1
            feature.dense[p] = feature.dense[last]
            feature.dense[last] = 0.0
            if feature.count == 0:
                self.leave_dense(slot)
                self.emptied.append(slot)
            elif feature.count * (2 * SPARSE_BELOW) < self.capacity:
                self.make_sparse(slot)
            else:
                j += 1
        return 0

    # Pickling ---------------------------------------------------------------------------------------------------

    def __getstate__(self):
        """What f is, without scratch: features in order of slot, points as (feature, value) lists.

        Every order in which numbers are summed is part of it (slots, posting lists of a support vector), so that what
        is restored goes on bit for bit.
        """
        cdef Py_ssize_t i, j, k
        cdef Feature *feature
        names, slots, ranks, columns = [], [], [], []
        self.forget_emptied()
        for j in range(self.n_slots):
            feature = &self.features[j]
            if feature.key == NULL:
                continue
            names.append(<object> feature.key)
            slots.append(j)
            ranks.append(feature.rank if feature.dense != NULL else -1)
            if feature.dense != NULL:
                column = [(i, feature.dense[i]) for i in range(self.n) if feature.dense[i] != 0.0]
            else:
                column = sorted((feature.owners[k], feature.amounts[k]) for k in range(feature.count))
            columns.append(column)
        counts = np.array([len(column) for column in columns], dtype=np.int64)
        cells = [cell for column in columns for cell in column]
        return {
            "names": names,
            "slots": np.array(slots, dtype=np.int32).tobytes(),
            "free_slots": np.array(self.free_slots, dtype=np.int32).tobytes(),
            "owned": np.array([self.owned[i].slots[k] for i in range(self.n) for k in range(self.owned[i].size)], dtype=np.int32).tobytes(),
            "ranks": np.array(ranks, dtype=np.int64).tobytes(),
            "counts": counts.tobytes(),
            "owners": np.array([i for i, _ in cells], dtype=np.int32).tobytes(),
            "amounts": np.array([v for _, v in cells], dtype=np.float64).tobytes(),
            "coef": b"".join(copy_array(self.coef[o], self.n).tobytes() for o in range(self.n_columns)),
            "square": copy_array(self.square, self.n).tobytes(),
            "sparse_square": copy_array(self.sparse_square, self.n).tobytes(),
            "self": copy_array(self.self_, self.n).tobytes(),
            "birth": self.births.tobytes(),
            "born": self.born,
            "scale": self.scale_,
            "norms": copy_array(self.norms, self.n_columns).tobytes(),
            "peaks": copy_array(self.peaks, self.n_columns).tobytes(),
            "values": copy_array(self.values_, self.n).tobytes() if self.keeps_values else b"",
            "n_classes": self.n_classes,
            "moves": self.moves,
            "stale": bool(self.stale),
            "capacity": self.capacity,
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
        cdef Py_ssize_t i, j, k, o, n, at = 0
        cdef Feature *feature
        cdef Owned *own
        cdef int32_t slot
        kernel, state = states
        if self.n or self.capacity or self.n_slots:
            raise RuntimeError("state is set on a new Expansion only")
        checked = self.checked_state(state)
        cdef const double[::1] amounts = checked["amounts"]
        cdef const double[::1] coef = checked["coef"]
        cdef const int32_t[::1] owners = checked["owners"]
        cdef const int32_t[::1] owned = checked["owned"]
        cdef const int32_t[::1] slots = checked["slots"]
        cdef const int64_t[::1] counts = checked["counts"]
        cdef const int64_t[::1] ranks = checked["ranks"]
        cdef const int64_t[::1] birth = checked["birth"]
        n = birth.shape[0]
        self.kernel.__setstate__(kernel)
        if state["n_classes"]:
            self.reserve_columns(self.n_outputs * <Py_ssize_t> state["n_classes"])
            self.n_classes = state["n_classes"]
        while self.capacity < state["capacity"]:
            self.grow()
        self.n = n
        self.free_slots = checked["free_slots"].tolist()
        for j in range(slots.shape[0] + len(self.free_slots)):
            self.append_slot()
        for j, name in enumerate(state["names"]):
            self.occupy(slots[j], name)
        for j in range(counts.shape[0]):
            feature = &self.features[slots[j]]
            feature.count = counts[j]
            if ranks[j] >= 0:
                feature.dense = <double *> aligned_resize(NULL, 0, self.capacity, 8)
                feature.rank = ranks[j]
                self.dense_slots[feature.rank] = slots[j]
                self.n_dense += 1
            else:
                feature.allocated = max(4, feature.count)
                feature.owners = <int32_t *> aligned_resize(NULL, 0, feature.allocated, 4)
                feature.amounts = <double *> aligned_resize(NULL, 0, feature.allocated, 8)
            for k in range(feature.count):
                i = owners[at]
                if feature.dense != NULL:
                    feature.dense[i] = amounts[at]
                else:
                    feature.owners[k] = <int32_t> i
                    feature.amounts[k] = amounts[at]
                    self.owned[i].allocated += 1
                at += 1
        at = 0
        for i in range(n):
            own = &self.owned[i]
            if own.allocated:
                own.slots = <int32_t *> aligned_resize(NULL, 0, own.allocated, 4)
                own.size = own.allocated
                memcpy(own.slots, &owned[at], own.size * 4)
                at += own.size
        for o in range(self.n_columns):
            for i in range(n):
                self.coef[o][i] = coef[o * n + i]
        if n:
            fill(self.square, state["square"], n * 8)
            fill(self.sparse_square, state["sparse_square"], n * 8)
            fill(self.self_, state["self"], n * 8)
            memcpy(self.birth, &birth[0], n * 8)
        self.born = state["born"]
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

    def checked_state(self, state):
        """The arrays of a state, every number in range: a state may come from a damaged or malicious file.

        What would corrupt memory is looked for here, and what could never have come from ``__getstate__``; that the
        numbers belong together (the norms to the coefficients, the inverse to its matrix) is believed.
        """
        def array(name, dtype, size=None, low=None, high=None):
            data = state[name]
            if not isinstance(data, bytes) or len(data) % np.dtype(dtype).itemsize:
                raise ValueError(f"{name} is no array")
            a = np.frombuffer(data, dtype)
            if size is not None and a.size != size:
                raise ValueError(f"{name} has {a.size} numbers, not {size}")
            if a.size and not (np.isfinite(a).all() and (low is None or low <= a.min()) and (high is None or a.max() <= high)):
                raise ValueError(f"{name} has numbers out of range")
            return a

        def whole(name, low, high):
            if type(state[name]) is not int or not low <= state[name] <= high:
                raise ValueError(f"{name} is {state[name]!r}")
            return state[name]

        square = array("square", np.float64, low=0.0)
        names, n = state["names"], square.size
        capacity, born = whole("capacity", n, MAX_BUDGET + LANES), whole("born", n, 2**62)
        room = 0
        while room < capacity:
            room = max(LANES, 2 * room)
            if self.budget is not None and room > self.budget + self.spare:
                room = (self.budget + self.spare + LANES - 1) // LANES * LANES
                break
        if room != capacity or (self.budget is not None and n > self.budget + self.spare):
            raise ValueError(f"capacity is {capacity} for {n} support vectors and a budget of {self.budget}")
        if type(names) is not list or len(set(names)) != len(names):
            raise ValueError("a feature is there twice")
        slots = array("slots", np.int32, len(names), 0)
        free = array("free_slots", np.int32, low=0)
        if not np.array_equal(np.sort(np.concatenate([slots, free])), np.arange(slots.size + free.size)):
            raise ValueError("the slots of the features do not match")
        counts = array("counts", np.int64, len(names), 1, n)
        ranks = array("ranks", np.int64, len(names), -1)
        dense = ranks >= 0
        if not np.array_equal(np.sort(ranks[dense]), np.arange(dense.sum())):
            raise ValueError("the ranks of the dense features do not match")
        if not np.where(dense, counts * (2 * SPARSE_BELOW) >= capacity, counts * SPARSE_BELOW < capacity).all():
            raise ValueError("the counts of the features do not match")
        cells = int(counts.sum())
        owners = array("owners", np.int32, cells, 0, n - 1)
        amounts = array("amounts", np.float64, cells, -LARGEST, LARGEST)
        columns = np.repeat(np.arange(len(names)), counts)
        if not amounts.all() or not ((np.diff(owners) > 0) | (np.diff(columns) > 0)).all():
            raise ValueError("the values of the features do not match")
        sparse = ~dense[columns]
        lists = np.argsort(owners[sparse], kind="stable")
        posts = np.stack([owners[sparse][lists], slots[columns[sparse]][lists]])
        owned = array("owned", np.int32, posts.shape[1])
        if not np.array_equal(np.stack([posts[0], owned])[:, np.lexsort((owned, posts[0]))], posts[:, np.lexsort(posts[::-1])]):
            raise ValueError("the posting lists of the support vectors do not match")
        birth = array("birth", np.int64, n, 0, born - 1)
        if np.unique(birth).size != n:
            raise ValueError("two support vectors joined at once")
        if type(state["scale"]) is not float or not 1e-100 < abs(state["scale"]) < 1e100:
            raise ValueError(f"scale is {state['scale']!r}")
        whole("moves", 0, 2**62)
        if type(state["stale"]) is not bool:
            raise ValueError(f"stale is {state['stale']!r}")
        if whole("n_classes", 0, 2**20) == 1 or (state["n_classes"] and self.keeps_values):
            raise ValueError(f"n_classes is {state['n_classes']}")
        n_columns = self.n_outputs * max(1, state["n_classes"])
        coef = array("coef", np.float64, n * n_columns)
        array("sparse_square", np.float64, n)
        array("self", np.float64, n, -LARGEST_SELF, LARGEST_SELF)
        array("norms", np.float64, n_columns)
        array("peaks", np.float64, n_columns)
        array("values", np.float64, n if self.keeps_values else 0)
        if (state["gram"] is None) != (self.gram_ is None):
            raise ValueError("an inverse Gram that does not match")
        if self.gram_ is not None:
            gram, inverse, steps, fragile = state["gram"]
            state = {"gram": gram, "inverse": inverse, "steps": steps}
            array("gram", np.float64, n * (n + 1) // 2)
            array("inverse", np.float64, n * (n + 1) // 2)
            whole("steps", 0, 2**62)
            if type(fragile) is not bool:
                raise ValueError(f"fragile is {fragile!r}")
        return {
            "slots": slots, "free_slots": free, "counts": counts, "ranks": ranks, "owners": owners, "amounts": amounts,
            "owned": owned, "birth": birth, "coef": coef,
        }  # fmt: skip

    def __reduce__(self):
        options = (
            self.kernel.terms, self.budget, bool(self.spare), self.n_outputs, bool(self.keeps_norm), bool(self.keeps_values), self.gram_ is not None
        )  # fmt: skip
        return _new, options, (self.kernel.__getstate__(), self.__getstate__())

    # The invariants at the head of this file, by brute force ------------------------------------------------------

    def _check(self):
        cdef Py_ssize_t i, j, k, o, n = self.n
        cdef Feature *feature
        self.forget_emptied()
        assert n <= self.capacity and (self.budget is None or n <= self.budget + self.spare)
        points = [self.point(i) for i in range(n)]
        used = set().union(*points)
        assert used == set(self.vocabulary), "the vocabulary is what the support vectors have"
        assert len(self.vocabulary) == self.n_features == self.n_slots - len(self.free_slots)
        assert len(set(self.births.tolist())) == n and all(0 <= b < self.born for b in self.births)
        owning = [set() for _ in range(n)]
        for name, slot in self.vocabulary.items():
            feature = &self.features[<Py_ssize_t> slot]
            assert <object> feature.key is name or <object> feature.key == name
            assert feature.count == sum(name in point for point in points)
            if feature.dense != NULL:
                assert self.dense_slots[feature.rank] == slot
                assert all(feature.dense[i] == 0.0 for i in range(n, self.capacity))
                assert feature.count * (2 * SPARSE_BELOW) >= self.capacity
            else:
                for k in range(feature.count):
                    owning[feature.owners[k]].add(slot)
        for i in range(self.capacity):
            own = {self.owned[i].slots[j] for j in range(self.owned[i].size)}
            assert len(own) == self.owned[i].size
            assert own == (owning[i] if i < n else set())
            for o in range(self.n_columns):
                assert i < n or self.coef[o][i] == 0.0
            assert i < n or self.square[i] == 0.0

        factors = iter(self.kernel.gammas)
        gammas = [[next(factors) for _ in fs] for _, fs in self.kernel.terms]

        def kappa(x, z):
            dot = math.fsum(v * z.get(key, 0.0) for key, v in x.items())
            distance = math.fsum((x.get(key, 0.0) - z.get(key, 0.0)) ** 2 for key in x.keys() | z.keys())
            total = 0.0
            for (weight, fs), gs in zip(self.kernel.terms, gammas):
                product = weight
                for (kind, degree, _, coef0, _), gamma in zip(fs, gs):
                    if kind == DOT_POWER:
                        product *= (gamma * dot + coef0) ** degree
                    else:
                        product *= math.exp(-gamma * (distance if kind == EXP_SQUARED_DISTANCE else math.sqrt(distance)))
                total += product
            return total

        squares = [math.fsum(v * v for v in point.values()) for point in points]
        np.testing.assert_allclose([self.square[i] for i in range(n)], squares, rtol=1e-12)
        gram = np.array([[kappa(x, z) for z in points] for x in points]).reshape(n, n)
        # ‖x-z‖² comes from ‖x‖² + ‖z‖² - 2 x·z: it is wrong by up to a few ulp of the squares, its root by the root of that
        # (only where posting lists are involved)
        slack = 1e-14 * max(squares, default=0.0) * max((1.0,) + self.kernel.gammas)
        if any(kind == EXP_DISTANCE for _, fs in self.kernel.terms for kind, *_ in fs):
            slack = math.sqrt(slack)
        close = dict(rtol=1e-9, atol=10 * slack + 1e-12)
        np.testing.assert_allclose(self.gram(), gram, **close)
        np.testing.assert_allclose(self.self_similarities, np.diag(gram), **close)
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
            np.testing.assert_allclose(stored.reshape(n, n), gram, **close)
            assert np.isfinite(self.inverse).all()
            if self.has_sample and self.row_fresh and n:
                # in the direction of an eigenvalue λ a jitter ε leaves ε / (λ + ε) of k, itself at most √(λ k_tt)
                residual = np.abs(self.row - gram @ self.projection).max()
                assert residual <= 0.5 * math.sqrt(1e-8) * gram.max(), "d = K⁻¹k solves K d = k"


def _new(terms, budget, spare, n_outputs, norm, values, inverse):
    return Expansion(terms, budget=budget, spare=spare, n_outputs=n_outputs, norm=norm, values=values, inverse=inverse)


def _magnitude(item):
    return abs(float(item[1]))


cdef int fill(void *target, bytes data, Py_ssize_t size) except -1:
    """Bytes of exactly this size into a buffer."""
    if len(data) != size:
        raise ValueError(f"{len(data)} bytes where {size} belong")
    memcpy(target, <const char *> data, size)
    return 0


cdef inline Py_ssize_t find(const int32_t *items, int32_t item) noexcept nogil:
    """Where an item stands that is there."""
    cdef Py_ssize_t k = 0
    while items[k] != item:
        k += 1
    return k


cdef void take_out(Owned *own, int32_t slot) noexcept nogil:
    own.size -= 1
    own.slots[find(own.slots, slot)] = own.slots[own.size]


cdef bytes packed_triangle(const double *a, Py_ssize_t ld, Py_ssize_t n):
    """The upper triangle of a column-major matrix, column after column."""
    cdef Py_ssize_t j
    return b"".join([copy_array(a + j * ld, j + 1).tobytes() for j in range(n)])


cdef void scatter(Feature *feature, double v, double *dots) noexcept nogil:
    """Count v · Z[feature, :] of a posting list in the dot products."""
    cdef Py_ssize_t k
    for k in range(feature.count):
        dots[feature.owners[k]] += v * feature.amounts[k]


cdef void take_row(Sample *x, Frame frame, Py_ssize_t i) noexcept nogil:
    """Row i in place of the numbers of an encoded frame."""
    cdef Py_ssize_t j
    x.numbers = <double *> &frame.matrix[i, 0] if x.size else NULL
    x.square = 0.0
    for j in range(x.size):
        x.square += x.numbers[j] * x.numbers[j]


cdef copy_array(const double *a, Py_ssize_t n):
    out = np.empty(n)
    cdef double[::1] view
    if n:
        view = out
        memcpy(&view[0], a, n * 8)
    return out
