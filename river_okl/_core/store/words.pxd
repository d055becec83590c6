from libc.stdint cimport int64_t, uint64_t

from river_okl._core.store.buffers cimport Owner


cdef class Words(Owner):
    cdef dict keys              # name -> {string, or None for a gap: key}: the words that are features
    cdef list fresh             # keys made by the last encoded sample
    cdef int64_t *once          # [SETS · WAYS] hashes of words seen once, the newest of each set first; 0: none
    cdef int64_t *unknown       # [allocated] hashes of the last sample's words that are not features
    cdef Py_ssize_t n_unknown, allocated
    cdef uint64_t rest          # the sum of these hashes

    cdef void begin(self) noexcept
    cdef object find(self, object name, object word)
    cdef int learn(self) except -1
    cdef void count(self, int64_t found) noexcept
    cdef int register(self, list keys) except -1
    cdef int register_all(self, dict index) except -1


cdef uint64_t hash_of_name(object name) except? 0
cdef uint64_t hash_of_word(object name, object word) except? 0
