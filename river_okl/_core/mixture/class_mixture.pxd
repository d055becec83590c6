from river_okl._core.mixture.bayes cimport Bayes
from river_okl._core.mixture.linear cimport LinearModels
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.pool cimport Pool
from river_okl._core.mixture.stack cimport Stack


cdef class ClassMixture(Mixture):
    cdef readonly Pool pool
    cdef readonly LinearModels linear
    cdef readonly Bayes bayes
    cdef readonly Stack stack
    cdef readonly tuple forests
    cdef readonly Py_ssize_t each           # points that each class from the third on brings
    # scratch: the last sample
    cdef double *mixed                      # [n_classes] its probabilities, after those of the experts

    cdef void mix(self) noexcept
