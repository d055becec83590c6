"""The mixture behind ``OKLClassifier`` and ``OKLRegressor``: experts that share their points, believed as they predict.

What there is, all over one set of points and one encoding, scaling and pass of dot products per sample:

    6 Gaussian processes    3 kernels x 2 beliefs (posterior.pyx) over ONE dictionary of few points
    2 first-order learners  passive-aggressive, each with a kernel of its own, over ONE pool of many points (classifiers)
    2 linear models         logistic regression at two rates (classifiers)
    1 stack                 a logistic regression on the log-odds of all others (two classes)

A kernel is measured under one of three metrics (metrics.pyx), at a scale m: m times the γ
that a kernel alone would take from the stream.  A prediction is
Σ w_e p_e, with the weights of dynamic model averaging (Raftery et al. 2010)

    log w_e ← DISCOUNT log w_e + log p_e(y | x)

After 2, 3, 5, ... samples the bandwidths follow the stream; from ``FIRST_METRIC`` on, and then whenever the stream has grown
by half, but at least every ``LONGEST`` samples, the metrics are learned from the slopes of the predictions, and the kernel that
was believed least becomes a neighbour of the one that was believed most: m · 4, m / 4, p ± ½.  As the beliefs are about f at
the points, they stay when a kernel changes.

A point belongs to the dictionary, to the pool, or to both; one that neither holds is dropped.
"""

from libc.math cimport M_PI, exp, fabs, fmax, fmin, isfinite, log, sqrt
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcmp, memcpy, memset

import math

import numpy as np

from river_okl._core.calibration cimport Calibration, sigmoid
from river_okl._core.kernel cimport Kernel, loops
from river_okl._core.linalg cimport linalg
from river_okl._core.memory cimport aligned_resize, okl_free
from river_okl._core.metrics cimport METRICS, Metrics
from river_okl._core.points cimport LANES, SPARSE_BELOW, Feature, Points
from river_okl._core.posterior cimport JITTER, Basis, Belief, gaussian, normal, probit
from river_okl._core.sample cimport LARGEST_SELF, Frame, Sample, free_sample, reserve_sample
from river_okl._core.scaler cimport Running, Scaler, numbers_of, running, take_in

from river_okl._core.metrics import POWERS
from river_okl._core.states import checked_points, with_arrays, with_bytes

cdef enum:
    KERNELS = 3
    BELIEFS = 2
    PROCESSES = 6           # KERNELS · BELIEFS
    FIRSTS = 2
    LINEARS = 2
    MOST_EXPERTS = 11       # and the stack
    STACKED = 11            # the others, and a constant

cdef double DISCOUNT = 0.99
cdef double CLIP = 1e-4             # probabilities of experts, before they are mixed or judged
cdef double NOVEL = 1e-3            # of κ(x, x): a sample whose residue is smaller brings no point
cdef double SURE = 0.7              # no point for a label that had this probability, once the dictionary is full
cdef double NEWCOMER = 2.0          # log-weight that a kernel which has moved starts behind
cdef double LEAST_SCALE = 0.005, LARGEST_SCALE = 100.0
cdef int64_t FIRST_METRIC = 200, LONGEST = 2000
cdef int SLOPE_EVERY = 8
cdef int64_t SLOPES_AT_FIRST = 2000     # samples of a regression, all of which give slopes: where few come at all, each counts
cdef double AGGRESSIVENESS = 1.0    # C of PA-I
cdef double SCALE_MEMORY = 0.99     # of the running scale of an expert's squared residuals
cdef double FARTHEST = 5.0          # deviations by which one sample moves the running scale

EARLY = (2, 3, 5, 8, 12, 20, 35, 60, 100, 150)
KERNELS_AT_FIRST = ((0.1, 0), (0.1, 2), (1.5, 2))   # (m, metric)
FIRSTS_AT = ((3.0, 1), (15.0, 0))
RATES = (0.01, 0.03)                                # of the linear models
BELIEFS_OF = {  # (λ, a, σ²)
    "binary": ((1.0, 8.0, 0.0), (0.99, 64.0, 0.0)),
    "multiclass": ((1.0, 1.0, 0.05), (0.99, 1.0, 0.05)),
    "regression": ((1.0, 2.0, 0.03), (0.99, 8.0, 0.03)),
}


cdef class Mixture:
    """Experts over shared points.

    Parameters
    ----------
    terms
        The terms of a ``river_okl.kernels`` kernel.
    budget
        The most points in all.
    dictionary
        How many of them are for the Gaussian processes.
    scale
        Whether features are scaled first.
    regression
        Whether targets are numbers; otherwise they are the numbers of classes, of which there are two at first.
    """

    cdef readonly Points points
    cdef readonly Scaler scaler
    cdef readonly Metrics metrics
    cdef readonly tuple terms
    cdef readonly bint regression
    cdef readonly Py_ssize_t n_classes      # 1: regression
    cdef Py_ssize_t columns                 # of targets: 1, or the classes where there are more than two
    cdef Py_ssize_t most_dictionary, most_pool
    cdef list kernels, bases, beliefs, firsts, calibrations
    cdef double noise[BELIEFS]
    cdef double scale[KERNELS]
    cdef int metric[KERNELS]
    cdef int first_metric[FIRSTS]
    cdef double rates[LINEARS]

    cdef Py_ssize_t n                       # points in the dictionary, and where they are
    cdef int32_t *position                  # [most_dictionary + 1]
    cdef Py_ssize_t capacity                # of what follows, one for each point:
    cdef int32_t *member                    # its number in the dictionary, or -1
    cdef unsigned char *pooled
    cdef Py_ssize_t n_pooled
    cdef double **coef                      # [FIRSTS · columns]

    cdef Py_ssize_t places                  # of what follows, one for each feature:
    cdef double **linear                    # [LINEARS · columns]
    cdef double *bias                       # [LINEARS · columns]

    cdef Py_ssize_t n_experts
    cdef double log_weight[MOST_EXPERTS]
    cdef double weight[MOST_EXPERTS]
    cdef double share[KERNELS]              # of the weight, since kernels moved last
    cdef double sharpness[PROCESSES]        # κ of softmax(κ m) where there are more than two classes
    cdef double curvature[PROCESSES]
    cdef double residual[PROCESSES]         # running squared residual over its predicted variance
    cdef double stack[STACKED]              # its coefficients beyond the mixture's weights, and their covariance
    cdef double *stack_covariance           # [STACKED · STACKED]
    cdef Running target                     # of the targets
    cdef double spread                      # log of what the predicted deviation is multiplied by
    cdef readonly int64_t seen
    cdef int64_t next_update
    cdef int updates

    # scratch: the last sample; never pickled
    cdef Sample samples[2]
    cdef int last
    cdef public bint memo                   # tests switch it off
    cdef bint fresh                         # all that follows is of that sample and today's model
    cdef Py_ssize_t encoded                 # items that the sample came with; centred features that it lacks follow
    cdef bint lacking
    cdef double *values                     # [values_allocated] scaled
    cdef Py_ssize_t values_allocated
    cdef double *squares[METRICS]           # of the dictionary
    cdef double *dots[METRICS]
    cdef double *k[KERNELS]
    cdef double *row[FIRSTS]                # [capacity]
    cdef double own[FIRSTS]                 # κ(x, x) of the first-order learners
    cdef double *loss                       # [capacity]
    cdef double *squared                    # [capacity]
    cdef double *score                      # [FIRSTS · columns]
    cdef double *steps                      # [columns] c of a process
    cdef double log_odds[STACKED]           # of the experts, which the stack is a function of
    cdef double stack_h[STACKED]            # its covariance times these
    cdef double *p                          # [MOST_EXPERTS · n_classes]
    cdef double *mixed                      # [n_classes]
    cdef double *alpha                      # [most_dictionary + 1, rounded up]
    cdef double *work

    # Making ---------------------------------------------------------------------------------------------------------------

    def __init__(self, tuple terms, *, Py_ssize_t budget, Py_ssize_t dictionary, bint scale=True, bint regression=False):
        cdef Py_ssize_t i, room = (dictionary + 1 + 7) // 8 * 8
        cdef int m
        self.terms = terms
        self.memo = True
        self.points = Points(budget + 2)
        self.scaler = Scaler(scale)
        self.metrics = Metrics(self.points, self.scaler)
        self.regression = regression
        self.n_classes = 1 if regression else 2
        self.most_dictionary, self.most_pool = dictionary, budget - dictionary
        self.kernels = [Kernel(terms) for _ in range(KERNELS)]
        self.firsts = [Kernel(terms) for _ in range(FIRSTS)]
        self.calibrations = [Calibration() for _ in range(FIRSTS)]
        self.bases = [Basis(dictionary + 1) for _ in range(KERNELS)]
        for i, (scale_, m) in enumerate(KERNELS_AT_FIRST):
            self.scale[i], self.metric[i] = scale_, m
        for i in range(FIRSTS):
            self.first_metric[i] = FIRSTS_AT[i][1]
        for i in range(LINEARS):
            self.rates[i] = RATES[i]
        self.position = <int32_t *> aligned_resize(NULL, 0, room, 4)
        for m in range(METRICS):
            self.squares[m] = <double *> aligned_resize(NULL, 0, room, 8)
            self.dots[m] = <double *> aligned_resize(NULL, 0, room, 8)
        for i in range(KERNELS):
            self.k[i] = <double *> aligned_resize(NULL, 0, room, 8)
        self.alpha = <double *> aligned_resize(NULL, 0, room, 8)
        self.work = <double *> aligned_resize(NULL, 0, 3 * room, 8)
        self.stack_covariance = <double *> aligned_resize(NULL, 0, STACKED * STACKED, 8)
        for i in range(STACKED):
            self.stack_covariance[i * STACKED + i] = 1.0
        for i in range(PROCESSES):
            self.sharpness[i], self.curvature[i], self.residual[i] = 6.0, 1.0, 1.0
        self.next_update = EARLY[0]
        self.believe("regression" if regression else "binary")
        self.reserve_columns(1)
        self.n_experts = PROCESSES if regression else PROCESSES + FIRSTS + LINEARS + 1
        self.reserve_classes()
        self.weigh()

    def __dealloc__(self):
        cdef Py_ssize_t i
        free_sample(&self.samples[0])
        free_sample(&self.samples[1])
        okl_free(self.position)
        okl_free(self.member)
        okl_free(self.pooled)
        if self.coef != NULL:
            for i in range(FIRSTS * self.columns):
                okl_free(self.coef[i])
        if self.linear != NULL:
            for i in range(LINEARS * self.columns):
                okl_free(self.linear[i])
        okl_free(self.coef)
        okl_free(self.linear)
        okl_free(self.bias)
        okl_free(self.stack_covariance)
        okl_free(self.values)
        for i in range(METRICS):
            okl_free(self.squares[i])
            okl_free(self.dots[i])
        for i in range(KERNELS):
            okl_free(self.k[i])
        for i in range(FIRSTS):
            okl_free(self.row[i])
        okl_free(self.loss)
        okl_free(self.squared)
        okl_free(self.score)
        okl_free(self.steps)
        okl_free(self.p)
        okl_free(self.mixed)
        okl_free(self.alpha)
        okl_free(self.work)

    def __sizeof__(self):
        cdef Py_ssize_t room = (self.most_dictionary + 8) // 8 * 8, total = object.__sizeof__(self)
        total += room * 8 * (2 * METRICS + KERNELS + 4) + room * 4 + STACKED * STACKED * 8
        total += self.capacity * (21 + 8 * FIRSTS * (1 + self.columns))
        total += (self.places + 2) * 8 * LINEARS * self.columns + self.values_allocated * 8
        total += (MOST_EXPERTS + 1) * 8 * self.n_classes + (self.samples[0].allocated + self.samples[1].allocated) * 20
        return total  # River's meter goes on to the parts by itself

    def __reduce__(self):
        return _new, (self.terms, self.budget, self.most_dictionary, self.scaler.active, bool(self.regression)), self.state()

    def __setstate__(self, state):
        self.restore(state)

    cdef int believe(self, str task) except -1:
        """New beliefs over the dictionary that there is."""
        self.beliefs = []
        for basis in self.bases:
            for i, (forgetting, amplitude, noise) in enumerate(BELIEFS_OF[task]):
                self.beliefs.append(Belief(basis, amplitude, forgetting))
                self.noise[i] = noise
        return 0

    cdef int reserve_columns(self, Py_ssize_t columns) except -1:
        """More columns of coefficients, zero so far."""
        cdef Py_ssize_t i, before = self.columns
        self.coef = <double **> aligned_resize(self.coef, FIRSTS * before, FIRSTS * columns, sizeof(double *))
        self.linear = <double **> aligned_resize(self.linear, LINEARS * before, LINEARS * columns, sizeof(double *))
        self.bias = <double *> aligned_resize(self.bias, LINEARS * before, LINEARS * columns, 8)
        self.score = <double *> aligned_resize(self.score, FIRSTS * before, FIRSTS * columns, 8)
        self.steps = <double *> aligned_resize(self.steps, before, columns, 8)
        for i in range(FIRSTS * before, FIRSTS * columns):
            self.coef[i] = <double *> aligned_resize(NULL, 0, self.capacity, 8)
        for i in range(LINEARS * before, LINEARS * columns):
            self.linear[i] = <double *> aligned_resize(NULL, 0, self.places, 8)
        self.columns = columns
        return 0

    cdef int reserve_classes(self) except -1:
        self.p = <double *> aligned_resize(self.p, 0, MOST_EXPERTS * self.n_classes, 8)
        self.mixed = <double *> aligned_resize(self.mixed, 0, self.n_classes, 8)
        return 0

    cdef int reserve_points(self) except -1:
        """Room for as many points as ``points`` have room for."""
        cdef Py_ssize_t i, capacity = self.points.capacity
        self.metrics.reserve_points()
        if capacity > self.capacity:
            self.member = <int32_t *> aligned_resize(self.member, self.capacity, capacity, 4)
            self.pooled = <unsigned char *> aligned_resize(self.pooled, self.capacity, capacity, 1)
            for i in range(FIRSTS * self.columns):
                self.coef[i] = <double *> aligned_resize(self.coef[i], self.capacity, capacity, 8)
            for i in range(FIRSTS):
                self.row[i] = <double *> aligned_resize(self.row[i], self.capacity, capacity, 8)
            self.loss = <double *> aligned_resize(self.loss, 0, capacity, 8)
            self.squared = <double *> aligned_resize(self.squared, 0, capacity, 8)
            self.capacity = capacity
        return 0

    cdef int reserve_places(self) except -1:
        """Room for as many features as the scaler counts."""
        cdef Py_ssize_t i, places
        self.metrics.reserve_places(self.scaler.size)
        if self.scaler.size > self.places:
            places = max(8, self.scaler.size, 2 * self.places)
            for i in range(LINEARS * self.columns):
                self.linear[i] = <double *> aligned_resize(self.linear[i], self.places, places, 8)
            self.places = places
        return 0

    def add_class(self):
        """One class more.  What two classes were told apart by becomes a function for each of them."""
        cdef Py_ssize_t i, e, n = self.n
        cdef Belief old, new
        self.fresh = False
        if self.n_classes > 2:
            self.reserve_columns_of_classes(self.n_classes + 1)
            for belief in self.beliefs:
                (<Belief> belief).add_column()
        else:
            before = self.beliefs
            self.believe("multiclass")
            for e in range(PROCESSES):
                old, new = before[e], self.beliefs[e]
                new.add_column()
                new.add_column()
                new.tell_apart(old)
            self.reserve_columns_of_classes(3)
            for i in range(FIRSTS):
                for e in range(self.points.n):
                    self.coef[i * 3 + 1][e] = sqrt(0.5) * self.coef[i * 3][e]
                    self.coef[i * 3][e] = -self.coef[i * 3 + 1][e]
            for i in range(LINEARS):
                for e in range(self.places):
                    self.linear[i * 3 + 1][e] = 0.5 * self.linear[i * 3][e]
                    self.linear[i * 3][e] = -self.linear[i * 3 + 1][e]
                self.bias[i * 3 + 1] = 0.5 * self.bias[i * 3]
                self.bias[i * 3] = -self.bias[i * 3 + 1]
            self.n_experts = PROCESSES + FIRSTS + LINEARS
        self.n_classes += 1
        self.reserve_classes()
        self.weigh()

    cdef int reserve_columns_of_classes(self, Py_ssize_t columns) except -1:
        """``reserve_columns``, with the columns of each learner side by side."""
        cdef Py_ssize_t i, o, before = self.columns
        cdef double *spare
        self.reserve_columns(columns)
        # from [learner · before + o] to [learner · columns + o], the last learner first; new arrays are at the end
        for i in range(FIRSTS - 1, 0, -1):
            for o in range(before - 1, -1, -1):
                spare = self.coef[i * columns + o]
                self.coef[i * columns + o] = self.coef[i * before + o]
                self.coef[i * before + o] = spare
        for i in range(LINEARS - 1, 0, -1):
            for o in range(before - 1, -1, -1):
                spare = self.linear[i * columns + o]
                self.linear[i * columns + o] = self.linear[i * before + o]
                self.linear[i * before + o] = spare
                self.bias[i * columns + o] = self.bias[i * before + o]
                self.bias[i * before + o] = 0.0
        return 0

    # Predicting -----------------------------------------------------------------------------------------------------------

    cdef int look(self, object sample) except -1:
        """All that the experts say of a sample, as ``learn`` will want it, too."""
        cdef Sample *x = &self.samples[1 - self.last]
        cdef Sample *before = &self.samples[self.last]
        cdef Py_ssize_t i, size, lacking
        self.points.encode(sample, x)
        size = x.size
        if (
            self.fresh
            and self.memo
            and size == self.encoded
            and (size == 0 or (memcmp(x.numbers, before.numbers, size * 8) == 0 and memcmp(x.keys, before.keys, size * sizeof(void *)) == 0))
        ):
            return 0
        self.fresh = False
        self.last = 1 - self.last
        self.encoded = size
        self.scaler.find(x)
        lacking = self.scaler.absent(x)
        self.lacking = lacking > 0
        reserve_sample(x, size + lacking)
        reserve_sample(before, size + lacking)
        if size + lacking > self.values_allocated:
            self.values_allocated = max(8, size + lacking, 2 * self.values_allocated)
            self.values = <double *> aligned_resize(self.values, 0, self.values_allocated, 8)
        for i in range(size):
            self.values[i] = self.scaler.scaled(self.scaler.places[i], x.numbers[i])
        if lacking:
            self.complete(x)
        self.metrics.measure(x, self.values)
        self.ask_processes()
        if not self.regression:
            self.ask_firsts()
            self.ask_linears(x)
            if self.n_classes == 2:
                self.ask_stack()
            self.mix()
        self.fresh = True
        return 0

    cdef int complete(self, Sample *x) except -1:
        """The centred features that a sample lacks follow its items."""
        cdef Py_ssize_t place
        for place in range(self.scaler.size):
            if self.scaler.features[place].key != NULL and self.scaler.features[place].centred and self.scaler.marks[place] != self.scaler.look:
                self.points.look_up(x, x.size, <object> self.scaler.features[place].key)
                x.numbers[x.size] = 0.0
                self.values[x.size] = self.scaler.scaled_absence(place)
                x.size += 1
        return self.scaler.find(x)

    cdef int ask_processes(self) except -1:
        cdef Py_ssize_t i, r, e, o, n = self.n, padded = (n + 7) // 8 * 8
        cdef int b, m
        cdef Kernel kernel
        cdef Basis basis
        cdef Belief belief
        cdef double self_similarity
        for m in range(METRICS):
            for r in range(n):
                self.dots[m][r] = self.metrics.dots[m][self.position[r]]
                self.squares[m][r] = self.metrics.square[m][self.position[r]]
        for i in range(KERNELS):
            kernel, basis, m = self.kernels[i], self.bases[i], self.metric[i]
            self_similarity = kernel.self_similarity(self.metrics.own[m])
            if not self_similarity <= LARGEST_SELF:
                raise ValueError(f"the kernel of this sample with itself is more than {LARGEST_SELF:g}: scale the features")
            if n:
                loops.kernel_row(&kernel.program, self.dots[m], False, self.squares[m], self.metrics.own[m], padded, self.k[i])
            basis.look(self.k[i], self_similarity)
            for b in range(BELIEFS):
                e = i * BELIEFS + b
                belief = self.beliefs[e]
                belief.look(self.k[i])
                if self.regression:
                    continue
                if self.n_classes == 2:
                    self.p[2 * e + 1] = normal(belief.mean[0] / sqrt(1.0 + belief.variance))
                    self.p[2 * e] = 1.0 - self.p[2 * e + 1]
                else:
                    softmax(belief.mean, self.sharpness[e], self.n_classes, self.p + e * self.n_classes)
        return 0

    cdef int ask_firsts(self) except -1:
        cdef Py_ssize_t i, o, e
        cdef int m
        cdef Kernel kernel
        cdef double factor
        for i in range(FIRSTS):
            kernel, m = self.firsts[i], self.first_metric[i]
            self.own[i] = kernel.self_similarity(self.metrics.own[m])
            if self.points.n:
                loops.kernel_row(&kernel.program, self.metrics.dots[m], False, self.metrics.square[m], self.metrics.own[m], self.points.padded(), self.row[i])
            for o in range(self.columns):
                self.score[i * self.columns + o] = loops.inner(self.row[i], self.coef[i * self.columns + o], self.points.padded()) if self.points.n else 0.0
            factor = (<Calibration> self.calibrations[i]).factor()
            e = PROCESSES + i
            if self.n_classes == 2:
                self.p[2 * e + 1] = sigmoid(factor * self.score[i])
                self.p[2 * e] = 1.0 - self.p[2 * e + 1]
            else:
                softmax(self.score + i * self.columns, sqrt(0.5) * factor, self.n_classes, self.p + e * self.n_classes)
        return 0

    cdef int ask_linears(self, const Sample *x) except -1:
        cdef Py_ssize_t i, j, o, e
        cdef double total
        cdef const int32_t *places = self.scaler.places
        for i in range(LINEARS):
            e = PROCESSES + FIRSTS + i
            for o in range(self.columns):
                total = self.bias[i * self.columns + o]
                for j in range(x.size):
                    if 0 <= places[j] < self.places:
                        total += self.linear[i * self.columns + o][places[j]] * self.values[j]
                self.p[e * self.n_classes + o] = total
            if self.n_classes == 2:
                self.p[2 * e + 1] = sigmoid(self.p[2 * e])
                self.p[2 * e] = 1.0 - self.p[2 * e + 1]
            else:
                softmax(self.p + e * self.n_classes, 1.0, self.n_classes, self.p + e * self.n_classes)
        return 0

    cdef int ask_stack(self) except -1:
        """Bayesian logistic regression on top of the mixture's own weights (MacKay's correction for the variance)."""
        cdef double p, total = 0.0
        cdef Py_ssize_t i, e = STACKED - 1
        for i in range(e):
            p = fmin(fmax(self.p[2 * i + 1], 1e-3), 1.0 - 1e-3)
            self.log_odds[i] = log(p / (1.0 - p))
        self.log_odds[e] = 1.0
        linalg.symmetric_times(self.stack_covariance, STACKED, STACKED, 1.0, self.log_odds, 0.0, self.stack_h)
        for i in range(STACKED):
            total += (self.stack[i] + (self.weight[i] if i < e else 0.0)) * self.log_odds[i]
        total /= sqrt(1.0 + M_PI / 8.0 * fmax(0.0, linalg.dot(self.stack_h, self.log_odds, STACKED)))
        self.p[2 * e + 1] = sigmoid(total)
        self.p[2 * e] = 1.0 - self.p[2 * e + 1]
        return 0

    cdef void mix(self) noexcept:
        cdef Py_ssize_t e, o
        cdef double total = 0.0
        for o in range(self.n_classes):
            self.mixed[o] = 0.0
            for e in range(self.n_experts):
                self.mixed[o] += self.weight[e] * fmin(fmax(self.p[e * self.n_classes + o], CLIP), 1.0 - CLIP)
            total += self.mixed[o]
        for o in range(self.n_classes):
            self.mixed[o] /= total

    cdef double deviation(self) noexcept:
        """Of the targets seen."""
        return sqrt(self.target.variance) if self.target.variance > 0.0 else 1.0

    cdef void predict_target(self, double *mean, double *variance) noexcept:
        """Of the mixture, in units of the standardised target."""
        cdef Py_ssize_t e
        cdef Belief belief
        cdef double off
        mean[0] = variance[0] = 0.0
        for e in range(PROCESSES):
            mean[0] += self.weight[e] * (<Belief> self.beliefs[e]).mean[0]
        for e in range(PROCESSES):
            belief = self.beliefs[e]
            off = belief.mean[0] - mean[0]
            variance[0] += self.weight[e] * (self.residual[e] * (belief.variance + self.noise[e % BELIEFS]) + off * off)

    def probabilities(self, sample):
        """P(class | x) of every class."""
        cdef Py_ssize_t o
        self.points.enter()
        try:
            self.look(sample)
            return [self.mixed[o] for o in range(self.n_classes)]
        finally:
            self.points.leave()

    def predict(self, sample):
        """Mean and deviation of the target."""
        cdef double mean = 0.0, variance = 0.0
        self.points.enter()
        try:
            self.look(sample)
            self.predict_target(&mean, &variance)
            return self.target.mean + self.deviation() * mean, self.deviation() * sqrt(variance) * exp(self.spread)
        finally:
            self.points.leave()

    # Learning -------------------------------------------------------------------------------------------------------------

    def learn(self, sample, double target, double w):
        """One sample: a class by its number, or a target."""
        self.points.enter()
        try:
            self.look(sample)
            self.fresh = False
            self.step(&self.samples[self.last], target, w)
        finally:
            self.points.leave()

    cdef int step(self, Sample *x, double target, double w) except -1:
        cdef Py_ssize_t e
        cdef double surprise, likelihood
        cdef bint pool = False
        self.scaler.learn(x, self.encoded, self.lacking)
        self.reserve_places()
        self.metrics.observe(x, self.values)
        self.seen += 1
        if self.regression:
            target = self.standardise(target)
        if w > 0.0:
            surprise = self.judge(target, w)
            if not self.regression:
                self.learn_linears(x, <Py_ssize_t> target, w)
                pool = self.learn_firsts(<Py_ssize_t> target, w)
            if self.n > 1 and (self.seen % SLOPE_EVERY == 0 or (self.regression and self.seen < SLOPES_AT_FIRST)):
                self.learn_slopes(x)
            self.learn_processes(x, target, surprise, w, pool)
        self.points.forget_emptied()
        gone = self.scaler.forget(self.points.vocabulary)
        if gone is not None:
            self.forget(gone)
        if self.seen >= self.next_update:
            self.update()
        return 0

    cdef double standardise(self, double y) except? -1.0:
        """The target in units that include it; what is believed is carried over into them."""
        cdef double mean = self.target.mean, deviation = self.deviation(), ratio, shift
        cdef Py_ssize_t e, i
        cdef Belief belief
        cdef bint again = take_in(&self.target, y)
        if self.seen > 2 and not again:
            ratio, shift = deviation / self.deviation(), (mean - self.target.mean) / self.deviation()
        else:  # what is believed so far is not of this unit
            ratio, shift = 1.0, 0.0
        for e in range(PROCESSES):
            belief = self.beliefs[e]
            belief.mean[0] = ratio * belief.mean[0] + shift
            for i in range(self.n):
                belief.means[i] = ratio * belief.means[i] + shift
        return (y - self.target.mean) / self.deviation()

    cdef double judge(self, double target, double w) except? -1.0:
        """New weights for the experts; how surprising the target is: 1 - p, or its squared residual over the variance."""
        cdef Py_ssize_t e, c = 0 if self.regression else <Py_ssize_t> target
        cdef Belief belief
        cdef double p, variance, residual, mean = 0.0, spread = 0.0, surprise = 0.0, total = 0.0, counts = fmin(w, 10.0)
        if self.regression:
            self.predict_target(&mean, &variance)
            outside = fabs(target - mean) > 1.6448536 * sqrt(variance) * exp(self.spread)
            self.spread = fmin(fmax(self.spread + 0.02 * fmin(w, 1.0) * (<double> outside - 0.1), -3.0), 3.0)
        else:
            surprise = 1.0 - self.mixed[c]
        for e in range(PROCESSES):
            self.share[e // BELIEFS] += self.weight[e]
        for e in range(self.n_experts):
            if self.regression:
                belief = self.beliefs[e]
                variance = belief.variance + self.noise[e % BELIEFS]
                residual = (target - belief.mean[0]) * (target - belief.mean[0]) / variance
                surprise += self.weight[e] * residual / self.residual[e]
                p = exp(-0.5 * residual / self.residual[e]) / sqrt(self.residual[e] * variance) + 1e-6
                self.residual[e] += (fmin(residual, FARTHEST * FARTHEST) - self.residual[e]) * fmax(1.0 / (self.seen + 1), 1.0 - SCALE_MEMORY)
                self.residual[e] = fmax(self.residual[e], 1e-4)
            else:
                p = fmin(fmax(self.p[e * self.n_classes + c], CLIP), 1.0 - CLIP)
            self.log_weight[e] = DISCOUNT * self.log_weight[e] + counts * log(p)
        if self.n_classes > 2:
            for e in range(PROCESSES):
                self.sharpen(e, c)
        if self.n_classes == 2:
            self.learn_stack(c, w)
        self.weigh()
        return surprise

    cdef void weigh(self) noexcept:
        """Weights from their logarithms, the largest of which is 0."""
        cdef Py_ssize_t e
        cdef double largest = self.log_weight[0], total = 0.0
        for e in range(1, self.n_experts):
            largest = fmax(largest, self.log_weight[e])
        for e in range(self.n_experts):
            self.log_weight[e] -= largest
            self.weight[e] = exp(self.log_weight[e])
            total += self.weight[e]
        for e in range(self.n_experts):
            self.weight[e] /= total

    cdef void sharpen(self, Py_ssize_t e, Py_ssize_t c) noexcept:
        """A step of Newton's method for κ of softmax(κ m)."""
        cdef Belief belief = self.beliefs[e]
        cdef const double *p = self.p + e * self.n_classes
        cdef double mean = 0.0, square = 0.0
        cdef Py_ssize_t o
        for o in range(self.n_classes):
            mean += p[o] * belief.mean[o]
            square += p[o] * belief.mean[o] * belief.mean[o]
        self.curvature[e] = 0.995 * self.curvature[e] + fmax(square - mean * mean, 0.0) + 0.005
        self.sharpness[e] = fmin(fmax(self.sharpness[e] + (belief.mean[c] - mean) / self.curvature[e], 1.0), 50.0)

    cdef void learn_stack(self, Py_ssize_t c, double w) noexcept:
        """A Kalman step of logistic regression."""
        cdef double p = self.p[2 * (STACKED - 1) + 1], curvature = fmax(p * (1.0 - p), 0.01) * fmin(w, 10.0), gain
        cdef Py_ssize_t i
        gain = 1.0 / (1.0 / curvature + linalg.dot(self.stack_h, self.log_odds, STACKED))
        for i in range(STACKED):
            self.stack[i] += self.stack_h[i] * gain * (c - p) * fmin(w, 10.0) / curvature
        linalg.rank_one(self.stack_covariance, STACKED, STACKED, -gain, self.stack_h)
        for i in range(STACKED):
            self.stack_covariance[i * STACKED + i] += 1e-5  # so that it goes on learning

    cdef void learn_linears(self, const Sample *x, Py_ssize_t c, double w) noexcept:
        """Stochastic gradient descent on the log loss."""
        cdef Py_ssize_t i, j, o, e
        cdef double error, rate
        cdef const int32_t *places = self.scaler.places
        for i in range(LINEARS):
            e = PROCESSES + FIRSTS + i
            rate = self.rates[i] * fmin(w, 10.0)
            for o in range(self.columns):
                error = c - self.p[2 * e + 1] if self.n_classes == 2 else (c == o) - self.p[e * self.n_classes + o]
                self.bias[i * self.columns + o] += rate * error
                for j in range(x.size):
                    self.linear[i * self.columns + o][places[j]] += rate * error * self.values[j]

    cdef bint learn_firsts(self, Py_ssize_t c, double w) except -1:
        """PA-I on the margin; ``score`` becomes the coefficients of the sample; whether it is needed in the pool."""
        cdef Py_ssize_t i, o, rival, columns = self.columns
        cdef double *score
        cdef double margin, tau, y = 2.0 * c - 1.0
        cdef bint needed = False
        for i in range(FIRSTS):
            score = self.score + i * columns
            rival = 0
            if columns == 1:
                margin = y * score[0]
            else:
                rival = 1 if c == 0 else 0
                for o in range(columns):
                    if o != c and score[o] > score[rival]:
                        rival = o
                margin = sqrt(0.5) * (score[c] - score[rival])
            (<Calibration> self.calibrations[i]).update(margin)
            memset(score, 0, columns * 8)
            if margin >= 1.0 or self.own[i] <= 0.0:
                continue
            needed = True
            tau = w * fmin(AGGRESSIVENESS, (1.0 - margin) / self.own[i])
            if columns == 1:
                score[0] = tau * y
            else:
                score[c], score[rival] = sqrt(0.5) * tau, -sqrt(0.5) * tau
        return needed

    cdef int leave_pool(self) except -1:
        """The point that is missed least makes room, as in BPA: the new one takes over its part along κ(x, ·)."""
        cdef Py_ssize_t i, r, o, best = -1, n = self.points.n
        memset(self.loss, 0, n * 8)
        for i in range(FIRSTS):
            if self.own[i] <= 0.0:
                continue
            memset(self.squared, 0, n * 8)
            for o in range(self.columns):
                add_squares(self.coef[i * self.columns + o], n, self.squared)
            add_losses(self.squared, self.row[i], self.own[i], self.weight[PROCESSES + i] + 0.02, n, self.loss)
        for r in range(n):
            if self.pooled[r] and (best < 0 or self.loss[r] < self.loss[best]):
                best = r
        for i in range(FIRSTS):
            for o in range(self.columns):
                if self.own[i] > 0.0:
                    self.score[i * self.columns + o] += self.coef[i * self.columns + o][best] * self.row[i][best] / self.own[i]
                self.coef[i * self.columns + o][best] = 0.0
        self.pooled[best] = False
        self.n_pooled -= 1
        if self.member[best] < 0:
            self.drop(best)
        return 0

    cdef int learn_slopes(self, const Sample *x) except -1:
        """The squared slope of the mixture's mean at x along each feature that x has, by differences of the kernel row."""
        cdef Py_ssize_t i, j, o, r, e, n = self.n, room = (self.most_dictionary + 8) // 8 * 8, padded = (n + 7) // 8 * 8
        cdef int b, m
        cdef Kernel kernel
        cdef Belief belief
        cdef double step, own, total, of_point, of_own
        cdef double *by_dot = self.work
        cdef double *by_own = self.work + room
        cdef double *means = self.work + 2 * room
        cdef const int32_t *places = self.scaler.places
        slope = np.zeros((self.columns, x.size))
        cdef double[:, ::1] view = slope
        for i in range(KERNELS):
            kernel, m = self.kernels[i], self.metric[i]
            own = self.metrics.own[m]
            step = 1e-6 * fmax(self.metrics.mean_square(m), 1e-12)
            # κ as a function of x · z and of ‖x‖²: the distance depends on both
            for r in range(n):
                self.dots[m][r] -= step
            loops.kernel_row(&kernel.program, self.dots[m], False, self.squares[m], own, padded, by_dot)
            for r in range(n):
                self.dots[m][r] += step
                by_dot[r] = (self.k[i][r] - by_dot[r]) / step
            loops.kernel_row(&kernel.program, self.dots[m], False, self.squares[m], own + step, padded, by_own)
            for r in range(n):
                by_own[r] = (by_own[r] - self.k[i][r]) / step
            for o in range(self.columns):
                memset(means, 0, n * 8)
                for b in range(BELIEFS):
                    belief = self.beliefs[i * BELIEFS + b]
                    for r in range(n):
                        means[r] += self.weight[i * BELIEFS + b] * belief.means[o * belief.basis.capacity + r]
                (<Basis> self.bases[i]).solve(means, self.alpha)
                of_own = 0.0
                for r in range(n):
                    of_own += 2.0 * self.alpha[r] * by_own[r]
                    self.alpha[r] *= by_dot[r]
                for j in range(x.size):
                    of_point = self.along(x.slots[j])
                    view[o, j] += self.metrics.weights[m][places[j]] * (of_own * self.values[j] + of_point)
        for j in range(x.size):
            for o in range(self.columns):
                self.metrics.slopes[places[j]] += view[o, j] * view[o, j]
            self.metrics.slope_counts[places[j]] += 1.0
        return 0

    cdef double along(self, int32_t slot) noexcept:
        """Σ_r alpha[r] z_rj over the dictionary."""
        cdef const Feature *feature
        cdef Py_ssize_t r
        cdef double total = 0.0
        if slot < 0:
            return 0.0
        feature = &self.points.features[slot]
        if feature.dense != NULL:
            for r in range(self.n):
                total += self.alpha[r] * feature.dense[self.position[r]]
        else:
            for r in range(feature.count):
                if self.member[feature.owners[r]] >= 0:
                    total += self.alpha[self.member[feature.owners[r]]] * feature.amounts[r]
        return total

    cdef int learn_processes(self, Sample *x, double target, double surprise, double w, bint pool) except -1:
        """Every process learns; the sample joins the dictionary where it is novel and was not foreseen."""
        cdef Py_ssize_t i, e, o, r = -1, c = 0 if self.regression else <Py_ssize_t> target
        cdef Basis basis
        cdef Belief belief
        cdef bint novel = False
        cdef double b
        for i in range(KERNELS):
            basis = self.bases[i]
            novel = novel or basis.novelty() > NOVEL
        if self.n >= self.most_dictionary and surprise <= (1.0 if self.regression else 1.0 - SURE):
            novel = False
        for e in range(PROCESSES):
            i = e // BELIEFS
            belief = self.beliefs[e]
            belief.forget(self.k[i])
            if self.regression:
                gaussian(target - belief.mean[0], belief.variance, self.noise[e % BELIEFS], w, self.steps, &b)
            elif self.n_classes == 2:
                probit(2.0 * c - 1.0, belief.mean[0], belief.variance, w, self.steps, &b)
            else:
                for o in range(self.columns):
                    gaussian((o == c) - belief.mean[o], belief.variance, self.noise[e % BELIEFS], w, &self.steps[o], &b)
            belief.learn(self.steps, b, self.k[i], novel)
        if novel:
            for i in range(KERNELS):
                (<Basis> self.bases[i]).add()
            self.position[self.n] = -1
            self.n += 1
            if self.n > self.most_dictionary:
                r = self.least()
        if pool and self.n_pooled >= self.most_pool:
            self.leave_pool()
        if r >= 0:
            self.leave_dictionary(r)
        novel = False
        for i in range(self.n):
            if self.position[i] < 0:  # it has joined, and not left at once
                r, novel = i, True
        if pool or novel:
            self.store(x)
            o = self.points.n - 1
            if novel:
                self.position[r], self.member[o] = <int32_t> o, <int32_t> r
            if pool:
                self.pooled[o] = True
                self.n_pooled += 1
                for i in range(FIRSTS * self.columns):
                    self.coef[i][o] = self.score[i]
        return 0

    cdef Py_ssize_t least(self) except -1:
        """The number of the dictionary's point that is missed least, over all experts."""
        cdef Py_ssize_t r, e, o, best = 0
        cdef Belief belief
        cdef double *loss = self.work
        memset(loss, 0, self.n * 8)
        for e in range(PROCESSES):
            belief = self.beliefs[e]
            for o in range(self.columns):
                belief.basis.solve(belief.means + o * belief.basis.capacity, self.alpha)
                for r in range(self.n):
                    loss[r] += (self.weight[e] + 1e-3) * belief.basis.importance(r, self.alpha[r])
        for r in range(1, self.n):
            if loss[r] < loss[best]:
                best = r
        return best

    cdef int leave_dictionary(self, Py_ssize_t r) except -1:
        """The dictionary's point of this number leaves, and its last gets the number."""
        cdef Py_ssize_t e, last = self.n - 1, at = self.position[r]
        for e in range(PROCESSES):
            (<Belief> self.beliefs[e]).remove(r)
        for e in range(KERNELS):
            (<Basis> self.bases[e]).remove(r)
        self.position[r] = self.position[last]
        if r != last and self.position[r] >= 0:
            self.member[self.position[r]] = <int32_t> r
        self.n = last
        if at >= 0:
            self.member[at] = -1
            if not self.pooled[at]:
                self.drop(at)
        return 0

    cdef int store(self, Sample *x) except -1:
        """The sample, scaled, is the last point, of which neither dictionary nor pool know yet."""
        cdef double *numbers = x.numbers
        cdef Py_ssize_t i
        x.numbers, x.square = self.values, self.metrics.own[0]
        try:
            self.points.store(x)
        finally:
            x.numbers = numbers
        self.reserve_points()
        self.metrics.stored()
        i = self.points.n - 1
        self.member[i] = -1
        self.pooled[i] = False
        for e in range(FIRSTS * self.columns):
            self.coef[e][i] = 0.0
        return 0

    cdef int drop(self, Py_ssize_t i) except -1:
        """A point that nobody holds."""
        cdef Py_ssize_t e, last = self.points.n - 1
        self.points.drop(i)
        self.metrics.dropped(i)
        self.member[i] = self.member[last]
        self.pooled[i] = self.pooled[last]
        for e in range(FIRSTS * self.columns):
            self.coef[e][i] = self.coef[e][last]
            self.coef[e][last] = 0.0
        if i != last and self.member[i] >= 0:
            self.position[self.member[i]] = <int32_t> i
        if i != last:  # the rows of the sample at hand, for whoever comes next
            for e in range(FIRSTS):
                self.row[e][i] = self.row[e][last]
        return 0

    cdef int forget(self, list places) except -1:
        """Features that the scaler has forgotten."""
        cdef Py_ssize_t i, place
        self.metrics.forget(places)
        for place in places:
            for i in range(LINEARS * self.columns):
                self.linear[i][place] = 0.0
        return 0

    # Metrics and kernels --------------------------------------------------------------------------------------------------

    cdef int update(self) except -1:
        """Bandwidths follow the stream, metrics the slopes, kernels the weight."""
        cdef Py_ssize_t i, e
        before = self.grams()
        if self.seen < FIRST_METRIC:
            later = [t for t in EARLY if t > self.seen]
            self.next_update = later[0] if later else FIRST_METRIC
        else:
            self.next_update = self.seen + min(LONGEST, self.seen // 2)
            self.updates += 1
            if self.updates > 1:
                self.move_kernel(before)
            for i in range(KERNELS):
                self.share[i] = 0.0
            self.metrics.learn()
        self.tune()
        self.metrics.square_points()
        after = self.grams()
        for i in range(KERNELS):
            self.exchange(i, before[i], after[i])
        return 0

    cdef int exchange(self, Py_ssize_t i, const double[:, ::1] before, const double[:, ::1] after) except -1:
        cdef int b
        if self.n:
            for b in range(BELIEFS):
                (<Belief> self.beliefs[i * BELIEFS + b]).exchange(&before[0, 0], &after[0, 0])
            (<Basis> self.bases[i]).rebuild(&after[0, 0])
        return 0

    cdef int tune(self) except -1:
        """Every γ from today's mean distances."""
        cdef Py_ssize_t i
        cdef int m
        for i in range(KERNELS):
            self.tune_kernel(self.kernels[i], self.metric[i], self.scale[i])
        for i in range(FIRSTS):
            self.tune_kernel(self.firsts[i], FIRSTS_AT[i][1], FIRSTS_AT[i][0])
        return 0

    cdef int tune_kernel(self, Kernel kernel, int m, double scale) except -1:
        kernel.mean_distance = self.metrics.mean_distance(m) / scale
        kernel.mean_square = self.metrics.mean_square(m)
        kernel.radial_self = 0.0
        return kernel.resolve()

    cdef int move_kernel(self, list grams) except -1:
        """The kernel that had less than half of the largest share of the weight becomes a neighbour of the one that had it."""
        cdef Py_ssize_t i, low = 0, high = 0
        cdef int b, m
        cdef double scale
        for i in range(1, KERNELS):
            if self.share[i] < self.share[low]:
                low = i
            if self.share[i] > self.share[high]:
                high = i
        if self.share[low] >= 0.5 * self.share[high]:
            return 0
        there = {(self.scale[i], self.metric[i]) for i in range(KERNELS)}
        for scale, m in (
            (4.0 * self.scale[high], self.metric[high]),
            (0.25 * self.scale[high], self.metric[high]),
            (self.scale[high], self.metric[high] + 1),
            (self.scale[high], self.metric[high] - 1),
        ):
            if (scale, m) in there or not LEAST_SCALE <= scale <= LARGEST_SCALE or not 0 <= m < METRICS:
                continue
            self.scale[low], self.metric[low] = scale, m
            for b in range(BELIEFS):
                (<Belief> self.beliefs[low * BELIEFS + b]).take_over(self.beliefs[high * BELIEFS + b])
                self.residual[low * BELIEFS + b] = self.residual[high * BELIEFS + b]
                self.sharpness[low * BELIEFS + b] = self.sharpness[high * BELIEFS + b]
                self.curvature[low * BELIEFS + b] = self.curvature[high * BELIEFS + b]
                self.log_weight[low * BELIEFS + b] = self.log_weight[high * BELIEFS + b] - NEWCOMER
            grams[low] = grams[high]
            self.weigh()
            return 0
        return 0

    cdef list grams(self):
        """K of the dictionary under every kernel, jitter included."""
        cdef Py_ssize_t i, j, r, s, n = self.n, ld = (<Basis> self.bases[0]).capacity, count, place
        cdef const Feature *feature
        cdef Kernel kernel
        cdef int m
        cdef double w
        products = np.zeros((METRICS, ld, ld))
        cdef double[:, :, ::1] dots = products
        cdef double[:, ::1] gram
        cdef double *z = self.work
        cdef int32_t *who = <int32_t *> self.alpha
        for j in range(self.points.n_slots):
            feature = &self.points.features[j]
            if feature.key == NULL:
                continue
            count = 0
            if feature.dense != NULL:
                for r in range(n):
                    if feature.dense[self.position[r]] != 0.0:
                        z[count], who[count] = feature.dense[self.position[r]], <int32_t> r
                        count += 1
            else:
                for r in range(feature.count):
                    if self.member[feature.owners[r]] >= 0:
                        z[count], who[count] = feature.amounts[r], self.member[feature.owners[r]]
                        count += 1
            place = self.metrics.place_of_slot(j)
            for m in range(METRICS):
                w = self.metrics.weights[m][place] if place >= 0 else 1.0
                for r in range(count):
                    for s in range(count):
                        dots[m, who[r], who[s]] += w * z[r] * z[s]
        found = []
        for i in range(KERNELS):
            kernel, m = self.kernels[i], self.metric[i]
            matrix = aligned_matrix(ld)
            gram = matrix
            for r in range(n):
                self.squares[m][r] = dots[m, r, r]
            for r in range(n):
                for s in range(n):
                    self.dots[m][s] = dots[m, r, s]
                loops.kernel_row(&kernel.program, self.dots[m], False, self.squares[m], dots[m, r, r], (n + 7) // 8 * 8, &gram[r, 0])
                gram[r, r] = kernel.self_similarity(dots[m, r, r]) * (1.0 + JITTER)
            found.append(matrix)
        return found

    # What there is --------------------------------------------------------------------------------------------------------

    def __len__(self):
        return self.points.n

    @property
    def budget(self):
        """The most points in all."""
        return self.most_dictionary + self.most_pool

    @property
    def dictionary(self):
        """The positions of the points that the Gaussian processes share."""
        cdef Py_ssize_t r
        return [self.position[r] for r in range(self.n)]

    @property
    def pool(self):
        """The positions of the points of the first-order learners."""
        cdef Py_ssize_t i
        return [i for i in range(self.points.n) if self.pooled[i]]

    @property
    def target_mean(self):
        """Of the targets seen."""
        return self.target.mean

    @property
    def experts(self):
        """(name, weight) of every expert, by which it counts in the next prediction."""
        cdef Py_ssize_t i, e
        names = []
        for i in range(KERNELS):
            for forgetting, amplitude, noise in BELIEFS_OF[self.task]:
                of_noise = f", noise={noise:g}" if noise else ""
                names.append(f"process(kernel={i + 1}, forgetting={forgetting:g}, amplitude={amplitude:g}{of_noise})")
        if not self.regression:
            names += [f"pool(scale={scale:g}, power={POWERS[m]:g})" for scale, m in FIRSTS_AT]
            names += [f"linear(learning_rate={rate:g})" for rate in RATES]
            names += ["stack"] if self.n_classes == 2 else []
        return [(name, self.weight[e]) for e, name in enumerate(names)]

    @property
    def kernels_in_use(self):
        """(scale m, power p) of the kernels of the Gaussian processes, which move."""
        cdef Py_ssize_t i
        return [(self.scale[i], POWERS[self.metric[i]]) for i in range(KERNELS)]

    @property
    def task(self):
        return "regression" if self.regression else "binary" if self.n_classes == 2 else "multiclass"

    def feature_weights(self):
        """Feature name -> weight in the distances, as the experts that are believed measure them; the mean is 1."""
        cdef Py_ssize_t i, e
        mixed = [1e-9, 0.0, 0.0]
        for e in range(PROCESSES):
            mixed[self.metric[e // BELIEFS]] += self.weight[e]
        if not self.regression:
            for i in range(FIRSTS):
                mixed[FIRSTS_AT[i][1]] += self.weight[PROCESSES + i]
        return self.metrics.feature_weights(mixed)

    def most_believed(self):
        """Mean ‖x-x'‖² over the scale, and mean ‖x‖², of the kernel that is believed most."""
        cdef Py_ssize_t i, b, best = 0
        beliefs = [sum([self.weight[i * BELIEFS + b] for b in range(BELIEFS)]) for i in range(KERNELS)]
        best = beliefs.index(max(beliefs))
        return (<Kernel> self.kernels[best]).mean_distance, (<Kernel> self.kernels[best]).mean_square

    def coefficients(self):
        """Of every point in the mixture's mean, kernels and scales aside: an array (points, columns)."""
        cdef Py_ssize_t i, e, o, r
        cdef Belief belief
        out = np.zeros((self.points.n, self.columns))
        cdef double[:, ::1] view = out
        for e in range(PROCESSES):
            belief = self.beliefs[e]
            for o in range(self.columns):
                belief.basis.solve(belief.means + o * belief.basis.capacity, self.alpha)
                for r in range(self.n):
                    view[self.position[r], o] += self.weight[e] * self.alpha[r]
        if not self.regression:
            for i in range(FIRSTS):
                for o in range(self.columns):
                    for r in range(self.points.n):
                        view[r, o] += self.weight[PROCESSES + i] * self.coef[i * self.columns + o][r]
        return out * self.deviation() if self.regression else out

    def contributions(self, sample):
        """What each point adds to the mixture's mean at a sample: an array (points, columns).

        The linear models and the stack have no points.
        """
        cdef Py_ssize_t i, e, o, r, b
        cdef Belief belief
        self.points.enter()
        try:
            self.look(sample)
            out = np.zeros((self.points.n, self.columns))
            for e in range(PROCESSES):
                belief = self.beliefs[e]
                for o in range(self.columns):
                    belief.basis.solve(belief.means + o * belief.basis.capacity, self.alpha)
                    for r in range(self.n):
                        out[self.position[r], o] += self.weight[e] * self.alpha[r] * self.k[e // BELIEFS][r]
            if not self.regression:
                for i in range(FIRSTS):
                    for o in range(self.columns):
                        for r in range(self.points.n):
                            out[r, o] += self.weight[PROCESSES + i] * self.coef[i * self.columns + o][r] * self.row[i][r]
            return out * self.deviation() if self.regression else out
        finally:
            self.points.leave()

    @property
    def norm2(self):
        """‖E f‖² of the processes, over all columns, averaged by their weights."""
        cdef Py_ssize_t e, o
        cdef Belief belief
        cdef double total = 0.0, mass = 0.0
        for e in range(PROCESSES):
            belief = self.beliefs[e]
            mass += self.weight[e]
            for o in range(self.columns):
                belief.basis.solve(belief.means + o * belief.basis.capacity, self.alpha)
                total += self.weight[e] * linalg.dot(self.alpha, belief.means + o * belief.basis.capacity, self.n)
        return max(0.0, total) / mass if mass > 0.0 else 0.0

    def _check(self):
        """The invariants, by brute force."""
        cdef Py_ssize_t i, r
        cdef int m
        self.points.check()
        n = self.points.n
        dictionary, pool = self.dictionary, self.pool
        assert len(dictionary) == self.n <= self.most_dictionary and len(pool) == self.n_pooled <= self.most_pool
        assert sorted({*dictionary, *pool}) == list(range(n)), "every point is held"
        assert all(self.member[self.position[r]] == r for r in range(self.n))
        assert sum(self.member[i] >= 0 for i in range(n)) == self.n
        assert all(self.coef[e][i] == 0.0 for e in range(FIRSTS * self.columns) for i in range(self.capacity) if i >= n or not self.pooled[i])
        before = [[self.metrics.square[m][i] for i in range(n)] for m in range(METRICS)]
        self.metrics.square_points()
        after = [[self.metrics.square[m][i] for i in range(n)] for m in range(METRICS)]
        np.testing.assert_allclose(before, after, rtol=1e-9, atol=1e-12)
        for m in range(METRICS):
            for i in range(n):
                self.metrics.square[m][i] = before[m][i]
        for i, gram in enumerate(self.grams()):
            gram = np.asarray(gram)[: self.n, : self.n]
            if self.n:
                residual = np.abs(self.bases[i].matrix() @ gram - np.eye(self.n)).max()
                assert residual < 1e-5, "K⁻¹ is the inverse of K"
        names = {*self.scaler.statistics()}
        assert len(names) == len(self.scaler.index) and self.scaler.n_centred == sum([centred for *_, centred in self.scaler.statistics().values()])

    def state(self):
        """All of it by name; what ``restore`` takes."""
        cdef Py_ssize_t i, e, n = self.points.n, places = self.scaler.size
        def numbers(values):
            return np.array(values, dtype=np.float64)
        return {
            "points": with_arrays(self.points.state()),
            "scaler": self.scaler.state(),
            "metrics": self.metrics.state(),
            "n_classes": self.n_classes,
            "dictionary": np.array(self.dictionary, dtype=np.int32),
            "pool": np.array(self.pool, dtype=np.int32),
            "coef": numbers([[self.coef[e][i] for i in range(n)] for e in range(FIRSTS * self.columns)]).reshape(FIRSTS * self.columns, n),
            "linear": numbers([[self.linear[e][i] for i in range(places)] for e in range(LINEARS * self.columns)]).reshape(LINEARS * self.columns, places),
            "bias": numbers([self.bias[e] for e in range(LINEARS * self.columns)]),
            "kernels": numbers([[self.scale[i], self.metric[i], self.share[i]] for i in range(KERNELS)]),
            "gammas": [(kernel.mean_distance, kernel.mean_square) for kernel in self.kernels + self.firsts],
            "bases": [basis.state() for basis in self.bases],
            "beliefs": [belief.state() for belief in self.beliefs],
            "log_weights": numbers([self.log_weight[e] for e in range(MOST_EXPERTS)]),
            "processes": numbers([[self.sharpness[e], self.curvature[e], self.residual[e]] for e in range(PROCESSES)]),
            "calibrations": [calibration.__getstate__() for calibration in self.calibrations],
            "stack": numbers([self.stack[i] for i in range(STACKED)]),
            "stack_covariance": numbers([self.stack_covariance[i] for i in range(STACKED * STACKED)]),
            "target": (*[float(number) for number in numbers_of(&self.target)], self.spread),
            "counts": (self.seen, self.next_update, self.updates),
        }

    def restore(self, dict state):
        """Go on from a state, every number of which is checked: it may come from anywhere."""
        cdef Py_ssize_t i, e, n, columns, places
        points = with_bytes(state["points"])
        checked = checked_points(points, self.points.most, LANES, SPARSE_BELOW)
        classes = state["n_classes"]
        if type(classes) is not int or not (classes == 1 if self.regression else 2 <= classes <= 2**20):
            raise ValueError(f"a mixture of {classes!r} classes")
        seen, next_update, updates = state["counts"]
        if not all(type(count) is int and 0 <= count < 2**62 for count in (seen, next_update)) or type(updates) is not int or not 0 <= updates < 2**31:
            raise ValueError("the counts of a mixture are out of range")
        # the sizes first
        columns = 1 if classes <= 2 else classes
        names = points["names"]
        n, places = len(checked["birth"]), len(state["scaler"]["names"]) + state["scaler"]["free"].size  # free ones count, too
        arrays = {
            "coef": (FIRSTS * columns, n), "linear": (LINEARS * columns, places), "bias": (LINEARS * columns,), "kernels": (KERNELS, 3),
            "log_weights": (MOST_EXPERTS,), "processes": (PROCESSES, 3), "stack": (STACKED,), "stack_covariance": (STACKED * STACKED,),
        }  # fmt: skip
        for name, shape in arrays.items():
            if state[name].shape != shape or not np.isfinite(state[name]).all():
                raise ValueError(f"{name} of a mixture does not match, or is not finite")
        dictionary, pool = state["dictionary"], state["pool"]
        for chosen, most in (dictionary, self.most_dictionary), (pool, self.most_pool):
            if chosen.ndim != 1 or chosen.size > most or np.unique(chosen).size != chosen.size or (chosen.size and not 0 <= chosen.min() <= chosen.max() < n):
                raise ValueError("the points of a mixture do not match")
        if np.union1d(dictionary, pool).size != n:
            raise ValueError("a point that nobody holds")
        scale, metric, share = state["kernels"].T
        if not ((scale >= LEAST_SCALE).all() and (scale <= LARGEST_SCALE).all() and np.isin(metric, range(METRICS)).all() and (share >= 0.0).all()):
            raise ValueError("the kernels of a mixture are out of range")
        if state["log_weights"].max() > 0.0 or state["processes"].min() <= 0.0:
            raise ValueError("the weights of a mixture are out of range")
        if not len(state["target"]) == 7 or not all(type(number) is float and isfinite(number) for number in state["target"]) or abs(state["target"][6]) > 3.0:
            raise ValueError("the target's scale is out of range")
        for means in state["gammas"]:
            if not all(type(mean) is float and 0.0 <= mean < math.inf for mean in means):
                raise ValueError("the bandwidths of a mixture are out of range")
        if not len(state["gammas"]) == KERNELS + FIRSTS or len(state["bases"]) != KERNELS or len(state["beliefs"]) != PROCESSES or len(state["calibrations"]) != FIRSTS:
            raise ValueError("the experts of a mixture do not match")
        # then what they are filled with
        while self.n_classes < classes:
            self.add_class()
        while self.points.capacity < points["capacity"]:
            self.points.grow(self.points.next_capacity())
        self.points.restore(points, checked)
        self.scaler.restore(state["scaler"])
        self.reserve_places()
        self.reserve_points()
        self.metrics.restore(state["metrics"])
        self.n = dictionary.size
        for i in range(n):
            self.member[i] = -1
        for i in range(self.n):
            self.position[i] = dictionary[i]
            self.member[self.position[i]] = <int32_t> i
        for i in pool:
            self.pooled[i] = True
        self.n_pooled = pool.size
        for e in range(FIRSTS * columns):
            for i in range(n):
                self.coef[e][i] = state["coef"][e, i]
        for e in range(LINEARS * columns):
            self.bias[e] = state["bias"][e]
            for i in range(places):
                self.linear[e][i] = state["linear"][e, i]
        for i in range(KERNELS):
            self.scale[i], self.metric[i], self.share[i] = scale[i], <int> metric[i], share[i]
        for kernel, (mean_distance, mean_square) in zip(self.kernels + self.firsts, state["gammas"]):
            (<Kernel> kernel).mean_distance = mean_distance
            (<Kernel> kernel).mean_square = mean_square
            (<Kernel> kernel).radial_self = 0.0
            (<Kernel> kernel).resolve()
        for basis, saved in zip(self.bases, state["bases"]):
            basis.restore(saved)
            if (<Basis> basis).n != self.n:
                raise ValueError("the dictionary of a mixture does not match")
        for belief, saved in zip(self.beliefs, state["beliefs"]):
            belief.restore(saved)
            if (<Belief> belief).columns != columns:
                raise ValueError("the beliefs of a mixture do not match its classes")
        for e in range(MOST_EXPERTS):
            self.log_weight[e] = state["log_weights"][e]
        for e in range(PROCESSES):
            self.sharpness[e], self.curvature[e], self.residual[e] = state["processes"][e]
        for calibration, saved in zip(self.calibrations, state["calibrations"]):
            calibration.__setstate__(tuple(saved))
        for i in range(STACKED):
            self.stack[i] = state["stack"][i]
        for i in range(STACKED * STACKED):
            self.stack_covariance[i] = state["stack_covariance"][i]
        *numbers, self.spread = state["target"]
        self.target = running(numbers)
        self.seen, self.next_update, self.updates = seen, next_update, updates
        self.weigh()
        self.fresh = False


cdef void softmax(const double *scores, double factor, Py_ssize_t n, double *out) noexcept nogil:
    cdef Py_ssize_t o
    cdef double largest = scores[0], total = 0.0
    for o in range(1, n):
        largest = fmax(largest, scores[o])
    for o in range(n):
        out[o] = exp(factor * (scores[o] - largest))
        total += out[o]
    for o in range(n):
        out[o] /= total


cdef void add_squares(const double *values, Py_ssize_t n, double *out) noexcept nogil:
    cdef Py_ssize_t r
    for r in range(n):
        out[r] += values[r] * values[r]


cdef void add_losses(const double *squared, const double *row, double own, double weight, Py_ssize_t n, double *out) noexcept nogil:
    """out += weight α² δ²/κ(x, x) for every point, from α² and κ(z, x): a part of what is lost where x takes its place."""
    cdef Py_ssize_t r
    cdef double gap, inverse = 1.0 / own
    for r in range(n):
        gap = own - row[r] * row[r] * inverse
        out[r] += weight * inverse * squared[r] * (gap if gap > 0.0 else 0.0)


cdef object aligned_matrix(Py_ssize_t n):
    """Zeros whose rows the vector loops may write: n is a multiple of 8."""
    room = np.zeros(n * n + 8)
    start = (-room.ctypes.data % 64) // 8
    return room[start : start + n * n].reshape(n, n)


def _new(terms, budget, dictionary, scale, regression):
    return Mixture(terms, budget=budget, dictionary=dictionary, scale=scale, regression=regression)
