"""Merging models: several models, each trained on a shard of a stream, become one.

    shards.py       the models to merge: of one class, with the same parameters and aligned labels, and their start
    statistics.py   statistics of a stream: bandwidths and the calibration of probabilities
    expansions.py   f = Σ w_i f_i, for all classes whose model is a kernel expansion, and for random features
    gaussian.py     Gaussian processes: Λ = Λ_start + Σ (Λ_i - Λ_start)
    replay.py       ``OKLClassifier``, ``OKLRegressor`` and ``OKLDetector``: one learns what the others remember
    spaces.py       kernels between points of several models
    pipelines.py    River's pipelines and transformers around them

Merging does not change the models: the result is a new one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from river_okl.merging import expansions, gaussian, pipelines, replay
from river_okl.merging.shards import Shards, checked, gathered
from river_okl.model import CompiledModel

__all__ = ["merge"]


def merge(
    models: Iterable[Any],
    weights: Iterable[float] | None = None,
    budget: int | None = None,
    start: Any = None,
) -> Any:
    """Merge models trained on shards of a stream into one model that learns, predicts and is saved like them.

    Parameters
    ----------
    models
        Models of one class with the same parameters: of river_okl, or pipelines of transformers and such a
        model. They are not changed.
    weights
        Relative weight of each model. None: expansions are weighted by the number of samples learned, and all
        evidence counts in full.
    budget
        The budget of the merged model. None: that of the models. A model of a class without a budget is
        reduced once to this number of support vectors.
    start
        The model that all models were copies of before they learned. None: they were new. Its evidence is counted once.

    Notes
    -----
    - Sums of expansions: f = Σ w_i f_i. Equal points become one. The sum is exact while the union fits the
      budget; otherwise f is projected once on the points that explain most of it.
    - `TVMClassifier`: the prototypes of all models form one weighted set, and f is its solution, not a sum.
      Beyond the budget, prototypes are merged as along a stream.
    - Gaussian processes (`SOGP…`): posteriors are products of evidence, so precisions and linear
      terms add, Λ = Λ_start + Σ (Λ_i - Λ_start), as in streaming variational Bayes. If dictionaries differ, each
      posterior is computed at the points of the union that explain most of the means.
    - `OKLClassifier` and `OKLRegressor`: the model that has learned most (the first of them) learns the samples
      that the others remember, at most `memory` of each since the start, in turn. It takes the time of learning
      them. Features beyond the memory's 256 columns are missing. A warning says if the result fits the
      latest samples of the models clearly worse than they do.
    - `OKLDetector`: a new one learns the points of all.
    - Bandwidths estimated from the stream are pooled. Coefficients, and the values of a process at its
      points, are kept, as when the bandwidth moves along one stream.
    - Counters (and with them learning rates) continue as if one model had seen all samples. Labels are united.
    - The result does not depend on the order of the models, except for rounding, random states (the first model's),
      and which of several `OKL…` learns what the others remember.

    Examples
    --------
    >>> import copy
    >>> from river import datasets
    >>> import river_okl

    >>> start = river_okl.OKLClassifier()
    >>> stream = list(datasets.Bananas())
    >>> start.learn_stream(stream[:1000])
    >>> shards = [copy.deepcopy(start) for _ in range(3)]
    >>> for i, shard in enumerate(shards):
    ...     shard.learn_stream(stream[1000 + i : 4000 : 3])
    >>> model = river_okl.merge(shards, start=start)
    >>> sum(model.predict_one(x) == y for x, y in stream[4000:]) / 1300 > 0.88
    True

    References
    ----------
    [^1]: [Broderick, T., Boyd, N., Wibisono, A., Wilson, A.C. and Jordan, M.I., 2013. Streaming variational Bayes. Advances in Neural Information Processing Systems, 26.](https://papers.nips.cc/paper_files/paper/2013)
    [^2]: [Kamp, M., Bothe, S., Boley, M. and Mock, M., 2016. Communication-efficient distributed online learning with kernels. Machine Learning and Knowledge Discovery in Databases, pp.805-819.](https://doi.org/10.1007/978-3-319-46227-1_50)

    """
    return _merged(gathered(models, weights, budget, start))


BY_KIND: tuple[Any, ...] = (replay, gaussian, expansions)


def _merged(shards: Shards) -> Any:
    cls = type(shards.models[0])
    for kind in BY_KIND:
        if issubclass(cls, kind.MODELS):  # cls, as isinstance accepts a River pipeline for the class of its last step
            return kind.merged(shards)
    if cls in pipelines.RULES:
        return pipelines.RULES[cls](shards, lambda parts: _merged(checked(parts)))
    if issubclass(cls, CompiledModel):
        raise TypeError(f"{cls.__name__} does not merge: only classifiers and regressors of river_okl do")
    known = ", ".join(each.__name__ for each in pipelines.RULES)
    raise TypeError(
        f"{cls.__name__} does not merge: it is neither a classifier or regressor of river_okl nor one of River's {known}"
    )
