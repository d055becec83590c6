"""The nearest rows of the memory to a sample, of the latest ones and of all.

The distance is Σ_j w_j |z_j - z_ij|, in integers: z and w are bytes.  A weight is the relevance of a column to the
power of POWER; the relevance, whose mean is 1, counts as at least LEAST.  A row at the distance d, in standard
deviations, has the vote 1 / (d / Σ w + NEAR).
"""

from libc.math cimport fmax, fmin, pow
from libc.stdint cimport uint8_t
from libc.string cimport memset

from river_okl._core.loops cimport GROUP, SCANNED, STEPS, byte_of
from river_okl._core.memory.target_trees cimport bound_of_outliers, median_of
from river_okl._core.simd cimport scans

cdef enum:
    SEARCHED = 262144           # bytes: of more columns fewer rows are searched

cdef double POWER = 0.75, LEAST = 0.02
cdef float LARGEST_WEIGHT = 127.0
cdef int32_t FAR = 2**31 - 1
cdef double NEAR = 0.002        # standard deviations
cdef double TRUST = 0.96        # the votes' share in a probability; the rest is for all classes alike


cdef class Nearest(Table):
    """The neighbours in a memory.

    Parameters
    ----------
    latest
        The rows among which they are searched.
    """

    def __init__(self, Latest latest):
        self.latest = latest
        self.declare(
            <size_t> &self.weight, "weights", (latest.column,), dtype="f4", default=1.0, low=0.0, high=2.0**20
        )
        if latest.answers:
            self.weight[0] = 0.0
        self.scratch(<size_t> &self.distance, (latest.row,), dtype="i4")
        self.scratch(<size_t> &self.low, (latest.row,), dtype="i4")

    cdef void weigh(self, const double *relevance) noexcept:
        """Set the weights of the columns."""
        cdef Py_ssize_t c
        for c in range(self.latest.answers, self.latest.column.n):
            self.weight[c] = <float> pow(relevance[c] if relevance[c] > LEAST else LEAST, POWER)

    # A sample ---------------------------------------------------------------------------------------------------------

    cdef int measure(self) except -1:
        """Compute the distances of the last sample of the rows."""
        cdef Py_ssize_t c, k, n = self.latest.column.n, groups = (n + GROUP - 1) // GROUP
        cdef float largest = 0.0
        cdef bint weighs
        cdef Scanned *scanned
        if groups > self.room:
            self.scanned, self.room = <Scanned *> self.resize(self.scanned, 0, groups, sizeof(Scanned)), groups
        for c in range(n):
            largest = max(largest, self.weight[c])
        largest = largest if largest > 0.0 else 1.0
        self.n_scanned = self.distance_scale = 0
        for c in range(0, n, GROUP):
            scanned, weighs = &self.scanned[self.n_scanned], False
            for k in range(GROUP):
                scanned.weight[k] = scanned.own[k] = 0
                if c + k < n:
                    scanned.weight[k] = <uint8_t> (LARGEST_WEIGHT * self.weight[c + k] / largest + <float> 0.5)
                    scanned.own[k] = byte_of(self.latest.x[c + k])
                    self.distance_scale += scanned.weight[k]
                weighs |= scanned.weight[k] > 0
            if weighs:
                scanned.bytes = self.latest.near_byte(c, 0)
                self.n_scanned += 1
        self.measure_rows()
        return 0

    cdef void measure_rows(self) noexcept:
        """Compute the distances of the rows that are searched, whose slots are at most two intervals."""
        cdef Py_ssize_t n = self.latest.row.n, start = self.latest.start, first = start + n - min(self.searched(), n)
        if first < n:
            self.measure_slots(first, n)
            self.measure_slots(0, start)
        else:
            self.measure_slots(first - n, start)

    cdef void measure_slots(self, Py_ssize_t first, Py_ssize_t last) noexcept:
        """Compute the distances of the rows of some slots."""
        cdef Py_ssize_t i, b = first // SCANNED, blocks = (last + SCANNED - 1) // SCANNED - b
        for i in range(self.n_scanned):
            self.scanned[i].bytes += b * SCANNED * GROUP
        scans.distances(self.scanned, self.n_scanned, blocks, self.distance + b * SCANNED, self.low + b)
        for i in range(self.n_scanned):
            self.scanned[i].bytes -= b * SCANNED * GROUP

    cdef Py_ssize_t select(self, Py_ssize_t latest, Py_ssize_t most, int32_t *found) noexcept:
        """Find the nearest of the latest rows; return their number.  Of equal distances the latest rows win."""
        cdef Py_ssize_t n = self.latest.row.n, start = self.latest.start, first = n - min(latest, n), k = 0
        # the slots of rows ``first`` to n are at most two intervals
        self.bound = self.bound_of(most) if first == 0 else FAR
        if start + first < n:
            k = self.scan(start + first, n, k, most, found)
            return self.scan(0, start, k, most, found)
        return self.scan(start + first - n, start, k, most, found)

    cdef int32_t bound_of(self, Py_ssize_t most) noexcept:
        """Return a distance that so many rows do not exceed: that of the nearest ones of different blocks."""
        cdef int32_t[OF_ALL] lowest
        cdef Py_ssize_t b, j, k = 0
        cdef int32_t low
        for b in range((self.latest.row.n + SCANNED - 1) // SCANNED - 1):  # the last one may be incomplete
            low = self.low[b]
            if k == most and low >= lowest[most - 1]:
                continue
            j = min(k, most - 1)
            while j > 0 and lowest[j - 1] > low:
                lowest[j] = lowest[j - 1]
                j -= 1
            lowest[j] = low
            k = min(k + 1, most)
        return lowest[most - 1] if k == most else FAR

    cdef Py_ssize_t scan(
        self, Py_ssize_t first, Py_ssize_t last, Py_ssize_t k, Py_ssize_t most, int32_t *found
    ) noexcept:
        """Insert the nearest rows of some slots into the k that were found before, in order of distance."""
        cdef Py_ssize_t b, i, j
        cdef int32_t bound = self.distance[found[k - 1]] if k == most else self.bound, d
        for b in range(first // SCANNED, (last + SCANNED - 1) // SCANNED):
            if self.low[b] > bound:
                continue
            for i in range(max(first, b * SCANNED), min(last, (b + 1) * SCANNED)):
                d = self.distance[i]
                if d > bound:
                    continue
                j = min(k, most - 1)
                while j > 0 and self.distance[found[j - 1]] >= d:
                    found[j] = found[j - 1]
                    j -= 1
                found[j] = <int32_t> i
                k = min(k + 1, most)
                if k == most:
                    bound = self.distance[found[most - 1]]
        return k

    cdef Py_ssize_t vote(self, Py_ssize_t latest, Py_ssize_t most) noexcept:
        """Find the nearest of the latest rows and their votes; return their number."""
        cdef Py_ssize_t i, k = self.select(latest, most, self.found)
        cdef double unit = max(1.0, STEPS * self.distance_scale)
        self.total = 0.0
        for i in range(k):
            self.votes[i] = 1.0 / (self.distance[self.found[i]] / unit + NEAR)
            self.total += self.votes[i]
        return k

    cdef Py_ssize_t searched(self) noexcept:
        """Return the number of latest rows that stand for all: of many columns fewer."""
        return max(1, SEARCHED // (GROUP * max(1, self.n_scanned)))

    cdef void write_probabilities(self, Py_ssize_t latest, Py_ssize_t most, Py_ssize_t n_classes, double *p) noexcept:
        """Write the probabilities of every class by the votes of the nearest of the latest rows."""
        cdef Py_ssize_t i, o, k = self.vote(latest, most)
        memset(p, 0, n_classes * 8)
        for i in range(k):
            p[<Py_ssize_t> self.latest.target[self.found[i]]] += self.votes[i]
        for o in range(n_classes):
            p[o] = (TRUST * p[o] / self.total if k else TRUST / n_classes) + (1.0 - TRUST) / n_classes

    cdef double mean_target(self, Py_ssize_t latest, Py_ssize_t most, double deviation) noexcept:
        """Return the mean target of the nearest of the latest rows, weighted by their votes.

        They are clipped around their median, at five robust deviations, or five of these deviations if that is more.
        """
        cdef Py_ssize_t i, k = self.vote(latest, most)
        cdef float[OF_ALL] some
        cdef double mean = 0.0, median, bound
        if k == 0:
            return 0.0
        for i in range(k):
            some[i] = self.latest.target[self.found[i]]
        median = median_of(some, k)
        bound = bound_of_outliers(some, k, median, deviation)
        for i in range(k):
            mean += self.votes[i] / self.total * fmin(fmax(self.latest.target[self.found[i]] - median, -bound), bound)
        return median + mean
