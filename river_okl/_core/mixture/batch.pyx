"""Predictions of many samples by a mixture in one state: a block of samples at a time.

Most of a prediction by the processes is K⁻¹ k for each kernel and S q for each posterior.  For a block these are
products of matrices, which read each number of R and S once for all samples.  A block has two passes: first all samples
are encoded, scaled and compared with the dictionary, and the processes predict; then each sample is compared with all
points, and asked like a single one.

Predictions differ from those of single samples in the last digits, as sums have another order.  They do not depend on
how rows are divided among frames.
"""

from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport fmax
from libc.string cimport memcpy, memset

import numpy as np

from river_okl._core.gaussian.posterior cimport Basis, Posterior
from river_okl._core.kernel.distances cimport Dictionary
from river_okl._core.mixture.processes cimport POSTERIORS, Processes
from river_okl._core.simd cimport linalg
from river_okl._core.store.encoder cimport encode
from river_okl._core.store.sample cimport free_sample


def predictions(Mixture mixture not None, rows, double z=1.0, bint wait=True):
    """Return the predictions of all rows, a ``Frame`` or a list of dicts: an array with a row for each.

    The columns are the probabilities of the classes; for a target its mean, and the half width of the interval with
    the coverage of z standard deviations.  ``wait``: whether the rows may wait for labels that come late.
    """
    cdef Py_ssize_t i, n = len(rows), columns = mixture.n_reported()
    cdef Batch batch
    found = np.empty((n, columns))
    cdef double[:, ::1] out = found
    try:
        batch = Batch(mixture)
        if n >= BLOCK:
            mixture.distances.gather(mixture.processes.dictionary())
        for i in range(0, n, BLOCK):
            PyErr_CheckSignals()
            batch.ask(rows, i, min(i + BLOCK, n), z, wait, &out[i, 0])
    finally:
        mixture.end_batch()
    return found


cdef class Batch(Owner):
    """A block of samples, and what the processes predict for them.

    The mixture must not change as long as the batch is in use.
    """

    def __init__(self, Mixture mixture):
        cdef Processes processes = mixture.processes
        cdef Py_ssize_t i, size = processes.n * BLOCK
        self.mixture = mixture
        self.columns = processes.columns
        for i in range(KERNELS):
            self.k[i] = self.doubles(NULL, 0, size)
        self.ordered, self.half = self.doubles(NULL, 0, size), self.doubles(NULL, 0, size)
        self.q = self.doubles(NULL, 0, size)
        self.means = self.doubles(NULL, 0, PROCESSES * self.columns * BLOCK)
        for posterior in processes.posteriors:
            (<Posterior> posterior).settle()
            (<Posterior> posterior).covariance.settle()

    def __dealloc__(self):
        cdef Py_ssize_t b
        for b in range(BLOCK):
            free_sample(&self.samples[b])

    cdef int ask(self, rows, Py_ssize_t start, Py_ssize_t end, double z, bint wait, double *out) except -1:
        """Write the predictions of rows ``start`` to ``end``."""
        cdef Mixture mixture = self.mixture
        cdef Py_ssize_t b, i
        self.n = end - start
        for b in range(self.n):  # values may run Python code here
            encode(mixture.scaler, rows[start + b], &self.samples[b])
            self.encoded[b], self.rest[b] = self.samples[b].size, mixture.scaler.words.rest
        mixture.begin_block()
        for b in range(self.n):
            self.compare(b)
        for i in range(KERNELS):
            self.predict(i)
        mixture.processes.predicted = True
        for b in range(self.n):
            self.take(b)
            mixture.ask_next(&self.samples[b], self.encoded[b], self.rest[b])
            mixture.report(z, out + b * mixture.n_reported())
            mixture.asked = wait
        mixture.processes.predicted = False
        return 0

    cdef int compare(self, Py_ssize_t b) except -1:
        """Scale a sample, and compute k under every kernel."""
        cdef Processes processes = self.mixture.processes
        cdef Sample *x = &self.samples[b]
        cdef Dictionary dictionary = processes.dictionary()
        cdef double[KERNELS] self_similarity
        cdef Py_ssize_t i, r
        self.mixture.scale(x, self.encoded[b])
        if x.size > self.room[b]:
            self.values[b] = self.doubles(self.values[b], 0, 4 * x.size)
            self.room[b] = 2 * x.size
        if x.size:
            memcpy(self.values[b], x.scaled, x.size * 8)
            memcpy(self.values[b] + self.room[b], x.unclipped, x.size * 8)
        x.scaled, x.unclipped = self.values[b], self.values[b] + self.room[b]
        self.mixture.distances.measure(x, &dictionary, False)
        processes.fill_rows(self_similarity)
        for i in range(KERNELS):
            self.self_similarity[i][b] = self_similarity[i]
            for r in range(processes.n):
                self.k[i][r * BLOCK + b] = processes.k[i][r]
        return 0

    cdef void predict(self, Py_ssize_t i) noexcept:
        """Compute the means and variances of the posteriors of kernel i, with qᵀS q = f qᵀC q + (1 - f) a ‖R k‖²."""
        cdef Basis basis = self.mixture.processes.bases[i]
        cdef Posterior posterior
        cdef Py_ssize_t e, r, b, n = basis.n, ld = basis.capacity
        cdef double prior, factor, own
        cdef double[BLOCK] explained
        cdef double[BLOCK] form
        cdef double[BLOCK] gamma
        for r in range(n):
            memcpy(self.ordered + r * BLOCK, self.k[i] + basis.order[r] * BLOCK, BLOCK * 8)
        linalg.block_times(basis.factor, ld, 1, n, n, 1, self.ordered, self.half)
        linalg.block_times(basis.factor, 1, ld, n, n, -1, self.half, self.ordered)
        for r in range(n):
            memcpy(self.q + basis.order[r] * BLOCK, self.ordered + r * BLOCK, BLOCK * 8)
        memset(explained, 0, sizeof(explained))
        for r in range(n):
            for b in range(BLOCK):
                explained[b] += self.half[r * BLOCK + b] * self.half[r * BLOCK + b]
        for b in range(self.n):
            own = self.self_similarity[i][b]
            gamma[b] = basis.at_least_jitter(own * (1.0 + basis.jitter) - explained[b], own)
        for e in range(i * POSTERIORS, (i + 1) * POSTERIORS):
            posterior = self.mixture.processes.posteriors[e]
            prior, factor = posterior.prior_variance, posterior.factor
            linalg.block_forms(posterior.covariance.numbers, ld, n, self.q, form)
            for b in range(self.n):
                self.variance[e][b] = fmax(
                    prior * (gamma[b] + (1.0 - factor) * explained[b]) + factor * form[b], 1e-3 * prior * gamma[b]
                )
            linalg.block_times(
                posterior.means, ld, 1, self.columns, n, 0, self.q, self.means + e * self.columns * BLOCK
            )

    cdef void take(self, Py_ssize_t b) noexcept:
        """Set the posteriors to their predictions for a sample of the block."""
        cdef Posterior posterior
        cdef Py_ssize_t e, o
        for e in range(PROCESSES):
            posterior = self.mixture.processes.posteriors[e]
            posterior.variance = self.variance[e][b]
            for o in range(self.columns):
                posterior.mean[o] = self.means[(e * self.columns + o) * BLOCK + b]
