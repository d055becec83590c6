from libc.stdint cimport int64_t, uint64_t

from river_okl._core.mixture.background cimport Background
from river_okl._core.mixture.change cimport Change
from river_okl._core.mixture.expert cimport Expert, Outcome
from river_okl._core.mixture.judgement cimport Judgement
from river_okl._core.mixture.memory cimport Memory
from river_okl._core.mixture.pending cimport Pending
from river_okl._core.mixture.processes cimport KERNELS, PROCESSES, Processes
from river_okl._core.mixture.slopes cimport Slopes
from river_okl._core.scaled_points cimport ScaledPoints
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis


cdef class Mixture(ScaledPoints):
    cdef readonly tuple terms
    cdef readonly Processes processes
    cdef Slopes slopes
    cdef readonly Memory memory
    cdef bint measures_points               # whether experts need the distances to all points
    cdef readonly Background background     # samples that predictions are compared with
    cdef readonly Pending pending
    cdef readonly tuple experts             # in the order of their predictions
    cdef tuple holders                      # experts that reference points, in the order in which they evict
    cdef readonly Py_ssize_t n_classes      # 1: a target
    cdef Py_ssize_t rows                    # number of predictions
    cdef Py_ssize_t n_numbers               # numbers that the mixture is scored on: predictions, mixed
    cdef Axis per_prediction                # the first predictions, which have mixture weights
    cdef readonly Judgement today
    cdef readonly Judgement then            # scored on predictions as asked, once a label has come late
    cdef bint then_is_known
    cdef readonly Change change                      # whether predictions as asked are of another concept
    cdef double process_weights[PROCESSES]  # weights of the processes, normalised to a sum of 1
    cdef double *share                      # [KERNELS] sums of these weights since kernels last changed
    cdef double *weights                    # [3] of the sample weights: number, mean and mean square
    cdef double *light                      # [3] the same of light weights after heavy first ones; number -1: no more
    cdef readonly int64_t seen
    cdef int64_t next_update
    cdef int updates
    cdef int64_t early                      # before this many samples only bandwidths are updated,
    cdef int64_t growth                     # then everything, whenever the stream has grown by 1 / growth

    # scratch: the predictions of the last sample; never pickled
    cdef bint asked                         # whether it was predicted, and not learned since
    cdef uint64_t key                       # a hash of its key; 0: it has none
    cdef double *p                          # [n_numbers], [rows, n_classes] first
    cdef double *as_asked                   # [n_numbers] predictions of the sample from an earlier step
    cdef bint keyed_labels                  # whether labels come late, by their keys
    cdef Py_ssize_t found, taken            # in ``pending``: of ``as_asked``, of the sample with this label; or -1
    cdef bint current                       # whether it was asked in the current state of the model

    # A sample
    cdef int begin_block(self) except -1
    cdef int ask_next(self, Sample *x, Py_ssize_t encoded, uint64_t rest) except -1
    cdef void end_batch(self) noexcept
    cdef Py_ssize_t n_reported(self) noexcept
    cdef void report(self, double z, double *out) noexcept
    cdef Py_ssize_t n_mixed(self, Py_ssize_t n_classes) noexcept
    cdef void unit(self, double *mean, double *deviation) noexcept
    cdef void convert(self, double *p, double mean, double deviation) noexcept
    cdef void conclude(self) noexcept
    cdef void find_asked(self, Outcome *y) noexcept
    cdef object keyed(self, sample)
    cdef uint64_t identity(self) except? 0
    cdef int recall(self) except -1
    cdef void answered(self) noexcept
    cdef int step(self, Sample *x, double target, double w) except -1
    cdef double relative(self, double w) noexcept
    cdef void forget_heavy(self, double w) noexcept
    cdef void standardise(self, double target, Outcome *y) noexcept
    cdef void score(self, Outcome *y) noexcept
    cdef int learn_experts(self, const Sample *x, Outcome *y) except -1
    cdef int drop_unreferenced(self, Py_ssize_t i) except -1
    # Room
    cdef int reserve_predictions(self, Py_ssize_t n_classes) except -1
    cdef int assemble(self, Judgement today, Judgement then, Change change) except -1
    cdef void number_predictions(self) noexcept
    # Periodic updates
    cdef int update(self) except -1
    # Reading
    cdef bint referenced(self, Py_ssize_t i) noexcept
