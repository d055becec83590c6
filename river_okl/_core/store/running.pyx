"""Running mean and variance along a stream.  Old values are forgotten slowly, or at once if level or unit change.

Averages are exponential after ``MEMORY`` values.  A value more than ``OUTLYING`` standard deviations from the
mean is an outlier and counts as one at that distance, so that a sensor's 9999 does no harm.

Larger values: ``RUN`` outliers in a row are a change; values more than ``WIDE`` standard deviations from the mean, on
the side of the outliers, do not end a run.  If the outliers vary like the values before, it is a new level, and else a
larger unit.  They count only then: a shorter burst leaves no trace but that of its first value.

Smaller values: the unit has changed if ``EARLIER`` or ``BLOCK`` values, and their consecutive differences,
have both shrunk to less than ``SMALLER`` of what they were, by about the same factor.  A slow feature varies
less in a block, but its differences stay as they are.  ``FIRST`` values are enough after the initial
``KNOWN``, where outliers are not detected, and after a change.  ``BLOCK`` values that vary by less than
``UNIT`` of the standard deviation are always a change.

A drift: the means of ``DRIFTING`` blocks rise one after the other, all of the ``MEMORY``, and the variance is mostly
that of the rise.  Then the statistics are those of the latest block, and the mean follows the line.  Levels that
alternate and seasons of fewer than 2 ``MEMORY`` values do not do that.  In time, and in a smooth series, consecutive
values are alike: there the level is worth more than what is left without it.

For ``REMEMBERED`` values the statistics before a change are remembered.  If values return to them, the change was a
visit, which is undone if it was short.  After a long one there are two levels, or two sizes, and both are included.
"""

from libc.math cimport fmax, fmin

import numpy as np

from river_okl._core.store.buffers cimport viewed
from river_okl._core.store.sample cimport LARGEST

from river_okl._core.states import checked_numbers

LARGEST_COUNTED = 1_000_000_000
cdef int32_t most_counted = LARGEST_COUNTED
cdef double ROUNDED = 1.0 + 1e-9    # running means of values at a bound may be rounded beyond it
# Round numbers.  What they do is tested (tests/test_units.py); their values hardly matter: halved or doubled, each
# moves the mean error on the first 3,000 samples of 17 streams by at most 0.03 points, and that of 8 regressions by
# 0.3 %.
cdef double LARGER = 2.0            # least growth of the standard deviation that is no new level, but a larger unit
cdef double SUDDEN = 2.5            # least distance of a run's first outlier from the value before, in deviations
cdef int32_t RELEARN = 20           # values that the deviation counts for at a new level
cdef int32_t REMEMBERED = 2000
cdef int32_t VISITED = 40           # values at a level, ``RELEARN`` included, from which on a visit is no short one
cdef double SIZES = 4.0             # ratio of two units from which on a unit has two sizes if the larger one returns
cdef int32_t BLOCK = 500, EARLIER = 250
cdef double SMALLER = 0.2
cdef double ALIKE = 2.0             # bound of the ratio between the factors of values and of differences
cdef double UNIT = 1e-2
cdef int32_t FIRST = 25
cdef double FIRST_UNIT = 0.1        # ``UNIT`` for the first values
cdef int8_t PATIENCE = 20           # blocks in which a unit of two sizes does not become smaller
cdef int8_t DRIFTING = MEMORY // BLOCK  # blocks
cdef double UNSURE = 0.03           # of the variance along a line, which is known from two means only
cdef double MOSTLY = 40.0           # least variance that is mostly of a drift, in that of a block

# The layout of a ``Running``, and the bounds of a state.
cdef object doubles = (
    "mean", "variance", "last", "steps", "block_mean", "block_square", "block_steps", "run_mean", "run_square", "other",
    "other_variance", "before", "trend",
)
cdef object squares = ("variance", "steps", "block_square", "block_steps", "run_square", "other_variance")
cdef object integers = {
    **{name: ("i4", LARGEST_COUNTED) for name in ("count", "other_count", "away")},
    **{"block": ("i2", BLOCK - 1), "run": ("i2", RUN - 1), "sudden": ("i1", 1), "patience": ("i1", PATIENCE)},
    "rising": ("i1", DRIFTING), "follows": ("i1", 1),
}
cdef double largest = LARGEST * ROUNDED
LAYOUT = np.dtype([
    *[(name, "f8") for name in doubles], *[(name, kind) for name, (kind, _) in integers.items()]
], align=True)
NUMBERS = LAYOUT.names
HIGHEST = np.array([
    *[4.0 * BLOCK * LARGEST * largest if name in squares else largest for name in doubles],
    *[most for _, most in integers.values()],
])
LOWEST = np.array([
    -largest if name in doubles and name not in squares else -DRIFTING if name == "rising" else 0.0 for name in NUMBERS
])
assert LAYOUT.itemsize == sizeof(Running)


cdef double clipped(const Running *numbers, double value) noexcept nogil:
    """Return a value, or the closest one that is no outlier."""
    return numbers.mean + within_bound(value - numbers.mean, numbers.count, numbers.variance)


cdef Event update(Running *numbers, double value) noexcept nogil:
    """Count a value; return whether the level or the unit has changed."""
    cdef int32_t run = run_with(numbers, value)
    cdef double gain, delta = counted(numbers, value, run), step = numbers.mean + delta - numbers.last
    if run or numbers.run:
        if run == 1 and numbers.run == 0:
            numbers.sudden = step * step > SUDDEN * SUDDEN * numbers.variance
        if run <= 1:
            numbers.run_mean = numbers.run_square = 0.0
        if run > 0:
            gain = value - numbers.run_mean
            numbers.run_mean += gain / run
            numbers.run_square += gain * (value - numbers.run_mean)
        numbers.run = run
    numbers.away += numbers.away < most_counted
    if numbers.away > REMEMBERED:
        numbers.other_count = 0
    if run == RUN:
        change(numbers)
        numbers.last = value
        return JUMP if numbers.sudden else DRIFT
    if waits(run):
        return NONE
    if numbers.variance == 0.0 and numbers.count > KNOWN and delta != 0.0:
        numbers.count = KNOWN  # a constant no more
        clear_block(numbers)
    numbers.last += step
    numbers.count += numbers.count < most_counted
    gain = 1.0 / <double> min(numbers.count, MEMORY)
    numbers.mean += delta * gain
    numbers.variance = (1.0 - gain) * (numbers.variance + delta * delta * gain)
    numbers.steps += (step * step - numbers.steps) * gain
    if numbers.follows:
        numbers.mean = fmin(fmax(numbers.mean + numbers.trend, -LARGEST), LARGEST)
    return check_unit(numbers, value, step) if numbers.count > KNOWN else NONE


cdef void change(Running *numbers) noexcept nogil:
    """Follow a sudden change, to the level of the outliers, or to their larger unit.

    If the level is the one before the last change, that change was a visit.  After a short visit the statistics resume;
    after a long one the feature has two levels, and the variance includes both.  If instead the unit has just become
    smaller, it has two sizes, and the larger one is back.
    """
    cdef double off = numbers.mean - numbers.other, variance = numbers.run_square / RUN, share
    cdef double far = OUTLYING * sqrt(numbers.other_variance)
    cdef bint level = variance < LARGER * LARGER * numbers.variance
    cdef bint smaller = numbers.other_variance > SIZES * SIZES * numbers.variance
    cdef bint back = numbers.other_count > 0 and fabs(numbers.run_mean - numbers.other) <= far
    clear_block(numbers)
    if numbers.other_count > 0 and smaller and not (back and fabs(off) > far):
        exchange(numbers)
        numbers.other_count, numbers.patience = 0, PATIENCE
    elif back and (level or smaller):
        if min(numbers.count, numbers.other_count) >= VISITED:
            share = <double> numbers.other_count / (numbers.count + numbers.other_count)
            numbers.mean -= share * off
            numbers.variance += share * (1.0 - share) * off * off + share * (numbers.other_variance - numbers.variance)
            numbers.count = min(numbers.count + numbers.other_count, most_counted)
            numbers.other_count = 0
        else:
            exchange(numbers)
    else:
        numbers.other, numbers.other_variance, numbers.other_count = numbers.mean, numbers.variance, numbers.count
        numbers.mean = numbers.run_mean
        if level:
            numbers.count = min(numbers.count, RELEARN)
        else:
            numbers.variance, numbers.count, numbers.steps = variance, RUN, 2.0 * variance
    numbers.away = numbers.run = numbers.rising = numbers.follows = 0
    numbers.run_mean = numbers.run_square = 0.0


cdef void exchange(Running *numbers) noexcept nogil:
    """Resume the statistics from before the last change."""
    cdef double mean = numbers.mean, variance = numbers.variance
    cdef int32_t count = numbers.count
    numbers.mean, numbers.variance, numbers.count = numbers.other, numbers.other_variance, numbers.other_count
    numbers.other, numbers.other_variance, numbers.other_count = mean, variance, count


cdef void clear_block(Running *numbers) noexcept nogil:
    numbers.block, numbers.block_mean, numbers.block_square, numbers.block_steps = 0, 0.0, 0.0, 0.0


cdef Event check_unit(Running *numbers, double value, double step) noexcept nogil:
    """Add a value to the block; if the block varies too little, resume earlier statistics or restart from it."""
    cdef double share, delta = value - numbers.block_mean
    cdef double variance, smaller, steps, least
    cdef bint initial = numbers.away == numbers.count, first, again
    if delta * delta * numbers.block > OUTLYING * OUTLYING * numbers.block_square:  # so far; a division is dearer
        delta = within_bound(delta, numbers.block, numbers.block_square / fmax(1.0, <double> numbers.block))
    numbers.block += 1
    share = 1.0 / <double> numbers.block
    numbers.block_mean += delta * share
    numbers.block_square += delta * delta * (1.0 - share)
    numbers.block_steps += step * step
    first = numbers.block == FIRST and (numbers.count == KNOWN + FIRST if initial else numbers.away == FIRST)
    if not (numbers.block % EARLIER == 0 or first):
        return NONE
    variance = numbers.block_square * share
    smaller = variance / numbers.variance if numbers.variance > 0.0 else 1.0
    steps = numbers.block_steps * share / numbers.steps if numbers.steps > 0.0 else 0.0
    least = UNIT if numbers.block == BLOCK else 0.0
    if first and initial:
        least = FIRST_UNIT
    again = 0.0 < smaller < least * least or (
        numbers.patience == 0 and 0.0 < smaller < SMALLER * SMALLER
        and smaller < ALIKE * steps and steps < ALIKE * smaller
    )
    if numbers.block == BLOCK and numbers.patience > 0:
        numbers.patience -= 1
    if again and numbers.other_count > 0 and 0.25 < variance / numbers.other_variance < 4.0 and (
        fabs(numbers.block_mean - numbers.other) < sqrt(numbers.other_variance)
    ):
        exchange(numbers)
        numbers.steps, numbers.away = numbers.block_steps * share, 0
    elif again:
        numbers.other, numbers.other_variance, numbers.other_count = numbers.mean, numbers.variance, numbers.count
        numbers.count, numbers.mean, numbers.variance = numbers.block, numbers.block_mean, variance
        numbers.steps = numbers.block_steps * share
        numbers.away = 0
    if again:
        numbers.rising = numbers.follows = 0
    elif numbers.block == BLOCK:
        follow(numbers, variance, numbers.block_steps * share)
    if again or numbers.block == BLOCK:
        clear_block(numbers)
    return RESTART if again else NONE


cdef void follow(Running *numbers, double variance, double steps) noexcept nogil:
    """Follow a drift, if this block of values, with this variance and mean squared step, is part of one."""
    cdef double trend = (numbers.block_mean - numbers.before) / BLOCK
    cdef double ramp = trend * trend * BLOCK * BLOCK / 12.0, noise = variance - ramp  # of a line, and around it
    numbers.before = numbers.block_mean
    # in a smooth series consecutive values are alike, and on a line without noise they differ by the trend
    if not (noise < steps + UNSURE * ramp and 4.0 * trend * trend < steps):
        numbers.rising = 0
    elif trend > 0.0:
        numbers.rising = min(max(0, numbers.rising) + 1, DRIFTING)
    else:
        numbers.rising = max(min(0, numbers.rising) - 1, -DRIFTING)
    # the mean rise; the first one is from the level before
    numbers.trend += (trend - numbers.trend) / max(1, numbers.rising - 1, -numbers.rising - 1)
    if -DRIFTING < numbers.rising < DRIFTING:
        numbers.follows = False
    elif numbers.follows:
        numbers.count = min(numbers.count, 2 * BLOCK)
    elif numbers.variance > MOSTLY * variance:
        numbers.follows, numbers.count = True, BLOCK
        numbers.mean, numbers.variance = numbers.block_mean + 0.5 * BLOCK * trend, 0.5 * steps  # as of white noise


def numbers_of(records):
    """Return records of statistics as a matrix, a row each: what a state has."""
    return np.stack([records[name].astype(np.float64) for name in NUMBERS], axis=1)


def records_of(numbers, str what):
    """Return the records of a matrix in a state, after checking every number; ``what`` names them in errors."""
    checked_numbers(what, numbers, (len(numbers), len(NUMBERS)), -np.inf, np.inf)
    if not ((LOWEST <= numbers) & (numbers <= HIGHEST)).all():
        raise ValueError(f"{what} is out of range")
    records = np.zeros(len(numbers), LAYOUT)
    for name, values in zip(NUMBERS, numbers.T):
        records[name] = values
    return records


cdef object running_state(const Running *numbers):
    """Return the statistics in the order of ``NUMBERS``, for ``running_from``."""
    return numbers_of(viewed(<void *> numbers, 1, LAYOUT))[0]


cdef Running running_from(state, str what) except *:
    """Restore from a state, after checking every number."""
    cdef Running made
    viewed(&made, 1, LAYOUT)[:] = records_of(np.atleast_2d(state), what)
    return made
