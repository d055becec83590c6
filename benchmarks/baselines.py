"""Baselines that a sceptic would add: mixtures of River's own models, and the last values of a series.

`benchmarks.untuned` and `benchmarks.unseen` run them beside the other models.
"""

from __future__ import annotations

import collections
import math
from typing import Any

from river import base, compose, drift, ensemble, linear_model, neighbors, optim, tree

DISCOUNT, CLIP = 0.99, 1e-4  # of log-weights and of probabilities, as in `OKL`
OUTLYING = 5.0  # bound of a residual in its running variance, in standard deviations, as in `OKL`
WINDOW = 1_000  # samples of nearest neighbours: as many as River's default search, SWINN, stores

# The season of a stream in the order of time, and the feature that names each of several series.
SERIES: dict[str, dict[str, Any]] = {
    "TrumpApproval": {"season": 7},
    "ChickWeights": {"series": "chick"},
    "txhousing": {"season": 12, "series": "city"},
    "nyc weather": {"season": 24, "series": "origin"},
    "co2": {"season": 52},
    "seattle": {"season": 24},
    "san francisco": {"season": 24},
    "traffic": {"season": 24},
    "parking": {"season": 18, "series": "SystemCodeNumber"},
    "household": {"season": 24},
    "sunshine": {"season": 24},
    "wind power": {"season": 24},
    "glucose": {"season": 288},
    "mast": {"season": 144},
    "turbines": {"season": 144, "series": "Wind_turbine_name"},
    "solar power": {"season": 96},
    "turnover": {"season": 5},
}


def clipped(p: float) -> float:
    """A probability of an expert; NaN is 0."""
    return min(max(CLIP, p), 1.0 - CLIP)


class Mixture:
    """Dynamic model averaging, as in `OKL`: a log-weight is the discounted sum of an expert's log-likelihoods.

    Each expert predicts a sample once: predictions are kept until their sample is learned.
    """

    ask: str  # the method of an expert that predicts

    def __init__(self, experts: dict[str, Any]):
        self.experts = experts
        self.log_weights = [0.0] * len(experts)
        self.asked: tuple[Any, list[Any]] = (None, [])

    def asked_for(self, x: Any) -> list[Any]:
        if x is not self.asked[0]:
            self.asked = x, [getattr(expert, self.ask)(x) for expert in self.experts.values()]
        return self.asked[1]

    def weights(self) -> list[float]:
        weights = [math.exp(log_weight - max(self.log_weights)) for log_weight in self.log_weights]
        return [weight / sum(weights) for weight in weights]

    def score(self, e: int, prediction: Any, y: Any) -> float:
        """The log-likelihood of a target by an expert's prediction."""
        raise NotImplementedError

    def learn_one(self, x: Any, y: Any) -> None:
        for e, prediction in enumerate(self.asked_for(x)):
            self.log_weights[e] = DISCOUNT * self.log_weights[e] + self.score(e, prediction, y)
        self.asked = (None, [])
        for expert in self.experts.values():
            expert.learn_one(x, y)


class MixtureClassifier(Mixture, base.Classifier):
    """The mean of the experts' clipped probabilities."""

    ask = "predict_proba_one"
    _multiclass = True

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        asked, weights = self.asked_for(x), self.weights()
        labels = dict.fromkeys(label for p in asked for label in p)
        mixed = {c: sum(w * clipped(p.get(c, 0.0)) for w, p in zip(weights, asked, strict=True)) for c in labels}
        return {label: p / sum(mixed.values()) for label, p in mixed.items()}

    def score(self, e: int, prediction: dict[Any, float], y: Any) -> float:
        return math.log(clipped(prediction.get(y, 0.0)))


class MixtureRegressor(Mixture, base.Regressor):
    """The mean of the experts' predictions; the density of a target is normal, with an expert's running variance."""

    ask = "predict_one"

    def __init__(self, experts: dict[str, Any]):
        super().__init__(experts)
        self.seen = [0] * len(experts)
        self.variances = [math.inf] * len(experts)

    def predict_one(self, x: Any) -> float:
        return sum(weight * p for weight, p in zip(self.weights(), self.asked_for(x), strict=True))

    def score(self, e: int, prediction: float, y: float) -> float:
        self.seen[e] += 1
        square, variance = (y - prediction) ** 2, self.variances[e]
        bounded, rate = min(square, OUTLYING**2 * variance), max(1.0 / self.seen[e], 1.0 - DISCOUNT)
        self.variances[e] = max((1.0 - rate) * variance + rate * bounded if self.seen[e] > 1 else square, 1e-12)
        return -0.5 * (bounded / variance + math.log(variance)) if self.seen[e] > 1 else 0.0


class Last(base.Regressor):
    """The last target of a series; with a season s, y[t-1] + y[t-s] - y[t-s-1].

    ``series`` is the feature that names one; the first sample of a series gets the last target of any.
    """

    def __init__(self, season: int = 0, series: str | None = None):
        self.season = season
        self.series = series
        self.past: dict[Any, collections.deque[float]] = {}
        self.latest: collections.deque[float] = collections.deque([0.0])

    def predict_one(self, x: Any) -> float:
        y = self.past.get(x.get(self.series), self.latest)
        return y[-1] + y[-self.season] - y[-self.season - 1] if self.season and len(y) > self.season else y[-1]

    def learn_one(self, x: Any, y: float) -> None:
        new: collections.deque[float] = collections.deque(maxlen=self.season + 1)
        self.latest = self.past.setdefault(x.get(self.series), new)
        self.latest.append(y)


def exact() -> neighbors.LazySearch:
    return neighbors.LazySearch(window_size=WINDOW)


def adam() -> linear_model.LogisticRegression:
    return linear_model.LogisticRegression(optimizer=optim.Adam(0.01))


def bole() -> ensemble.BOLEClassifier:
    """With the model of River's documentation, as it has no default."""
    model = drift.DriftRetrainingClassifier(tree.HoeffdingTreeClassifier(), drift.binary.DDM())
    return ensemble.BOLEClassifier(model, seed=1)


def tree_on_strings() -> tree.HoeffdingTreeRegressor:
    """With the default linear models in its leaves, which take numbers only."""
    return tree.HoeffdingTreeRegressor(leaf_model=compose.SelectType(int, float) | linear_model.LinearRegression())
