from libc.math cimport copysign, fabs, sqrt
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t

cdef extern from *:
    """
    #define OKL_OUTLYING 5.0
    #define OKL_WIDE 3.0
    """
    const double OUTLYING "OKL_OUTLYING"    # standard deviations
    const double WIDE "OKL_WIDE"

cdef enum:
    MEMORY = 10000  # values that averages are over
    KNOWN = 8       # before this many values none is an outlier
    RUN = 12        # outliers in a row


cdef struct Running:
    double mean, variance
    double last, steps          # the last value, as counted; mean squared difference of consecutive values
    double block_mean, block_square, block_steps  # statistics of the values since the last check of the unit
    double run_mean, run_square  # statistics of the outliers in a row
    double other, other_variance  # mean and variance before the last change
    double before               # the mean of the block before; 0 if there is none
    double trend                # rise per value, over blocks that rise
    int32_t count               # values, up to LARGEST_COUNTED
    int32_t other_count         # the count before the last change; 0: that time is forgotten
    int32_t away                # values since the change, up to LARGEST_COUNTED
    int16_t block               # values since the last check of the unit
    int16_t run                 # outliers in a row, fewer than RUN
    int8_t sudden               # whether the first of them was far from the value before
    int8_t patience             # blocks before the unit may become smaller again
    int8_t rising               # blocks, one after the other, each higher than the one before; negative: lower
    int8_t follows              # whether this is a drift, so that the mean moves with the trend


cdef enum Event:
    NONE
    DRIFT                       # another level, or a larger unit, which came gradually
    JUMP                        # the same, at once
    RESTART                     # a smaller unit


cdef inline double within_bound(double delta, int32_t count, double variance) noexcept nogil:
    """Return a deviation from the mean, clipped if the value is an outlier."""
    if count < KNOWN or variance == 0.0 or delta * delta <= OUTLYING * OUTLYING * variance:
        return delta
    return copysign(OUTLYING * sqrt(variance), delta)


cdef inline int32_t run_with(const Running *numbers, double value) noexcept nogil:
    """Return ``run`` as it is after this value: outliers, and values nearly as far on the side of their mean."""
    cdef double delta = value - numbers.mean
    if within_bound(delta, numbers.count, numbers.variance) != delta:
        return numbers.run + 1
    if (numbers.run_mean - numbers.mean) * delta > 0.0 and delta * delta > WIDE * WIDE * numbers.variance:
        return numbers.run + (numbers.run > 0)
    return 0


cdef inline bint waits(int32_t run) noexcept nogil:
    """Whether a value is not counted: it continues a run that may be a change."""
    return run > 1


cdef inline double counted(const Running *numbers, double value, int32_t run) noexcept nogil:
    """Return the deviation from the mean with which a value enters the statistics, given ``run_with`` of it."""
    cdef double delta = value - numbers.mean
    return delta if run == 0 else 0.0 if waits(run) else within_bound(delta, numbers.count, numbers.variance)


cdef inline bint is_steady(const Running *numbers, int64_t samples) noexcept nogil:
    """Whether there have been enough values since the last change to rely on the unit for so many samples."""
    return 4 * min(numbers.count, numbers.away) >= samples


cdef double clipped(const Running *numbers, double value) noexcept nogil
cdef Event update(Running *numbers, double value) noexcept nogil
cdef object running_state(const Running *numbers)
cdef Running running_from(state, str what) except *
