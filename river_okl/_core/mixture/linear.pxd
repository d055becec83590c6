from river_okl._core.mixture.expert cimport Expert
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler

cdef enum:
    LINEARS = 2
    BLOCKS = LINEARS + 1        # of coefficients


cdef class LinearModels(Expert):
    cdef readonly Scaler scaler
    # for two classes the scores are of the second; cells of columns beyond them are 0
    cdef double *coef                   # [feature, BLOCKS, column]
    cdef double *bias                   # [LINEARS, column]
    # scratch: the last sample
    cdef double *score                  # [BLOCKS, column]; once it is learned, the steps of the biases
    cdef double *squares                # [allocated]
    cdef Py_ssize_t allocated

    cdef int square(self, const Sample *x) except -1
