"""The average of the functions of the last steps, which NBSGD predicts with (Le et al. 2016)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from river_okl._core.function.expansion import Expansion
from river_okl.decision import KernelModel, Summand

LARGEST_CONSTANT = 1e60  # of c_i: a step over λ, times the largest weight


class SuffixAverage(KernelModel):
    """The mean of the last n = ⌈suffix · T⌉ of w_1, ..., w_T, for models w_{t+1} = (1/t) Σ_{i ∈ S_t} c_i κ_i.

    The c_i are constants; a point is added to S at one step and may be removed at another, for good. After t
    steps T = t + 1, w_1 = 0, and the window has w_{s+1} for s = L, ..., t with L = T - n. In their sum a
    point added at step a has the coefficient c_i (H(e) - H(max(a, L) - 1)), H(m) = 1 + 1/2 + ... + 1/m, with
    e = t, or e = r - 1 if it was removed at step r. So the sum is t (H(t) f_0 + f_1 - H(L-1) f_2) + g_0 -
    H(L-1) g_1 with the outputs

        f_0 = w    f_1: -c_i H(a-1) / t if a ≥ L    f_2: c_i / t if a < L
        g_0: c_i (H(r-1) - H(a-1)) if a ≥ L, c_i H(r-1) if a < L    g_1: c_i if a < L

    of the expansion f over S and another, g, over the removed points that are still in the window (L < r). A step moves
    L by at most one, so only points added at L or removed at L + 1 change: O(1) per step.
    """

    _merging = {"_g": "an average over the end of one stream is undefined for several; suffix=0 merges"}

    suffix: float
    _t: int
    _alone: Any = property(lambda model: not model.suffix)

    def _start_average(self) -> None:
        self._g = Expansion(self._f.kernel.terms, n_outputs=2)
        self._low = 0  # L
        self._upper = 0.0  # H(t)
        self._lower = 0.0  # H(L-1)
        self._steps: list[int] = []  # a of each point of f, by position
        self._positions: dict[int, int] = {}  # its inverse
        self._steps_left: list[int] = []  # the same for g
        self._positions_left: dict[int, int] = {}
        self._constants_left: dict[int, float] = {}  # c of each a in g
        self._leavers: dict[int, int] = {}  # a of the point removed at step r

    def _check_state(self) -> None:
        super()._check_state()
        if not self.suffix:
            return
        steps = [*self._steps, *self._steps_left, *self._leavers, *self._leavers.values()]
        if not (
            all(type(a) is int and 1 <= a <= self._t for a in steps)
            and len(self._steps) == len(self._f)
            and len(self._steps_left) == len(self._g)
            and self._positions == {a: i for i, a in enumerate(self._steps)}
            and self._positions_left == {a: i for i, a in enumerate(self._steps_left)}
            and all(type(c) is float and abs(c) <= LARGEST_CONSTANT for c in self._constants_left.values())
        ):
            raise ValueError("inconsistent steps of an average")

    def _register(self) -> None:
        """Register the last point of f as added at step t."""
        f, i = self._f, len(self._f) - 1
        self._positions[self._t] = i
        self._steps.append(self._t)
        f.shift(i, -float(f.coefficients[i]) * self._upper, 1)  # H(t-1): this step is not included yet

    def _retire(self, i: int) -> None:
        """Remove point i of f at step t."""
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
        """Finish step t."""
        t = self._t
        self._upper += 1.0 / t
        while self._low < t + 1 - math.ceil(self.suffix * (t + 1)):
            self._age(self._low)
            self._lower += 1.0 / self._low if self._low else 0.0
            self._low += 1
            if self._low in self._leavers:
                self._drop(self._leavers.pop(self._low))

    def _age(self, a: int) -> None:
        """Update the point added at a, which becomes older than the window."""
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
        """Remove the point added at a, which no model of the window contains any more."""
        i = self._positions_left[a]
        self._g.remove(i)
        _swap_remove(self._steps_left, self._positions_left, i)
        del self._constants_left[a]

    def _weights(self) -> tuple[float, ...]:
        if not self.suffix:
            return (1.0,)
        factor = self._t / (self._t + 1.0 - self._low)
        return (factor * self._upper, factor, -factor * self._lower)

    def _others(self) -> Sequence[Summand]:
        if not self.suffix:
            return ()
        left = 1.0 / (self._t + 1.0 - self._low)
        return [(self._g, (left, -left * self._lower))]


def _swap_remove(keys: list[int], positions: dict[int, int], i: int) -> None:
    """Remove position i like an expansion: the last one moves there."""
    del positions[keys[i]]
    last = keys.pop()
    if i < len(keys):
        keys[i] = last
        positions[last] = i
