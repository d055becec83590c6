from libc.stdint cimport int32_t, int64_t, uint64_t

from river_okl._core.store.ring cimport Ring


cdef struct Asked:
    # The head of a record: the predictions, ``length`` floats, follow its last member.
    uint64_t identity           # of the sample's content, or its key
    int64_t seen                # number of samples learned when it was predicted
    double mean, deviation      # the unit of the predictions
    bint taken                  # whether its label has come


cdef class Keyed:
    cdef object sample
    cdef object key


cdef class Pending(Ring):
    cdef readonly Py_ssize_t max_samples  # maximum number of samples
    cdef readonly Py_ssize_t length     # numbers per sample
    cdef readonly Py_ssize_t waiting    # number of samples whose label has not come
    cdef bint late                      # whether the last unambiguous label came late
    # A hash table of the places of records, with linear probing; entries of dropped records stay until it fills
    cdef int32_t *table             # [slots] -1: empty
    cdef Py_ssize_t slots, filled

    cdef inline Asked *asked(self, Py_ssize_t i) noexcept nogil:
        return <Asked *> self.at(i)

    cdef inline float *predictions(self, Py_ssize_t i) noexcept nogil:
        return <float *> (&self.asked(i).taken + 1)

    cdef int add(self, uint64_t identity, int64_t seen, const double *numbers, double mean, double deviation) except -1
    cdef void fill_table(self) noexcept
    cdef Py_ssize_t home(self, uint64_t identity, int64_t seen) noexcept
    cdef void enter(self, Py_ssize_t i) noexcept
    cdef Py_ssize_t find_asked(self, uint64_t identity, int64_t seen) noexcept
    cdef Py_ssize_t find(self, uint64_t identity, int64_t before) noexcept
    cdef Py_ssize_t find_taken(self, uint64_t identity) noexcept
    cdef void read(self, Py_ssize_t i, double *out) noexcept
    cdef void take(self, Py_ssize_t i) noexcept
    cdef void drop_last(self) noexcept
    cdef void expire(self, int64_t seen) noexcept
    cdef void begin(self, Py_ssize_t length) noexcept
    cdef Pending widened(self, Py_ssize_t rows, Py_ssize_t columns)
    cdef object record(self)
