from libc.stdint cimport int32_t, int64_t, uint8_t

from river_okl._core.loops cimport GROUP
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler
from river_okl._core.store.table cimport Axis, Conversion, Table

cdef enum:
    COLUMNS = 256               # of features
    EDGES = 246                 # maximum number of edges between the codes of a column
    FREE = -1                   # place of a column without a feature
    BUCKET = -2                 # place of a column of hashed features
    ANSWER = -3                 # place of the column of the answers

cdef float below_all, largest_single


cdef class Latest(Table):
    cdef readonly Scaler scaler
    cdef Axis row, column, group
    cdef readonly Py_ssize_t limit      # maximum number of rows
    cdef readonly bint answers  # whether the first column has the answers
    cdef float *values          # [column, row] scaled, not clipped; absent: 0
    cdef uint8_t *codes         # [column, row] 0: a gap; 1 + the number of edges below the value
    cdef uint8_t *near          # [column / GROUP, row, GROUP] the value in steps of 1 / STEPS, clipped
    cdef float *edges           # [column, EDGES] in ascending order
    cdef int32_t *n_edges       # [column]
    cdef uint8_t *has_gaps      # [column] whether a row has had one
    cdef int32_t *place         # [column] of its feature, FREE or BUCKET
    cdef int32_t *column_of     # [feature] or -1
    cdef float *target          # [row] the number of its class, or a standardised target
    cdef float *weight          # [row]
    cdef int64_t start          # slot of the oldest row
    cdef int64_t added          # rows that were ever added
    cdef int64_t *drawn_at      # [column] this number when its edges were drawn
    # scratch: the last sample
    cdef float *x               # [column]

    cdef int32_t column_at(self, int32_t place) noexcept
    cdef int32_t new_column(self, int32_t place) noexcept
    cdef Py_ssize_t columns_for(self, const Sample *x) noexcept
    cdef void begin(self, const Sample *x) noexcept
    cdef void set_value(self, int32_t column, int32_t place, double value, bint gap) noexcept
    cdef uint8_t code(self, Py_ssize_t column, float value) noexcept
    cdef Py_ssize_t slot(self, Py_ssize_t i) noexcept
    cdef Py_ssize_t next_slot(self) noexcept
    cdef void write(self, const Sample *x, Py_ssize_t slot, double target, double weight) noexcept
    cdef void add_columns(self, const Sample *x) noexcept
    cdef void fit_limit(self, Py_ssize_t most, Py_ssize_t bytes, Py_ssize_t of_row) noexcept
    cdef inline uint8_t *near_byte(self, Py_ssize_t column, Py_ssize_t slot) noexcept:
        return self.near + (column // GROUP * self.row.room + slot) * GROUP + column % GROUP

    cdef void rescale(self, double ratio, double shift) noexcept
    cdef void rescale_targets(self, Py_ssize_t n, double ratio, double shift) noexcept
    cdef float threshold(self, int32_t column, int32_t code) noexcept
    cdef bint draw_if_due(self, Py_ssize_t column) noexcept
    cdef void draw_edges(self, Py_ssize_t column) noexcept
    cdef void write_near(self, Py_ssize_t column) noexcept
