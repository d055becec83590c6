from libc.stdint cimport int64_t

from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.ridge cimport Ridge

cdef enum:
    COVERAGES = 5
    CAUSES = 6                          # inputs of the scale: a constant, and predictors of the size of errors


cdef struct Issued:
    # A prediction and its intervals.
    double mean
    double size                         # of errors
    double[CAUSES] causes
    double[COVERAGES] half              # widths


cdef class Intervals(Expert):
    cdef Ridge scale
    cdef double size, recent            # running absolute errors, over about 100 predictions and about 5
    cdef double change, mean_change     # the size of the last change of the target, and its running mean
    cdef double *log_factor             # [COVERAGES] logarithm of a half width in units of the scale
    cdef int64_t seen, run              # targets since the last restart; number of outlying errors in a row

    cdef void issue(self, double deviation, double noise, bint new, Issued *issued) noexcept
    cdef void score(self, const Outcome *y, const Issued *issued, double change) noexcept
    cdef double predict_scale(self, double size, const double *inputs) noexcept
    cdef void restart(self, double size) noexcept
