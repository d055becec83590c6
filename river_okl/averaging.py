"""Averages of all models that an algorithm has been, from the one kernel row that its last model needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from river_okl._core.expansion import Frame
from river_okl.base import KernelModel


class AveragedExpansion(KernelModel):
    """f̄ = (1/T) Σ_{t≤T} f_t, for algorithms that add support vectors and change nothing else.

    A point that sample t_i brought with coefficient a_i is in T - t_i of the T models. So f̄ = Σ (a_i - a_i t_i / T) κ_i:
    output 0 of the expansion has the coefficients a_i, output 1 has a_i t_i. After t samples T = t + 1, and f_1 = 0.

    The class has ``averaged`` and ``_t``, the number of the sample that is learned; ``averaged`` makes ``n_outputs`` 2.
    """

    averaged: bool
    _t: int

    def _add_averaged(self, c: float) -> None:
        """f ← f + c κ(x, ·)"""
        f = self._f
        f.add(c)
        if self.averaged:
            f.shift(len(f) - 1, c * self._t, 1)

    def _decision(self, x: Any) -> float:
        f = self._f
        value = f.evaluate(x)
        return value - f.output(1) / (self._t + 1) if self.averaged else value

    def _decisions(self, frame: Frame) -> NDArray[np.float64]:
        outputs = self._f.evaluate_many(frame)
        return outputs[:, 0] - outputs[:, 1] / (self._t + 1) if self.averaged else outputs[:, 0]
