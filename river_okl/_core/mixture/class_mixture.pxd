from river_okl._core.mixture.bayes cimport Bayes
from river_okl._core.mixture.expert cimport Outcome
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
    cdef double trust                       # a: 1 unless labels are late
    cdef double curvature                   # running, of the log loss along a
    # scratch: the last sample
    cdef double *mixed                      # [n_classes] Σ w_e p_e, after the predictions of the experts
    cdef double *frequency                  # [n_classes] of the classes so far, after these
    cdef double *off                        # [n_classes] log mixed - log frequency
    cdef double *trusted                    # [n_classes] of less than full trust
    cdef double *answer                     # [n_classes] that of the mixture: mixed or trusted

    cdef void mix(self) noexcept
    cdef void pool_with_frequencies(self, const double *mixed, const double *frequency) noexcept
    cdef void learn_trust(self, const Outcome *y) noexcept
