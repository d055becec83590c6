"""Sums of expansions: f = Σ w_i f_i, exact while the union of their points fits the budget.

Beyond the budget f is projected once, on points chosen greedily: each next point explains most of the
residual of f (orthogonal matching pursuit).  Random features (FOGD) are the same in all models, so their
coefficients are averaged.

A class declares how its attributes merge (``_merging``); an attribute without a rule is rejected by name.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from river_okl._core.function.expansion import Expansion
from river_okl._core.function.fourier import FourierExpansion
from river_okl.algorithms.features import KernelFeatures
from river_okl.algorithms.novelty import KernelOneClassSVM
from river_okl.algorithms.support import DEPENDENT, TIE, AveragedExpansion, solve_with_ridge
from river_okl.algorithms.tvm import TVMClassifier
from river_okl.checks import kind_of
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.merging.shards import Shards
from river_okl.merging.spaces import Arrays, Positions
from river_okl.merging.statistics import followed, pooled_kernel

MODELS = (KernelClassifier, KernelRegressor, KernelOneClassSVM, KernelFeatures)

Sample = dict[Hashable, float]

CANDIDATES = 2  # times the budget: number of highest-weighted points of the union among which to choose


ATTRIBUTE_RULES: dict[str, Callable[[Shards, str], Any]] = {
    "sum": lambda shards, name: shards.total(lambda model: getattr(model, name)),
    "max": lambda shards, name: max(getattr(model, name) for model in shards.models),
    "mean": lambda shards, name: float(shards.mean(lambda model: getattr(model, name))),
    "first": lambda shards, name: copy.deepcopy(getattr(shards.models[0], name)),
    "new": lambda shards, name: getattr(shards.new(), name),  # computed from f when needed
}
"""What the values of ``CompiledModel._merging`` mean."""


def merged(shards: Shards) -> Any:
    """Return the model of f = Σ w_i f_i."""
    model = shards.new()
    rules = model._rules()
    for name in sorted(vars(model).keys() - model._get_params().keys(), key=lambda name: name not in rules):
        rule = rules.get(name, f"there is no rule for its attribute {name}")
        if rule in ATTRIBUTE_RULES:
            setattr(model, name, ATTRIBUTE_RULES[rule](shards, name))
        elif rule not in ("own", "parameters"):
            raise TypeError(f"{type(model).__name__} does not merge: {rule}")
    model._after_merging()
    if isinstance(model, KernelClassifier):
        model._calibration.restore(followed(shards, lambda each: each._calibration))
    if isinstance(model._f, FourierExpansion):
        _average_features(shards, model._f)
    model._f.kernel.restore(pooled_kernel(shards, lambda each: each._f.kernel))
    if isinstance(model, TVMClassifier):
        _solve_union(shards, model)
    elif isinstance(model._f, Expansion):
        _add_up(shards, model)
    return model


def _average_features(shards: Shards, f: FourierExpansion) -> None:
    first: FourierExpansion = shards.models[0]._f
    if shards.budget is not None and not isinstance(shards.models[0], KernelFeatures):
        raise ValueError(f"budget is {shards.budget!r}; {kind_of(shards.models[0])} has no support vectors")
    for i, each in enumerate(shards.models):
        if each._f.key != first.key:
            raise ValueError(f"models[{i}] has different random features from models[0]; give both the same seed")
    f.restore(first.state())
    if any(each._f for each in shards.models):
        f.columns = shards.mean(lambda each: each._f.columns)


def _solve_union(shards: Shards, model: TVMClassifier) -> None:
    """Solve for f over the prototypes of all models as one weighted set; merge prototypes beyond the budget.

    The weights that shards add to those of the start are summed.  If several shards have merged a prototype of the
    start away, its sum is negative: it is set to 0, and the weights of each label are scaled to the correct sum.
    """
    with_start = [shards.start, *shards.models]
    for each in with_start:
        each._settle()
    points, places = places_of([each._f for each in with_start])
    n_labels = max(2, model._f.n_classes)
    masses = np.zeros((len(with_start), len(points), n_labels))
    for mass, each, at in zip(masses, with_start, places, strict=True):
        np.add.at(mass, at, each._mass)
    total = masses[0] + sum(share * (mass - masses[0]) for share, mass in zip(shards.evidence, masses[1:], strict=True))
    wanted = np.maximum(total.sum(axis=0), 0.0)
    total = np.maximum(total, 0.0)
    total *= wanted / np.maximum(total.sum(axis=0), np.finfo(float).tiny)
    there = np.flatnonzero(total.any(axis=1))
    points, total = [points[i] for i in there], total[there]
    budget = min(model.budget, shards.budget or model.budget)
    exact = copy.deepcopy(model)
    exact._f, exact.merging = _with(model, points, np.zeros((len(points), 1))), "global"
    for _ in range(model._f.n_classes - 2):
        exact._f.add_class()
    exact._mass, exact._births, exact._settled = total, exact._f.births, False
    exact._settle()
    if len(points) > budget:
        exact._shrink(budget)
    order = np.argsort(exact._f.births)
    _fill(model._f, [exact._f.point(i) for i in order.tolist()], exact._f.columns[order])
    model._mass, model._births, model._settled = exact._mass[order], model._f.births, False
    model._settle()


def _add_up(shards: Shards, model: Any) -> None:
    """f = Σ w_i f_i over the union of all points, reduced to the budget."""
    points, places = places_of([each._f for each in shards.models])
    total = _sum(shards, model, len(points), places)
    budget = min(model._f.budget or len(points), shards.budget or len(points))
    if len(points) > budget:
        needed = np.flatnonzero(total.any(axis=1))
        points, total = [points[i] for i in needed], total[needed]
    if len(points) > budget:
        chosen, total = reduced(model, points, total, budget)
        points = [points[i] for i in chosen]
    _fill(model._f, points, total)


def _sum(shards: Shards, model: Any, n_points: int, places: Sequence[Positions]) -> Arrays:
    """Return Σ w_i times the coefficients of each model, the oldest points first."""
    outputs = np.ones((len(places), model._f.n_outputs))
    if isinstance(model, AveragedExpansion) and model.averaged:  # output 1 is divided by T = t + 1
        outputs[:, 1] = [(model._t + 1) / (each._t + 1) for each in shards.models]
    repeated = np.tile(outputs, max(1, model._f.n_classes))
    total = np.zeros((n_points, repeated.shape[1]))
    for share, row, each, at in zip(shards.shares, repeated, shards.models, places, strict=True):
        own = np.zeros_like(total)
        np.add.at(own, at, each._f.columns)
        total += share * row * own
    return total


def places_of(functions: Sequence[Any]) -> tuple[list[Sample], list[Positions]]:
    """Return the points of all, equal ones once and the youngest last, and the positions of each function's points."""
    position: dict[Any, int] = {}
    points: list[Sample] = []
    ages: list[int] = []
    places = []
    for f in functions:
        at = np.zeros(len(f), dtype=np.int64)
        for age, i in enumerate(np.argsort(f.births).tolist()):
            z = f.point(i)
            key = frozenset(z.items())
            if key not in position:
                position[key] = len(points)
                points.append(z)
                ages.append(age - len(f))
            at[i] = position[key]
        places.append(at)
    # ties of age are broken by the points themselves, so that the order of the models does not matter
    order = sorted(range(len(points)), key=lambda i: (ages[i], sorted(points[i].values())))
    rank = np.empty(len(points), dtype=np.int64)
    rank[order] = np.arange(len(points))
    return [points[i] for i in order], [rank[at] for at in places]


def _fill(f: Expansion, points: list[Sample], columns: Arrays) -> None:
    for z in points:
        f.evaluate(z)
        f.add(0.0)
    f.columns = columns


def _with(model: Any, points: list[Sample], columns: Arrays) -> Expansion:
    """Return the expansion with these points and coefficients, without a budget."""
    f = Expansion(model._f.kernel.terms, n_outputs=columns.shape[1])
    f.kernel.restore(model._f.kernel.state())
    _fill(f, points, columns)
    return f


# Reduction --------------------------------------------------------------------------------------------------------


def reduced(model: Any, points: list[Sample], columns: Arrays, budget: int) -> tuple[list[int], Arrays]:
    """Return the positions of the points that remain, and their coefficients."""
    f = _with(model, points, columns)
    candidates = heaviest((columns**2).sum(axis=1) * f.self_similarities, CANDIDATES * budget)
    K = f.rows_of(candidates)
    values = K @ columns
    among = K[:, candidates]
    chosen = pursued(among, values, budget)
    staying = sorted(chosen)
    K_staying = np.ascontiguousarray(among[np.ix_(staying, staying)])
    ridge = DEPENDENT * float(K_staying.diagonal().max(initial=0.0))
    alpha = np.ascontiguousarray(solve_with_ridge(K_staying, np.ascontiguousarray(values[staying].T), ridge).T)
    return [int(candidates[i]) for i in staying], alpha


def heaviest(weights: Arrays, n: int) -> Positions:
    """Return the positions of the n largest weights, in ascending order.

    They are compared in single precision, in which those that differ by rounding alone are equal, so that the result
    does not depend on the order of the models.
    """
    exponent = np.frexp(weights.max(initial=0.0))[1]  # scaled by it, no weight overflows
    order = np.argsort(-np.ldexp(weights, -exponent).astype(np.float32), kind="stable")
    return np.sort(order[:n])


def pursued(K: Arrays, values: Arrays, n_points: int) -> list[int]:
    """Positions of points whose span explains a function best, one after another: orthogonal matching pursuit.

    ``values`` are those of the function at all points, in columns.
    """
    basis = np.zeros((n_points, len(K)))  # Newton basis: orthonormal, and 0 at the points before
    diagonal = K.diagonal()
    left, residual, chosen = values.copy(), diagonal.copy(), []
    for n in range(n_points):
        novel = residual > 1e-9 * diagonal
        gain = np.where(novel, (left**2).sum(axis=1) / np.where(novel, residual, 1.0), -1.0)
        most_gained = gain.max()
        if most_gained <= 0.0:
            break
        i = int((gain >= most_gained * (1.0 - TIE)).argmax())
        chosen.append(i)
        basis[n] = (K[i] - basis[:n, i] @ basis[:n]) / math.sqrt(residual[i])
        left -= np.outer(basis[n], left[i] / math.sqrt(residual[i]))
        residual = residual - basis[n] ** 2
        residual[i] = 0.0
    return chosen
