"""Averages of the models that an algorithm has been, at the price of its last one."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from river_okl._core.function.expansion import Expansion
from river_okl._core.states import LARGEST_NUMBER
from river_okl.model import Composite, KernelModel, Part


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

    def _weights(self) -> tuple[float, ...]:
        return (1.0, -1.0 / (self._t + 1)) if self.averaged else (1.0,)

    def _decision(self, x: Any) -> float:
        value: float = self._f.evaluate(x, self._weights())
        return value

    def _predicted(self, p: float) -> float:
        return self._f.value(self._weights()) if self.averaged else p


class SuffixAverage(Composite):
    """The mean of the last n = ⌈suffix · T⌉ of w_1, ..., w_T, for models w_{t+1} = (1/t) Σ_{i ∈ S_t} c_i κ_i.

    The c_i are constants, and points join S at a step and leave it at a step, for good. After t steps T = t + 1,
    w_1 = 0, and the window has w_{s+1} for s = L, ..., t with L = T - n. In their sum a point that joined at step a has
    the coefficient c_i (H(e) - H(max(a, L) - 1)), H(m) = 1 + 1/2 + ... + 1/m, where e = t, or r - 1 if it left at step
    r. So the sum is t (H(t) f_0 + f_1 - H(L-1) f_2) + g_0 - H(L-1) g_1 with the outputs

        f_0 = w    f_1: -c_i H(a-1) / t where a ≥ L    f_2: c_i / t where a < L
        g_0: c_i (H(r-1) - H(a-1)) where a ≥ L, c_i H(r-1) where a < L    g_1: c_i where a < L

    of the expansion f of S and another, g, of the points that left S and are still in the window (L < r). A step moves
    L by one at most, so only what joined at L or left at L + 1 is touched: O(1) a step.
    """

    suffix: float
    _t: int

    def _start_average(self) -> None:
        self._g = Expansion(self._f.kernel.terms, n_outputs=2)
        self._low = 0  # L
        self._upper = 0.0  # H(t)
        self._lower = 0.0  # H(L-1)
        self._steps: list[int] = []  # a of every point of f, by position
        self._positions: dict[int, int] = {}  # and the position of every a
        self._steps_left: list[int] = []  # the same for g
        self._positions_left: dict[int, int] = {}
        self._constants_left: dict[int, float] = {}  # c of every a in g
        self._leavers: dict[int, int] = {}  # a of the point that left at step r

    def _check_state(self) -> None:
        super()._check_state()
        if not self.suffix:
            return
        t, low, left = self._t, self._low, self._positions_left
        target = max(0, t + 1 - math.ceil(self.suffix * (t + 1)))
        steps = [*self._steps, *self._steps_left, *self._leavers, *self._leavers.values()]
        if not (
            max(0, target - 1) <= low <= target
            and 0.0 <= self._lower <= self._upper <= 1.0 + math.log(max(1, t))
            and all(type(a) is int and 1 <= a <= t for a in steps)
            and len(self._steps) == len(self._f)
            and self._positions == {a: i for i, a in enumerate(self._steps)}
            and len(self._positions) == len(self._steps)
            and len(self._steps_left) == len(self._g)
            and left == {a: i for i, a in enumerate(self._steps_left)}
            and left.keys() == self._constants_left.keys()
            and all(type(c) is float and abs(c) <= LARGEST_NUMBER for c in self._constants_left.values())
            and sorted(self._leavers.values()) == sorted(left)
            and all(low < r for r in self._leavers)
        ):
            raise ValueError("the steps of an average that do not belong together")

    def _restart_average(self) -> None:
        """After an interrupted step: the window is as if f's points had joined at the last steps, and none had left."""
        f, t = self._f, self._t
        self._start_average()
        self._low = max(0, t + 1 - math.ceil(self.suffix * (t + 1)))
        harmonic = [0.0, *itertools.accumulate(1.0 / m for m in range(1, t + 1))]
        self._upper, self._lower = harmonic[t], harmonic[max(0, self._low - 1)]
        columns = f.columns
        for a, i in enumerate(np.argsort(f.births).tolist(), start=t - len(f) + 1):
            self._positions[a] = i
            c, old = columns[i, 0], a < self._low
            columns[i, 1:] = (0.0, c) if old else (-c * harmonic[a - 1], 0.0)
        self._steps = sorted(self._positions, key=self._positions.__getitem__)
        f.columns = columns

    def _join(self) -> None:
        """The point that was added to f last joined at step t."""
        f, i = self._f, len(self._f) - 1
        self._positions[self._t] = i
        self._steps.append(self._t)
        f.shift(i, -float(f.coefficients[i]) * self._upper, 1)  # H(t-1): this step is not counted yet

    def _leave(self, i: int) -> None:
        """Point i of f leaves at step t."""
        f, g, t = self._f, self._g, self._t
        a = self._steps[i]
        if a < t:
            c, first, second = (t * value for value in f.columns[i].tolist())
            g.evaluate(f.point(i))
            g.add(c * self._upper + first)
            g.shift(len(g) - 1, second, 1)
            self._positions_left[a] = len(g) - 1
            self._steps_left.append(a)
            self._constants_left[a] = c
            self._leavers[t] = a
        f.remove(i)
        _swap_remove(self._steps, self._positions, i)

    def _advance(self) -> None:
        """Step t is done."""
        t = self._t
        self._upper += 1.0 / t
        while self._low < t + 1 - math.ceil(self.suffix * (t + 1)):
            self._age(self._low)
            self._lower += 1.0 / self._low if self._low else 0.0
            self._low += 1
            if self._low in self._leavers:
                self._drop(self._leavers.pop(self._low))

    def _age(self, a: int) -> None:
        """The point that joined at a will be older than the window."""
        f, g = self._f, self._g
        if a in self._positions:
            i = self._positions[a]
            f.set(i, 0.0, 1)
            f.set(i, float(f.coefficients[i]), 2)
        elif a in self._positions_left:
            i, c = self._positions_left[a], self._constants_left[a]
            g.shift(i, c * self._lower)
            g.shift(i, c, 1)

    def _drop(self, a: int) -> None:
        """No model of the window has the point that joined at a any more."""
        i = self._positions_left[a]
        self._g.remove(i)
        _swap_remove(self._steps_left, self._positions_left, i)
        del self._constants_left[a]

    def _look(self, x: Any, number: int = -1) -> tuple[Expansion, float]:
        if self.suffix:
            self._g.observe(x)
        return self._f, self._f.observe(x, number)

    def _decision(self, x: Any) -> float:
        return super()._decision(x) if self.suffix else self._f.evaluate(x)

    def _predicted(self, p: float) -> float:
        return super()._predicted(p) if self.suffix else p

    def _parts(self) -> list[Part]:
        if not self.suffix:
            return [(self._f, (1.0,))]
        n = self._t + 1.0 - self._low
        factor, left = self._t / n, 1.0 / n
        return [
            (self._f, (factor * self._upper, factor, -factor * self._lower)),
            (self._g, (left, -left * self._lower)),
        ]


def _swap_remove(keys: list[int], positions: dict[int, int], i: int) -> None:
    """Take out position i, as an expansion does: the last one moves there."""
    del positions[keys[i]]
    last = keys.pop()
    if i < len(keys):
        keys[i] = last
        positions[last] = i
