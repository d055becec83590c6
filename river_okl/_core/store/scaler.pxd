cimport cython
from libc.stdint cimport int64_t

from river_okl._core.store.features cimport Features
from river_okl._core.store.points cimport Points
from river_okl._core.store.running cimport Running
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Conversion


cdef struct Feature:
    int64_t first, last         # index of the first and last sample with it
    int64_t count               # samples with it
    int64_t skipped             # samples without it that do not count
    Running values              # statistics of the values seen
    double centre, size         # the unit in force, if it is ``settled``
    bint settled
    bint centred                # nearly every sample since the first has had it
    bint word                   # an indicator: neither centred nor scaled


cdef double restored(double centre, double size, double z) noexcept nogil


@cython.final
cdef class Scaler(Features):
    cdef readonly bint active
    cdef Feature *features      # [capacity]
    cdef Py_ssize_t outlying    # features of the last sample learned whose values are outliers
    cdef bint renewed           # whether the last ``settle`` put a unit that had changed suddenly into force
    cdef readonly int64_t settled_at    # samples learned when units last came into force
    cdef readonly int64_t seen  # samples learned
    cdef Py_ssize_t fewest      # features that count as those of points, however few these have
    cdef readonly Py_ssize_t n_centred
    cdef int64_t *marks         # [capacity] the last ``absent`` call that met the feature
    cdef int64_t stamp

    cdef bint change(self, Py_ssize_t place, double centre, double size, Conversion *to) noexcept
    cdef double unit(self, const Feature *feature, double *centre) noexcept nogil
    cdef bint drifts(self, const Feature *feature, double centre, double size) noexcept nogil
    cdef bint settle(self, int64_t until, Conversion *to) except -1
    cdef bint is_centred(self, const Feature *feature, bint present) noexcept nogil
    cdef double unclipped(self, Py_ssize_t place, double value) noexcept nogil
    cdef double clipped(self, double z) noexcept nogil
    cdef double scaled_absence(self, Py_ssize_t place) noexcept nogil
    cdef Py_ssize_t absent(self, const Sample *x) noexcept nogil
    cdef int add_features(self, Sample *x, Py_ssize_t size) except -1
    cdef int learn(self, Sample *x, Py_ssize_t size, bint lacking) except -1
    cdef double original(self, Py_ssize_t place, double z) noexcept nogil
    cdef list forget_unseen(self, Points points)

    cdef inline bint lacks(self, Py_ssize_t place) noexcept nogil:
        """Whether the feature of this place is centred, and absent from the sample of the last ``absent``."""
        return self.features[place].centred and self.marks[place] != self.stamp
