"""Prediction intervals for a target, of several coverages, calibrated on the intervals issued so far.

A half width is a scale times a factor.  The scale is the running absolute error times the output of a
log-linear model of the mixture's standard deviation, the latest errors and the size of the last change.  The
model is fitted to the likelihood of a Laplace distribution, log s + |e| / s, by recursive least squares.
Each coverage c has a factor, which grows after a target outside of the interval and shrinks after a target
inside (Gibbs and Candès 2021):

    log q_c ← log q_c + η (1{|y - m| > q_c s} - (1 - c))

so that in the long run the share c of the targets is inside, whatever the stream.  A factor stays between 1/20 and 20:
otherwise it would shrink without limit while every target is inside, for example if a sensor is stuck.  RUN outliers in
a row show that the size of errors has changed, and everything restarts.
"""

from libc.math cimport exp, fabs, fmax, fmin, log, sqrt

from river_okl._core.states import LARGEST_COUNT

KNOTS = (0.5, 0.8, 0.9, 0.95, 0.99)
# half widths of these coverages for the standard normal distribution
NORMAL = (0.6744897501960817, 1.2815515655446004, 1.6448536269514722, 1.959963984540054, 2.5758293035489004)
SCALE = 0.1, 4e-6               # prior variance of a coefficient of the scale, and its growth per sample
cdef double[COVERAGES] coverages = KNOTS
cdef double[COVERAGES] normal = NORMAL
cdef double RATE = 0.02         # η; AT_FIRST / √t while that is larger
cdef double AT_FIRST = 0.4
cdef double SLOW = 0.01, FAST = 0.2
cdef double LARGEST_ERROR = 10.0    # in running errors
cdef int64_t RUN = 10           # number of larger errors in a row that indicates a change of the stream
cdef double MEAN = 4.0          # the rate of running errors is MEAN / t, between FAST and SLOW
cdef double MOST = 5.0          # bound of an error for the model of the scale, in scales
cdef double FARTHEST = 5.0      # bound of an input, and of the logarithm of the scale in running errors
cdef double LEAST_RATIO = 0.05  # of the latest errors to the running ones, and of changes
cdef double STEP = 1e-3         # least difference between the logarithms of adjacent coverages
cdef double LEAST_SIZE = 1e-4, LARGEST_SIZE = 1e9, LARGEST_LOG = log(20.0)


cdef class Intervals(Expert):
    """An expert without predictions: the half widths around the mixture's mean."""

    def __init__(self):
        self.name = "intervals"
        self.scale = self.contain("scale", Ridge(CAUSES, *SCALE))
        error = {"high": LARGEST_SIZE, "power": 1}
        self.declare(<size_t> &self.size, "size", (), low=LEAST_SIZE, **error)
        self.declare(<size_t> &self.recent, "recent", (), low=0.0, **error)
        self.declare(<size_t> &self.change, "change", (), low=0.0, **error)
        self.declare(<size_t> &self.mean_change, "mean_change", (), default=1.0, low=LEAST_SIZE, **error)
        self.declare(
            <size_t> &self.log_factor, "log_factors", (COVERAGES,), low=-LARGEST_LOG, high=LARGEST_LOG
        )
        self.declare(<size_t> &self.seen, "seen", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.run, "run", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.restart(1.0)

    cdef void restart(self, double size) noexcept:
        """Restart with ``size`` as the size of an error."""
        cdef Py_ssize_t i
        for i in range(CAUSES):
            self.scale.restart(i)
        self.scale.coef[1] = 1.0
        self.size = self.recent = fmin(fmax(size, LEAST_SIZE), LARGEST_SIZE)
        for i in range(COVERAGES):
            self.log_factor[i] = log(normal[i])
        self.seen = self.run = 0

    cdef double predict_scale(self, double size, const double *inputs) noexcept:
        """Return the scale that the current model predicts from these inputs and this running error."""
        cdef Py_ssize_t i
        for i in range(CAUSES):
            self.scale.inputs[i] = inputs[i]
        self.scale.ask()
        return size * exp(fmin(fmax(self.scale.mean, -FARTHEST), FARTHEST))

    cdef void issue(self, double deviation, double noise, bint new, Issued *issued) noexcept:
        """Write all but the mean, given the mixture's standard deviation, the logarithm of the error that the memory
        expects, and whether the sample has an unknown feature or string."""
        cdef double *inputs = issued.causes
        cdef double scale, last = -2.0 * LARGEST_LOG
        cdef Py_ssize_t i
        issued.size = self.size
        inputs[0] = 1.0
        inputs[1] = log(fmax(deviation, LEAST_SIZE) / self.size)
        inputs[2] = log(fmax(self.recent / self.size, LEAST_RATIO))
        inputs[3] = log(fmax(self.change / self.mean_change, LEAST_RATIO))
        inputs[4], inputs[5] = noise, <double> new
        for i in range(CAUSES):
            inputs[i] = fmin(fmax(inputs[i], -FARTHEST), FARTHEST)
        scale = self.predict_scale(self.size, inputs)
        for i in range(COVERAGES):
            last = fmax(self.log_factor[i], last + STEP)
            issued.half[i] = scale * exp(last)

    cdef void score(self, const Outcome *y, const Issued *issued, double change) noexcept:
        """Update factors, the model of the scale and running errors, given a target and its change from the last one.

        Errors of late targets come in runs, because none was known when the others were predicted.  So the factors
        follow more slowly, and not at all if they have restarted since; and the model of the scale learns from what it
        would predict now: by the scales of then, such a run would change its coefficients again and again.
        """
        cdef Py_ssize_t i
        cdef double error = fabs(y.exact - issued.mean), ratio, rate
        ratio = fmin(error / self.predict_scale(issued.size, issued.causes), MOST)
        self.run = self.run + 1 if error > LARGEST_ERROR * self.size else 0
        if self.run >= RUN:
            self.restart(error)
            self.scale.ask()
        self.seen += 1
        rate = y.counts * fmax(RATE, AT_FIRST / sqrt(self.seen + 1.0)) / (1.0 + sqrt(<double> y.late))
        if y.late < self.seen:
            for i in range(COVERAGES):
                self.log_factor[i] += rate * (<double> (error > issued.half[i]) - (1.0 - coverages[i]))
                self.log_factor[i] = fmin(fmax(self.log_factor[i], -LARGEST_LOG), LARGEST_LOG)
        self.scale.learn(ratio - 1.0, 1.0 / y.counts)
        rate = fmax(SLOW, fmin(FAST, MEAN / self.seen))
        error = fmin(error, fmin(LARGEST_ERROR * self.size, LARGEST_SIZE))
        self.size = fmax(self.size + rate * (error - self.size), LEAST_SIZE)
        self.recent += FAST * (error - self.recent)
        self.change = fmin(fabs(change), fmin(LARGEST_ERROR * self.mean_change, LARGEST_SIZE))
        self.mean_change = fmax(self.mean_change + rate * (self.change - self.mean_change), LEAST_SIZE)
