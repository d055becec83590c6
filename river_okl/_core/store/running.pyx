"""Running mean and variance along a stream.  Old values are forgotten slowly, or at once if the unit changes.

Averages are exponential after ``MEMORY`` values.  If ``BLOCK`` values together vary by less than ``UNIT`` of the
standard deviation, but do vary, the unit has changed to a larger one: the statistics restart from these values.  They
also restart if the ``FIRST`` values after the initial ``KNOWN`` vary by less than ``FIRST_UNIT`` of the standard
deviation: outliers among the initial values go undetected.  A value more than ``OUTLYING`` standard deviations from the
mean is an outlier and counts as one at that distance, so that a sensor's 9999 does no harm.  The third of three
outliers that agree (each is closer to the one before than ``NEAR`` of its distance from the mean), or the ``RUN``-th in
a row, shows that the level has changed: from then on outliers count with their own values.
"""

from libc.math cimport fmax, fmin, isfinite

from river_okl._core.store.sample cimport LARGEST, LARGEST_COUNT

cdef int64_t BLOCK = 500
cdef double ROUNDED = 1.0 + 1e-9     # running means of values at a bound may be rounded beyond it
cdef double UNIT = 1e-2
cdef int64_t FIRST = 25
cdef double FIRST_UNIT = 0.1

NUMBERS = ("known", "mean", "variance", "block", "block_mean", "block_square", "run", "outlier")


cdef double z_score(const Running *numbers, double value) noexcept nogil:
    """Return the distance of a counted value from the mean, in standard deviations."""
    cdef double found = (
        (value - numbers.mean) / sqrt(numbers.variance) if numbers.variance > 0.0 else value - numbers.mean
    )
    cdef double bound = LARGEST if numbers.run >= RUN else OUTLYING  # unbounded for a standard deviation of 1e-150
    return fmin(fmax(found, -bound), bound)


cdef double clipped(const Running *numbers, double value) noexcept nogil:
    """Return a counted value, or the closest value that is no outlier."""
    return value if numbers.run >= RUN else numbers.mean + held(
        value - numbers.mean, numbers.count, numbers.variance
    )


cdef bint update(Running *numbers, double value) noexcept nogil:
    """Count a value; return whether the statistics have restarted."""
    cdef bint again = False
    cdef double gain, share, delta
    cdef int64_t run = run_with(numbers, value)
    delta = counted(numbers, value)
    numbers.run = run
    numbers.outlier = value if run else 0.0
    numbers.count += 1
    gain = 1.0 / <double> min(numbers.count, MEMORY)
    numbers.mean += delta * gain
    numbers.variance = (1.0 - gain) * (numbers.variance + delta * delta * gain)
    if numbers.count <= KNOWN:
        return False
    delta = held(value - numbers.block_mean, numbers.block, numbers.block_square / fmax(1.0, <double> numbers.block))
    numbers.block += 1
    share = 1.0 / <double> numbers.block
    numbers.block_mean += delta * share
    numbers.block_square += delta * delta * (1.0 - share)
    if numbers.block == BLOCK:
        again = 0.0 < numbers.block_square < UNIT * UNIT * BLOCK * numbers.variance
    elif numbers.block == FIRST and numbers.count == KNOWN + FIRST:
        again = 0.0 < numbers.block_square < FIRST_UNIT * FIRST_UNIT * FIRST * numbers.variance
    if again:
        numbers.count, numbers.mean, numbers.variance = (
            numbers.block, numbers.block_mean, numbers.block_square / <double> numbers.block
        )
    if again or numbers.block == BLOCK:
        numbers.block, numbers.block_mean, numbers.block_square = 0, 0.0, 0.0
    return again


cdef void scale_by(Running *numbers, double ratio) noexcept nogil:
    """Convert the statistics to a new unit, in which values are ratio · value."""
    numbers.mean = bounded(ratio * numbers.mean)
    numbers.block_mean = bounded(ratio * numbers.block_mean)
    numbers.outlier = bounded(ratio * numbers.outlier)
    numbers.variance = bounded(ratio * ratio * numbers.variance)
    numbers.block_square = bounded(ratio * ratio * numbers.block_square)


cdef inline double bounded(double value) noexcept nogil:
    return fmin(fmax(value, -LARGEST), LARGEST)


cdef tuple running_state(const Running *numbers):
    """Return the statistics in the order of ``NUMBERS``, for ``running_from``."""
    return (
        <double> numbers.count, numbers.mean, numbers.variance, <double> numbers.block, numbers.block_mean,
        numbers.block_square, <double> numbers.run, numbers.outlier
    )


cdef Running running_from(state, str what) except *:
    """Restore from a state, after checking every number; ``what`` names them in errors."""
    cdef Running made
    if len(state) != len(NUMBERS) or not all([type(number) is float and isfinite(number) for number in state]):
        raise ValueError(f"{what} out of range")
    known, mean, variance, block, block_mean, block_square, run, outlier = state
    if not (
        0.0 <= known <= LARGEST_COUNT
        and 0.0 <= block < BLOCK
        and 0.0 <= run <= LARGEST_COUNT
        and abs(mean) <= LARGEST * ROUNDED
        and abs(block_mean) <= LARGEST * ROUNDED
        and abs(outlier) <= LARGEST
        and 0.0 <= variance <= LARGEST * LARGEST * ROUNDED
        and 0.0 <= block_square <= BLOCK * LARGEST * LARGEST * ROUNDED
    ):
        raise ValueError(f"{what} out of range")
    made.count, made.mean, made.variance = <int64_t> known, mean, variance
    made.block, made.block_mean, made.block_square = <int64_t> block, block_mean, block_square
    made.run, made.outlier = <int64_t> run, outlier
    return made
