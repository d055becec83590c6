"""The trees of a memory for a target: of the residuals of the linear regression, or of those of the answer.

The loss is the squared residual, so a gradient is a residual.  The linear regression is that of now: its residuals are
computed again for each tree.  Those of the answer are of the answer as it was given, which is a column of the rows.

A large target that is announced by a feature must be learned, an outlier must not.  So splits are found on residuals
clipped at SPLIT robust deviations.  The value of a leaf is a mean of residuals clipped at LEAF robust deviations around
the median of the leaf: of a leaf of large residuals the median is large.
"""

from libc.math cimport fabs, fmax, fmin
from libc.stdint cimport uint8_t

from river_okl._core.loops cimport LEAVES, Gradient, convert_values, saturated, subtract_term
from river_okl._core.memory.latest cimport Latest, largest_single

cdef enum:
    SOME = 255                  # rows from which the deviation of all is found
    SEEN = 63                   # rows of a leaf of which the median is taken

cdef double RIDGE = 10.0        # λ
cdef double LEAST_ROWS = 10.0   # of a branch
cdef double SPLIT = 20.0, LEAF = 5.0    # bounds of residuals, in robust deviations
cdef double NORMAL = 1.4826     # standard deviations per median of |residual| of a normal distribution
cdef double LEAST_DEVIATION = 1e-4, LARGEST_DEVIATION = 1e2  # in standard deviations of the target


cdef float selected(float *numbers, Py_ssize_t n, Py_ssize_t k) noexcept:
    """Return the k-th smallest of n numbers, which are partitioned around it (Hoare's quickselect)."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef float pivot
    while low < high:
        pivot, i, j = numbers[(low + high) // 2], low, high
        while i <= j:
            while numbers[i] < pivot:
                i += 1
            while numbers[j] > pivot:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return numbers[k]


cdef float median_of(float *numbers, Py_ssize_t n) noexcept:
    """Return the median of numbers, which are reordered."""
    cdef float upper = selected(numbers, n, n // 2), lower
    cdef Py_ssize_t i
    if n % 2:
        return upper
    lower = numbers[0]
    for i in range(1, n // 2):
        lower = max(lower, numbers[i])
    return <float> 0.5 * lower + <float> 0.5 * upper


cdef double bound_of_outliers(float *numbers, Py_ssize_t n, double median, double deviation) noexcept:
    """Return how far numbers may be from their median: LEAF times their robust deviation, or this deviation of all.

    The numbers are replaced.
    """
    cdef Py_ssize_t i
    for i in range(n):
        numbers[i] = <float> fabs(numbers[i] - median)
    return LEAF * fmax(deviation, NORMAL * median_of(numbers, n) if n else 0.0)


cdef class TargetTrees(Trees):
    """Trees over rows with a standardised target.

    Parameters
    ----------
    latest
        The rows.
    linear
        The regression whose residuals they learn; None: those of the answer.
    """

    def __init__(self, Latest latest, Regression linear):
        Trees.__init__(self, latest, RIDGE, LEAST_ROWS, linear is not None)
        self.linear = linear
        number = {"dtype": "f4", "low": -largest_single, "high": largest_single}
        self.declare(<size_t> &self.deviation, "deviation", (), low=0.0, high=<double> largest_single)
        self.declare(<size_t> &self.residual, "residuals", (latest.row,), **number)
        self.declare(<size_t> &self.medians, "medians", (LEAVES,), **number)
        self.declare(<size_t> &self.bounds, "bounds", (LEAVES,), **number)

    cpdef Py_ssize_t bytes_of_row(self) noexcept:
        return Trees.bytes_of_row(self) + 4

    # Growing a tree ---------------------------------------------------------------------------------------------------

    cdef void find_residuals(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Compute the residuals of some rows."""
        cdef Py_ssize_t i, c, place, room = self.latest.row.room, n = last - first
        cdef float most = <float> self.latest.scaler.clipped(1e6)
        cdef float *residual = self.residual + first
        for i in range(n):
            residual[i] = self.latest.target[first + i] - self.sums[first + i]
        if self.linear is None:
            subtract_term(self.latest.values + first, n, 1.0, largest_single, residual)
            return
        for i in range(n):
            residual[i] -= <float> self.linear.ridge.coef[0]
        for c in range(self.first, self.latest.column.n):
            place = self.latest.place[c]
            if 0 <= place < self.linear.ridge.per_input.n - 1:
                subtract_term(
                    self.latest.values + c * room + first, n, <float> self.linear.ridge.coef[1 + place], most, residual
                )

    cdef void begin(self) noexcept:
        """Find the robust deviation of the residuals, with the old tree: of some rows."""
        cdef float[SOME] some
        cdef Py_ssize_t i, n = 0, rows = self.latest.row.n, step = (rows + SOME - 1) // SOME
        for i in range(0, rows, step):
            self.find_residuals(i, i + 1)
            some[n] = <float> fabs(self.residual[i])
            n += 1
        self.deviation = LARGEST_DEVIATION if self.in_full else fmax(NORMAL * median_of(some, n), LEAST_DEVIATION)

    cdef void find_gradients(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        cdef Py_ssize_t i
        cdef float bound = <float> (SPLIT * self.deviation), weight
        self.find_residuals(first, last)
        for i in range(first, last):
            weight = self.latest.weight[i]
            self.gradient[i] = Gradient(weight * min(max(self.residual[i], -bound), bound), weight)

    cdef void find_medians(self) noexcept:
        """Find the medians of the leaves, and the bounds of the differences from them, from some rows of each."""
        cdef Py_ssize_t[LEAVES] members
        cdef Py_ssize_t[LEAVES] met
        cdef Py_ssize_t[LEAVES] n
        cdef float[LEAVES][SEEN] some
        cdef Py_ssize_t i, k
        cdef const uint8_t *leaf = self.leaf + self.growing() * self.latest.row.room
        for k in range(LEAVES):
            members[k] = met[k] = n[k] = 0
        for i in range(self.latest.row.n):
            members[leaf[i]] += self.gradient[i].h > 0.0
        for i in range(self.latest.row.n):
            k = leaf[i]
            if self.gradient[i].h > 0.0:
                if met[k] * SEEN >= n[k] * members[k] and n[k] < SEEN:  # evenly
                    some[k][n[k]] = self.residual[i]
                    n[k] += 1
                met[k] += 1
        for k in range(LEAVES):
            self.medians[k] = median_of(some[k], n[k]) if n[k] else 0.0
            self.bounds[k] = <float> bound_of_outliers(some[k], n[k], self.medians[k], self.deviation)

    cdef void sum_leaves(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Add the residuals of some rows, clipped around the medians of their leaves, to those of their leaves."""
        cdef Py_ssize_t i, k
        cdef const uint8_t *leaf = self.leaf + self.growing() * self.latest.row.room
        cdef Gradient *sums = <Gradient *> self.leaf_sums
        cdef float weight, off
        if first == 0:
            self.find_medians()
        for i in range(first, last):
            k, weight = leaf[i], self.gradient[i].h
            off = min(max(self.residual[i] - self.medians[k], -self.bounds[k]), self.bounds[k])
            sums[k].g += weight * (self.medians[k] + off)
            sums[k].h += weight

    # Changes ----------------------------------------------------------------------------------------------------------

    cdef void rescale(self, double ratio, double shift) noexcept:
        """Change the unit of the target; rows and answers are those of the new one already."""
        cdef Py_ssize_t i, k, n = self.latest.row.n, leaves = self.tree.n * LEAVES
        convert_values(self.values, leaves, ratio, 0.0)
        convert_values(self.sums, n, ratio, 0.0)
        convert_values(self.residual, n, ratio, 0.0)
        convert_values(self.medians, LEAVES, ratio, 0.0)
        convert_values(self.bounds, LEAVES, ratio, 0.0)
        for i in range(n):
            self.gradient[i].g = saturated(ratio * self.gradient[i].g)
        self.deviation = fmin(ratio * self.deviation, largest_single)
        for k in range(LEAVES):
            (<Gradient *> self.leaf_sums)[k].g = saturated(ratio * (<Gradient *> self.leaf_sums)[k].g)
        if self.first == 0:
            self.rescale_answer(ratio, shift)
        self.rescale_gains(ratio * ratio)
