from libc.stdint cimport int64_t

from river_okl._core.inputs cimport INPUTS
from river_okl._core.linalg cimport Triangle
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Table


cdef class Residuals(Table):
    cdef readonly Scaler scaler
    cdef readonly int64_t n         # number of samples
    cdef readonly Py_ssize_t next   # the input to be shrunk next
    cdef Triangle inverse           # T; the row of an input never learned is 0
    # scratch: the last sample
    cdef double *inputs             # [INPUTS] v
    cdef double *h                  # [INPUTS] T v
    cdef double *column             # [INPUTS]
    cdef double trust

    cdef double ask(self, const Sample *x) noexcept
    cdef void learn(self, const Sample *x) noexcept
    cdef void begin(self, Py_ssize_t i) noexcept
