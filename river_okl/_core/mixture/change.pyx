"""Whether the stream has changed between the predictions and the labels that come now.

The losses of late predictions are averaged over FAST samples.  This average f has a mean m and a variance v over SLOW
samples.  If f > m + k √v + least, the stream has changed: predictions whose labels are still to come are of the old
concept, until all of them have come or f is below that bound again.  If labels come in bursts, v is large and only
large rises count as changes.
"""

from libc.math cimport fmax, fmin, sqrt

from river_okl._core.states import LARGEST_COUNT

LARGEST = 1e20                      # of an average of losses, and of their variance
cdef double largest_loss = 1e9
cdef double FAST = 50.0, SLOW = 3000.0
cdef int64_t UNKNOWN = 100          # initial samples with high losses; no change is detected in twice as many


cdef class Change(Table):
    """A detector for changes between prediction and label.

    Parameters
    ----------
    deviations
        k.
    least
        Minimum rise of f above m + k √v.
    """

    def __init__(self, double deviations, double least):
        self.deviations, self.least = deviations, least
        loss = {"low": 0.0, "high": LARGEST}
        self.declare(<size_t> &self.fast, "fast", (), power=1, **loss)
        self.declare(<size_t> &self.mean, "mean", (), power=1, **loss)
        self.declare(<size_t> &self.variance, "variance", (), power=2, **loss)
        self.declare(<size_t> &self.bar, "bar", (), power=1, **loss)
        self.declare(<size_t> &self.seen, "seen", (), dtype="i8", low=0, high=LARGEST_COUNT)
        self.declare(<size_t> &self.left, "left", (), dtype="i8", low=0, high=LARGEST_COUNT)

    cdef void restart(self) noexcept:
        """Forget all losses."""
        self.fast = self.mean = self.variance = self.bar = 0.0
        self.seen = self.left = 0

    cdef void take(self, double loss, int64_t late) noexcept:
        """Add the loss of a prediction whose label comes after ``late`` others."""
        cdef double off, bar, rate
        self.seen += 1
        loss = fmin(loss, largest_loss)
        self.fast += (loss - self.fast) * fmax(1.0 / FAST, 1.0 / self.seen)
        if self.seen <= UNKNOWN:
            self.mean = self.fast
            return
        bar = self.mean + self.deviations * sqrt(self.variance) + self.least
        if self.left > 0:
            self.left = self.left - 1 if self.fast > self.bar else 0
        elif self.seen > 2 * UNKNOWN and self.fast > bar:
            self.left, self.bar = late + <int64_t> FAST, bar
        off, rate = self.fast - self.mean, fmax(1.0 / SLOW, 1.0 / (self.seen - UNKNOWN + 1.0))
        self.mean += rate * off
        self.variance += rate * (off * (self.fast - self.mean) - self.variance)
