"""Averages of the models that an algorithm has been, at the price of its last one."""

from __future__ import annotations

from river_okl.model import KernelModel, Summand


class AveragedExpansion(KernelModel):
    """f̄ = (1/T) Σ_{t≤T} f_t, for algorithms that add support vectors and change nothing else.

    A point that sample t_i brought with coefficient a_i is in T - t_i of the T models: f̄ = Σ (a_i - a_i t_i / T) κ_i.
    Output 0 of the expansion has the coefficients a_i, output 1 has a_i t_i. After t samples T = t + 1, and f_1 = 0.

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

    def _summands(self) -> list[Summand]:
        return [(self._f, (1.0, -1.0 / (self._t + 1)) if self.averaged else (1.0,))]
