"""Regression trees on the residuals of another expert: a prediction is that expert's plus the expected residual.

Behind the last target the trees learn how targets change from one sample to the next, which often depends on
axis-aligned boxes of the features.  Behind the linear regression and the additive model they learn steps and
interactions: the second stage of gradient boosting for the squared error (Friedman 2001).

Residuals are clipped by their own running statistics.  Otherwise an outlier would split a leaf.
"""

from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.running cimport clipped, running_from, running_state, scale_by, update
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.table cimport Axis

import numpy as np


cdef class ResidualForest(TargetForest):
    """One prediction, from the first one of ``base``; the other parameters are those of ``Trees``.

    With ``as_asked`` a late target is compared with the base's prediction when the sample was asked, not with that of
    today.
    """

    def __init__(self, str name, Expert base, Axis features, int n_trees, *, bint as_asked=False, **options):
        TargetForest.__init__(self, features, n_trees, **options)
        self.name, self.base, self.as_asked = name, base, as_asked

    cdef int ask(self, const Sample *x, double *p) except -1:
        self.vote(x.places, x.scaled, x.size, p)
        p[0] += (p - self.first)[self.base.first]
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef double residual = y.exact - (y.as_asked if self.as_asked else y.p)[self.base.first]
        update(&self.residuals, residual)
        self.take_sample(x.places, x.scaled, x.size, clipped(&self.residuals, residual), y.counts)
        return False

    cdef void rescale(self, double ratio, double shift) noexcept:
        TargetForest.rescale(self, ratio, 0.0)
        scale_by(&self.residuals, ratio)

    def names(self):
        return [f"{self.name}({self.n_trees} trees)"]

    def state(self):
        return TargetForest.state(self) | {"residuals": running_state(&self.residuals)}

    def restore(self, dict state):
        residuals = running_from(state["residuals"], f"the record of the residuals of {self.base.name}")
        TargetForest.restore(self, state)
        self.residuals = residuals

    def units_of(self, merging, each):
        ratio, (scale, offset) = merging.units(each)[0], each.state[self.name]["units"].tolist()
        return np.array([ratio * scale, ratio * offset])  # a shift of the targets cancels in residuals

    def merged(self, merging):
        residuals = merging.running(lambda each: (each.state[self.name]["residuals"], merging.units(each)[0]))
        return TargetForest.merged(self, merging) | {"residuals": residuals}
