"""The memory of ``OKLClassifier``: probabilities by trees and by nearest rows (memory.pyx)."""

from libc.math cimport log

import numpy as np

from river_okl._core.memory.nearest cimport LATEST, OF_ALL, OF_LATEST
from river_okl._core.mixture.expert cimport Outcome
from river_okl._core.store.sample cimport Sample
from river_okl._core.store.scaler cimport Scaler

cdef double LEAST = 1e-4            # of a probability in a loss


cdef class ClassMemory(Memory):
    """Probabilities of every class."""

    def __init__(self, Scaler scaler, Py_ssize_t max_rows):
        Memory.__init__(self, scaler, max_rows, False)
        self.n_classes, self.of_classes = 2, ClassTrees(self.latest)
        self.assemble((self.of_classes,))

    cdef int ask(self, const Sample *x, double *p) except -1:
        cdef Py_ssize_t n = self.n_classes
        self.latest.begin(x)
        self.of_classes.ask()
        self.of_classes.write_probabilities(p)
        self.nearest.measure()
        self.nearest.write_probabilities(LATEST, OF_LATEST, n, p + n)
        self.nearest.write_probabilities(self.nearest.searched(), OF_ALL, n, p + 2 * n)
        return 0

    cdef bint learn(self, const Sample *x, const Outcome *y) except -1:
        cdef double p = y.p[self.first * self.n_classes + <Py_ssize_t> y.target]
        self.add_row(x, y, -log(p if p > LEAST else LEAST))
        return False

    cdef int add_class(self) except -1:
        self.n_classes += 1
        return self.of_classes.add_class() if self.n_classes > 2 else 0

    def restore(self, dict state):
        if not np.isin(state["rows"]["targets"], range(self.n_classes)).all():
            raise ValueError(f"a row of a class that is none of {self.n_classes}")
        Memory.restore(self, state)
