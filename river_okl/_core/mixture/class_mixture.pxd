from river_okl._core.mixture.bayes cimport Bayes
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.mixture.linear cimport LinearModels
from river_okl._core.mixture.logistic cimport Logistic
from river_okl._core.mixture.mixture cimport Mixture
from river_okl._core.mixture.pool cimport Pool
from river_okl._core.mixture.stack cimport Stack

cdef enum:
    SHARES = 3


cdef class ClassMixture(Mixture):
    cdef readonly Pool pool
    cdef readonly LinearModels linear
    cdef readonly Logistic logistic
    cdef readonly Bayes bayes
    cdef readonly Stack stack
    cdef readonly tuple forests
    cdef readonly Py_ssize_t each           # points that each class from the third on brings
    cdef double *shares                     # [SHARES] in the answer: of Σ v_e p_e, Σ w_e p_e, and the frequencies
    # scratch: the last sample.  The three, [n_classes] each, follow the predictions of the experts
    cdef double *of_then                    # Σ v_e p_e
    cdef double *mixed                      # Σ w_e p_e
    cdef double *frequency                  # of the classes so far
    cdef double *shared                     # [n_classes] their mixture
    cdef double *answer                     # [n_classes] that of the mixture: mixed or shared

    cdef int widen(self) except -1
    cdef void mix(self) noexcept
    cdef void average(self, const double *weights, double *out) noexcept
    cdef void learn_shares(self, const Outcome *y) noexcept
    cdef void forget_then(self) noexcept
