cimport cython
from cpython.object cimport PyObject
from libc.stdint cimport int32_t, int64_t

from river_okl._core.store.memory cimport Owner
from river_okl._core.store.running cimport Running
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis


cdef struct Feature:
    PyObject *key               # owned; NULL: the place is free
    int64_t first, last         # index of the first and last sample with it
    int64_t count               # samples with it
    Running values              # statistics of the values seen
    double centre, size         # the unit in force, if it is ``settled``
    bint settled
    bint centred                # nearly every sample since the first has had it
    bint word                   # an indicator: neither centred nor scaled


cdef struct Conversion:
    # Of scaled values to new units, for the feature at each place: z ← ratio z + shift.
    Py_ssize_t n
    double *ratio
    double *shift


@cython.final
cdef class Scaler(Owner):
    cdef readonly bint active
    cdef dict index             # feature name -> place
    cdef Feature *features
    cdef readonly Py_ssize_t size
    cdef Py_ssize_t allocated
    cdef list free_places
    cdef Py_ssize_t outlying    # features of the last sample learned whose values are outliers
    cdef bint renewed           # whether the last ``settle`` put a unit that had changed suddenly into force
    cdef readonly int64_t settled_at    # samples learned when units last came into force
    cdef readonly int64_t seen  # samples learned
    cdef readonly Py_ssize_t n_centred
    # scratch: names and places of the last samples' items, as a guess for the next sample
    cdef PyObject **keys
    cdef int32_t *places
    cdef Py_ssize_t items_allocated
    cdef int64_t *marks         # [allocated] the last ``absent`` call that met the feature
    cdef int64_t stamp

    cdef double *ratio          # [size] ratios, then the shifts, until ``end_conversion``

    cdef Axis axis(self)
    cdef bint adopt(self, dict units) except -1
    cdef int begin_conversion(self) except -1
    cdef bint change(self, Py_ssize_t place, double centre, double size) noexcept
    cdef Conversion conversion(self) noexcept
    cdef void end_conversion(self) noexcept
    cdef double unit(self, const Feature *feature, double *centre) noexcept nogil
    cdef bint drifts(self, const Feature *feature, double centre, double size) noexcept nogil
    cdef bint settle(self, int64_t until) except -1
    cdef int reserve(self, Py_ssize_t size) except -1
    cdef int find(self, const Sample *x) except -1
    cdef void complete(self, Py_ssize_t i, Py_ssize_t place) noexcept
    cdef bint is_centred(self, const Feature *feature, bint present) noexcept nogil
    cdef double scaled(self, Py_ssize_t place, double value) noexcept nogil
    cdef double scaled_absence(self, Py_ssize_t place) noexcept nogil
    cdef Py_ssize_t absent(self, const Sample *x) noexcept nogil
    cdef int add_features(self, const Sample *x, Py_ssize_t size) except -1
    cdef int learn(self, const Sample *x, Py_ssize_t size, bint lacking) except -1
    cdef int32_t place_of(self, object key) except -1
    cdef list forget(self, dict held)

    cdef inline bint lacks(self, Py_ssize_t place) noexcept nogil:
        """Whether the feature of this place is centred, and absent from the sample of the last ``absent``."""
        cdef Feature *feature = &self.features[place]
        return feature.key != NULL and feature.centred and self.marks[place] != self.stamp
