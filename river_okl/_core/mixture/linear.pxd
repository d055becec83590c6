from river_okl._core.mixture.expert cimport Expert
from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

cdef enum:
    LINEARS = 3
    BLOCKS = LINEARS + 1        # of coefficients


cdef class LinearModels(Expert):
    cdef readonly Scaler scaler
    cdef double rates[LINEARS]
    cdef readonly Py_ssize_t columns    # of coefficients: 1, or the classes if there are more than two
    cdef Py_ssize_t places              # of features, that there is room for
    cdef Py_ssize_t room                # columns that there is room for; those that there are not are 0
    cdef double *coef                   # [places, BLOCKS, room]
    cdef double *bias                   # [LINEARS, room]
    # scratch: the last sample
    cdef double *score                  # [BLOCKS, room]; once it is learned, the steps of the biases
    cdef double *squares                # [allocated]
    cdef Py_ssize_t allocated

    cdef int reserve_columns(self, Py_ssize_t columns) except -1
    cdef int square(self, const Sample *x) except -1
