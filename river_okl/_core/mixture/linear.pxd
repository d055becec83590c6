from river_okl._core.sample cimport Sample
from river_okl._core.scaler cimport Scaler

cdef enum:
    LINEARS = 3
    BLOCKS = LINEARS + 1        # of coefficients


cdef class LinearModels:
    cdef readonly Scaler scaler
    cdef double rates[LINEARS]
    cdef readonly Py_ssize_t columns    # of coefficients: 1, or the classes where there are more than two
    cdef Py_ssize_t places              # of features, that there is room for
    cdef Py_ssize_t reserved            # blocks that there is room for
    cdef double **coef                  # [BLOCKS · columns][places]
    cdef double *bias                   # [LINEARS · columns]
    # scratch: the last sample
    cdef double *squares                # [allocated]
    cdef Py_ssize_t allocated

    cdef int reserve_columns(self, Py_ssize_t columns) except -1
    cdef int reserve_places(self) except -1
    cdef void add_class(self) noexcept
    cdef int square(self, const Sample *x, const double *values) except -1
    cdef int ask(self, const Sample *x, const double *values, double *p) except -1
    cdef void learn(self, const Sample *x, const double *values, Py_ssize_t c, double counts, const double *p) noexcept
    cdef void forget(self, list places) noexcept
