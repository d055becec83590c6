cimport cython
from libc.stdint cimport int64_t

from river_okl._core.kernel.compiled cimport CompiledKernel
from river_okl._core.loops cimport TILE
from river_okl._core.store.buffers cimport Owner
from river_okl._core.store.points cimport Points
from river_okl._core.store.sample cimport Frame, Given, Sample


cdef struct Tile:
    # TILE samples, evaluated together.
    double *numbers[TILE]   # for the dense features
    double *dots[TILE]      # dot products with posting lists; then squared distances
    double squares[TILE]
    double rests[TILE]      # the squared norms outside the dense features


@cython.final
cdef class Rows(Owner):
    cdef readonly Points points
    cdef readonly CompiledKernel kernel
    cdef Py_ssize_t capacity        # equals that of the points
    cdef double *self_              # [capacity] κ(z_i, z_i)

    # scratch, never pickled: the last sample and its row
    cdef Sample samples[2]
    cdef int last                   # which of the two is the last sample
    cdef double self_similarity     # κ(x, x) of the last sample x
    cdef double *row                # [capacity] κ(z_i, x)
    cdef bint has_sample, fresh     # fresh: points and γ are unchanged since the row was computed
    cdef public bint memo           # tests disable the memo
    cdef double *other              # [capacity] the row of the last requested point
    cdef double *dots               # [capacity] dot products, or squared distances
    cdef const double **pointers    # dense rows of the features of a sample, and its numbers
    cdef double *numbers
    cdef Py_ssize_t items_allocated

    cdef int reserve(self, Py_ssize_t capacity) except -1
    cdef int reserve_items(self, Py_ssize_t size) except -1
    # The last sample
    cdef bint look(self, object sample) except -1
    cdef int measure(self, Sample *x, double similarity) except -1
    cdef Given given(self)
    cdef double similarity_of(self, const Sample *x) except? -1.0
    cdef Sample *seen(self) except NULL
    cdef void point_added(self) noexcept
    cdef void point_removed(self, Py_ssize_t p) noexcept
    cdef void kernel_moved(self) noexcept
    cdef int restored(self) except -1
    # Rows
    cdef void compute(self, Sample *x, double *out) noexcept nogil
    cdef bint by_distances(self, Sample *x) noexcept nogil
    cdef void lay_out_dense(self) noexcept nogil
    cdef void clear_dots(self, double *dots) noexcept nogil
    cdef double lay_out(self, Sample *x, double *numbers, double *dots) noexcept nogil
    cdef double lay_out_point(self, Py_ssize_t p, double *numbers, double *dots) noexcept nogil
    cdef void start_distances(self, double rest, double *dots) noexcept nogil
    cdef void finish(self, double rest, double square, double *out) noexcept nogil
    cdef int compute_of(self, Py_ssize_t p, double *out) except -1
    cdef void row_of_point(self, Py_ssize_t p, double *out) noexcept nogil
    # Many at once
    cdef object make_tile(self, Tile *tile)
    cdef Py_ssize_t start_frame(self, Frame frame, Sample *x) except -1
    cdef void measure_tile(self, Sample *x, Frame frame, Py_ssize_t first, Tile *tile) noexcept nogil
    cdef void finish_tile(self, Tile *tile) noexcept nogil
    cdef void tile_row(self, Tile *tile, Py_ssize_t s, double *out) noexcept nogil
    cdef tuple collect(self, positions, bint among, const double[:, ::1] columns)
    cdef void collect_row(
        self, Py_ssize_t j, bint among, const int64_t[::1] chosen, const double[:, ::1] columns, double[:, ::1] out,
        double[:, ::1] sums
    ) noexcept nogil
    # State
    cdef tuple check(self)
