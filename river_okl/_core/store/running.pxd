from libc.math cimport copysign, fabs, sqrt
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #define OKL_OUTLYING 5.0
    #define OKL_NEAR 0.25
    """
    const double OUTLYING "OKL_OUTLYING"    # standard deviations
    const double NEAR "OKL_NEAR"

cdef enum:
    MEMORY = 10000  # values that averages are over
    KNOWN = 8       # before this many values none is an outlier
    RUN = 10
    AGREEING = 5    # outliers that one counts for if it agrees with the one before


cdef struct Running:
    int64_t count
    double mean, variance
    int64_t block               # values since the last check of the unit, and their statistics:
    double block_mean, block_square
    int64_t run                 # number of outliers in a row; one that agrees with the outlier before counts AGREEING
    double outlier              # the last outlier


cdef inline double held(double delta, int64_t count, double variance) noexcept nogil:
    """Return a deviation from the mean, clipped if the value is an outlier."""
    if count < KNOWN or variance == 0.0 or delta * delta <= OUTLYING * OUTLYING * variance:
        return delta
    return copysign(OUTLYING * sqrt(variance), delta)


cdef inline int64_t run_with(const Running *numbers, double value) noexcept nogil:
    """Return ``run`` as it is after this value."""
    cdef double delta = value - numbers.mean
    if held(delta, numbers.count, numbers.variance) == delta:
        return 0
    if numbers.run > 0 and fabs(value - numbers.outlier) <= NEAR * fabs(delta):
        return numbers.run + AGREEING
    return numbers.run + 1


cdef inline double counted(const Running *numbers, double value) noexcept nogil:
    """Return the deviation from the mean with which a value enters the statistics."""
    cdef double delta = value - numbers.mean
    return delta if run_with(numbers, value) >= RUN else held(delta, numbers.count, numbers.variance)


cdef double z_score(const Running *numbers, double value) noexcept nogil
cdef double clipped(const Running *numbers, double value) noexcept nogil
cdef bint update(Running *numbers, double value) noexcept nogil
cdef void scale_by(Running *numbers, double ratio) noexcept nogil
cdef tuple running_state(const Running *numbers)
cdef Running running_from(state, str what) except *
