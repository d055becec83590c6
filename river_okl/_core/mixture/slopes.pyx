"""The slopes of the processes' mean along the features of a sample, from which distances.pyx learns feature weights.

A slope is a difference of kernel rows: κ is a function of x · z and of ‖x‖², and the distance depends on both.
"""

from libc.math cimport fmax
from libc.string cimport memset

from river_okl._core.gaussian.posterior cimport Basis, Posterior
from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.mixture.processes cimport KERNELS, POSTERIORS
from river_okl._core.simd cimport linalg, loops
from river_okl._core.store.points cimport Column, value_at

cdef int EVERY = 8                  # slopes are measured at one sample in EVERY
cdef double NEGLIGIBLE = 1e-3       # weight of a kernel below which its slopes are skipped
cdef Py_ssize_t BY_FEATURES_ABOVE = 64  # columns above which slopes are computed by ``add_by_features``

cdef enum:
    BLOCK = 64                      # columns whose slopes are computed at once, if there are many


cdef class Slopes(Owner):
    """The slopes of one bank of processes.

    Parameters
    ----------
    first
        Number of initial samples at which slopes are always measured; later they are measured at one in ``EVERY``.
    """

    def __init__(self, Processes processes, int64_t first=0):
        self.processes, self.first = processes, first

    cdef int learn(self, const Sample *x, int64_t seen, const double *weight) except -1:
        """Measure the slopes at some samples, before the processes, which have these weights, learn them."""
        if x.size and self.processes.n > 1 and (seen % EVERY == 0 or seen < self.first):
            self.measure(x, weight)
        return 0

    cdef int reserve(self, Py_ssize_t size) except -1:
        """Make room for the slopes along ``size`` features."""
        cdef Processes bank = self.processes
        if bank.columns * size > self.slopes_allocated:
            self.slope = self.doubles(self.slope, 0, max(8, 2 * bank.columns * size))
            self.slopes_allocated = max(8, 2 * bank.columns * size)
        if bank.columns > BY_FEATURES_ABOVE and size > self.along_allocated:
            self.together = self.doubles(self.together, 0, BLOCK * (bank.max_points + 1))
            self.along_features = self.doubles(self.along_features, 0, 2 * (bank.max_points + 1) * size)
            self.along_allocated = 2 * size
        return 0

    cdef int measure(self, const Sample *x, const double *weight) except -1:
        """Add the squared slope at x along each feature of x, from differences of the kernel row."""
        cdef Processes bank = self.processes
        cdef Py_ssize_t i, j, o, r, n = bank.n, room = (bank.max_points + 8) // 8 * 8, padded = (n + 7) // 8 * 8
        cdef int b, m
        cdef CompiledKernel kernel
        cdef Posterior posterior
        cdef double step, own, of_point, of_own
        cdef double *by_dot = bank.work
        cdef double *by_own = bank.work + room
        cdef double *means = bank.work + 2 * room
        cdef const int32_t *places = x.places
        cdef double *slope
        self.reserve(x.size)
        slope = self.slope
        if x.size:
            memset(slope, 0, bank.columns * x.size * 8)
        for i in range(KERNELS):
            if weight[i * POSTERIORS] + weight[i * POSTERIORS + 1] < NEGLIGIBLE:
                continue
            kernel, m = bank.kernels[i], bank.metric[i]
            own = bank.distances.own[m]
            step = 1e-6 * fmax(bank.distances.mean_square(m), 1e-12)
            # κ as a function of x · z and of ‖x‖²: the distance depends on both
            for r in range(n):
                bank.dots[m][r] -= step
            loops.kernel_row(&kernel.program, bank.dots[m], False, bank.squares[m], own, padded, by_dot)
            for r in range(n):
                bank.dots[m][r] += step
                by_dot[r] = (bank.k[i][r] - by_dot[r]) / step
            loops.kernel_row(&kernel.program, bank.dots[m], False, bank.squares[m], own + step, padded, by_own)
            for r in range(n):
                by_own[r] = (by_own[r] - bank.k[i][r]) / step
            if bank.columns > BY_FEATURES_ABOVE:
                self.add_by_features(i, x, weight, by_dot, by_own)
                continue
            for o in range(bank.columns):
                memset(means, 0, n * 8)
                for b in range(POSTERIORS):
                    posterior = bank.posteriors[i * POSTERIORS + b]
                    posterior.settle()
                    for r in range(n):
                        means[r] += weight[i * POSTERIORS + b] * posterior.means[o * posterior.covariance.capacity + r]
                (<Basis> bank.bases[i]).solve(means, bank.alpha)
                of_own = 0.0
                for r in range(n):
                    of_own += 2.0 * bank.alpha[r] * by_own[r]
                    bank.alpha[r] *= by_dot[r]
                for j in range(x.size):
                    of_point = self.along(x.places[j])
                    slope[o * x.size + j] += bank.distances.weights[m][places[j]] * (of_own * x.scaled[j] + of_point)
        for o in range(bank.columns):
            for j in range(x.size):
                bank.distances.add_slope(places[j], slope[o * x.size + j])
        for j in range(x.size):
            bank.distances.slope_counts[places[j]] += 1.0
        return 0

    cdef void add_by_features(
        self, Py_ssize_t i, const Sample *x, const double *weight, const double *by_dot, const double *by_own
    ) noexcept:
        """Add the slopes of kernel i, with K⁻¹ applied once per feature instead of once per column."""
        cdef Processes bank = self.processes
        cdef Py_ssize_t j, o, r, b, columns, first, n = bank.n, size = x.size, ld = (<Basis> bank.bases[0]).capacity
        cdef int m = bank.metric[i]
        cdef double scale
        cdef const double *means
        cdef double *row = bank.alpha
        cdef double *solved = bank.work + 2 * ((bank.max_points + 8) // 8 * 8)
        cdef double *along = self.along_features
        cdef double *together = self.together
        cdef const Column *column
        cdef Posterior posterior
        for j in range(size):
            scale = bank.distances.weights[m][x.places[j]]
            for r in range(n):
                row[r] = 2.0 * scale * x.scaled[j] * by_own[r]
            if x.places[j] >= 0:
                column = &bank.points.columns[x.places[j]]
                if column.dense != NULL:
                    for r in range(n):
                        row[r] += scale * by_dot[r] * value_at(column.dense, bank.position[r], bank.points.single)
                else:
                    for r in range(column.count):
                        b = bank.member[column.owners[r]]
                        if b >= 0:
                            row[b] += scale * by_dot[b] * column.amounts[r]
            (<Basis> bank.bases[i]).solve(row, solved)
            for r in range(n):
                along[r * size + j] = solved[r]
        for b in range(POSTERIORS):
            posterior = bank.posteriors[i * POSTERIORS + b]
            posterior.settle()
        for first in range(0, bank.columns, BLOCK):
            columns = min(BLOCK, bank.columns - first)
            memset(together, 0, columns * n * 8)
            for b in range(POSTERIORS):
                means = (<Posterior> bank.posteriors[i * POSTERIORS + b]).means + first * ld
                scale = weight[i * POSTERIORS + b]
                for o in range(columns):
                    for r in range(n):
                        together[o * n + r] += scale * means[o * ld + r]
            linalg.add_product(together, n, 1, columns, along, size, size, n, False, self.slope + first * size, size)

    cdef double along(self, int32_t place) noexcept:
        """Return Σ_r alpha[r] z_rj over the dictionary; four sums, because an addition waits for the one before."""
        cdef Processes bank = self.processes
        cdef const Column *column
        cdef Py_ssize_t r, fours = bank.n // 4 * 4
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef bint single = bank.points.single
        if place < 0:
            return 0.0
        column = &bank.points.columns[place]
        if column.dense != NULL:
            for r in range(0, fours, 4):
                a += bank.alpha[r] * value_at(column.dense, bank.position[r], single)
                b += bank.alpha[r + 1] * value_at(column.dense, bank.position[r + 1], single)
                c += bank.alpha[r + 2] * value_at(column.dense, bank.position[r + 2], single)
                d += bank.alpha[r + 3] * value_at(column.dense, bank.position[r + 3], single)
            for r in range(fours, bank.n):
                a += bank.alpha[r] * value_at(column.dense, bank.position[r], single)
        else:
            for r in range(column.count):
                if bank.member[column.owners[r]] >= 0:
                    a += bank.alpha[bank.member[column.owners[r]]] * column.amounts[r]
        return (a + b) + (c + d)
