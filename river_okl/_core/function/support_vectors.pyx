"""The support vectors z_i of a function, without coefficients: their kernel rows, and if it needs them K and K⁻¹.

The rows (rows.pyx) belong to the last sample x.  With K⁻¹ (gram.pyx) there is the projection of κ(x, ·) on the span of
the support vectors, whose squared distance δ² is the ALD residual.
"""

from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.store.buffers cimport array_of
from river_okl._core.store.features cimport Features
from river_okl._core.store.sample cimport Sample


cdef class SupportVectors(Function):
    """Support vectors; with ``inverse`` also K and K⁻¹, for ``project``."""

    def __init__(self, tuple kernel, max_points, bint inverse):
        self.points = Points(Features(), max_points)
        self.rows = Rows(self.points, CompiledKernel(kernel))
        self.gram_ = Gram() if inverse else None

    def __len__(self):
        return self.points.n

    # The support vectors and their kernel rows ------------------------------------------------------------------------

    @property
    def births(self):
        """When each support vector was added, as a count of additions."""
        return self.points.births

    def oldest(self):
        """Return the position of the oldest support vector."""
        return self.points.oldest()

    def point(self, Py_ssize_t i):
        """Return z_i as a feature dict."""
        return self.points.point(i)

    @property
    def self_similarity(self):
        """κ(x, x) of the last sample."""
        self.rows.seen()
        return self.rows.self_similarity

    @property
    def row(self):
        """κ(z_i, x) of the last sample for every support vector, including those added since."""
        self.rows.seen()
        return array_of(self.rows.row, self.points.n)

    @property
    def self_similarities(self):
        """κ(z_i, z_i) of every support vector."""
        return self.rows.similarities()

    def row_of(self, Py_ssize_t i):
        """Return κ(z_i, z_j) for every support vector j."""
        return self.rows.row_of(i)

    def rows_of(self, positions):
        """Return ``row_of`` each position: an array of shape (positions, support vectors)."""
        return self.rows.rows_of(positions)

    def gram(self):
        """Compute K."""
        return self.rows.gram()

    cpdef double similarity(self, Py_ssize_t i) except? -1.0:
        """Return κ(z_i, x) of the last sample x."""
        self.rows.seen()
        self.points.check_position(i)
        return self.rows.row[i]

    def sample(self):
        """Return the last sample as a dict."""
        cdef Sample *x = self.rows.seen()
        cdef Py_ssize_t i
        return {<object> x.keys[i]: x.numbers[i] for i in range(x.size)}

    # Projection -------------------------------------------------------------------------------------------------------

    cdef int solve(self) except -1:
        self.rows.seen()
        if not self.ald_residual_valid:
            self.ald_residual = self.required().solve(self.rows.row, self.rows.self_similarity)
            self.ald_residual_valid = True
        return 0

    cdef Gram required(self):
        """K and K⁻¹."""
        if self.gram_ is None:
            raise RuntimeError("this expansion has no inverse Gram matrix: create it with inverse=True")
        return self.gram_

    cpdef double project(self) except? -1.0:
        """Return δ² = ‖κ(x,·) - P κ(x,·)‖², P the projection on the span of the support vectors, x the last sample.

        ``project``, ``absorb`` and ``projection`` share one solution.  All require a last sample and K⁻¹.
        """
        self.solve()
        return self.ald_residual

    @property
    def projection(self):
        """d = K⁻¹ k of the last sample: P κ(x, ·) = Σ d_i κ(z_i, ·)."""
        self.solve()
        return array_of(self.gram_.solution, self.points.n)

    def inverse_times(self, vector):
        """K⁻¹ v"""
        return self.required().times_vector(vector, True)

    def gram_times(self, vector):
        """Return K v."""
        return self.required().times_vector(vector, False)

    @property
    def inverse_diagonal(self):
        """The diagonal of K⁻¹: 1/δ² of every support vector given the others."""
        return self.required().inverse.diagonal()

    @property
    def inverse(self):
        """A copy of K⁻¹."""
        return self.required().inverse.matrix()
