"""What each feature contributes to one prediction, in numbers that add up: Shapley values by sampling.

A background sample becomes the explained one feature by feature, in a random order and then in the reverse of it.  What
a feature contributes is the mean change of the prediction when it is its turn [^1].  The changes of an order add up to
the difference between the two predictions, so the contributions add up to that between the prediction and ``base``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from river_okl._core.store.sample import shown
from river_okl.checks import check_whole
from river_okl.series import asking

Row = dict[Hashable, Any]
SAMPLES = 64  # with 12 features the noise is an eighth of the mean contribution
TOGETHER = 1024  # samples that are predicted at once
LISTED = 10  # contributions that are shown
WIDTH = 24  # characters of the longest bar


class Contributions(Mapping[Hashable, float]):
    """What each feature contributes to a prediction, the largest absolute value first.

    A mapping from the name of a feature to its contribution, in units of the target or of the probability of
    `label`. The contributions and `base` add up to `prediction`. `str` gives a table with bars, notebooks show
    one, and `plot` draws a waterfall.

    Parameters
    ----------
    contributions
        The contribution of each feature, by name.
    base
        The mean prediction for the background samples.
    prediction
        The prediction that is explained.
    label
        The label whose probability is explained; None for a target.
    error
        The standard error of each contribution: how much other background samples and other orders of the features
        would change it. NaN if there is only one background sample.
    sample
        The sample that is explained.
    samples
        The number of background samples.

    Examples
    --------
    >>> from river import datasets
    >>> from river_okl import OKLRegressor

    >>> model = OKLRegressor()
    >>> for x, y in datasets.ChickWeights():
    ...     model.learn_one(x, y)
    >>> found = model.contributions_one(x)
    >>> next(iter(found))
    'time'
    >>> round(found.base + sum(found.values()) - found.prediction, 9)
    0.0

    """

    def __init__(
        self,
        contributions: Mapping[Hashable, float],
        *,
        base: float,
        prediction: float,
        label: Any,
        error: Mapping[Hashable, float],
        sample: Mapping[Hashable, Any],
        samples: int,
    ) -> None:
        names = sorted(contributions, key=lambda name: -abs(contributions[name]))
        self._contributions = {name: contributions[name] for name in names}
        self.base = base
        self.prediction = prediction
        self.label = label
        self.error = {name: error[name] for name in names}
        self.sample = dict(sample)
        self.samples = samples

    def __getitem__(self, name: Hashable) -> float:
        return self._contributions[name]

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._contributions)

    def __len__(self) -> int:
        return len(self._contributions)

    def __repr__(self) -> str:
        return f"Contributions({self._contributions!r}, base={self.base!r}, prediction={self.prediction!r})"

    def __str__(self) -> str:
        return self.shown(5)

    @property
    def title(self) -> str:
        """What is explained."""
        return "prediction" if self.label is None else f"probability of {self.label}"

    def largest(self, n: int = LISTED) -> list[tuple[str, str, float]]:
        """Return (name, value, contribution) of the n largest, and one line for all others, if there are more."""
        listed = [*self._contributions.items()]
        if len(listed) > n:
            listed = listed[: n - 1]
        lines = [(str(name), self._value(name), value) for name, value in listed]
        others = [*self._contributions.values()][len(listed) :]
        return [*lines, (f"{len(others)} others", "", sum(others))] if others else lines

    def _value(self, name: Hashable) -> str:
        value = self.sample.get(name, "absent")
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    def shown(self, decimals: int = 5) -> str:
        """Return a table of the largest contributions, with bars."""
        lines = self.largest()
        most = max((abs(value) for _, _, value in lines), default=0.0) or 1.0
        rows = [
            (self.title, "", f"{self.prediction:,.{decimals}f}", ""),
            ("base", "", f"{self.base:,.{decimals}f}", ""),
        ]
        for name, value, amount in lines:
            bar = "█" * max(amount != 0.0, round(WIDTH * abs(amount) / most))
            rows.append((name, value, f"{amount:+,.{decimals}f}", bar))
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        return "\n".join(
            f"{name:{widths[0]}}  {value:>{widths[1]}}  {number:>{widths[2]}}  {bar}".rstrip()
            for name, value, number, bar in rows
        )

    def _repr_html_(self) -> str:
        import html  # which only notebooks need

        lines = self.largest()
        most = max((abs(value) for _, _, value in lines), default=0.0) or 1.0
        rows = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{html.escape(value)}</td><td>{amount:+.4g}</td>"
            f'<td style="text-align:left"><div style="height:0.8em;width:{120 * abs(amount) / most:.0f}px;'
            f'background:{"#b2182b" if amount > 0.0 else "#2166ac"}"></div></td></tr>'
            for name, value, amount in lines
        )
        head = "<tr><th>feature</th><th>value</th><th>contribution</th><th></th></tr>"
        caption = f"{html.escape(self.title)} {self.prediction:.4g}, base {self.base:.4g}"
        return f"<table><caption>{caption}</caption>{head}{rows}</table>"

    def plot(self, ax: Any = None) -> Any:
        """Draw a waterfall from `base` to `prediction`; needs matplotlib. Returns the axes."""
        from river_okl import plot

        return plot.waterfall(self, ax=ax)


def contributions_one(
    model: Any,
    x: Row,
    background: Iterable[Row] | None = None,
    *,
    label: Any = None,
    samples: int = SAMPLES,
) -> Contributions:
    """Return what each feature of a raw sample contributes to the prediction of a pipeline, or of any model of River.

    Contributions are those of the features *before* the transformers. The memory of `OKLClassifier` and
    `OKLRegressor` has transformed samples, so that raw ones must be given. Asking is not remembered by these two
    classes. Another model is asked by `predict_one` or `predict_proba_one`.

    Parameters
    ----------
    model
        A classifier or regressor, a `compose.Pipeline` or `compose.TargetTransformRegressor` that ends with one.
    x
        A dict of features.
    background
        Samples that the prediction is compared with, for example the latest 200. Only `OKLClassifier` and `OKLRegressor`
        without transformers have samples of their own.
    label
        The label whose probability is explained; None: the most probable one.
    samples
        Number of background samples used, drawn at random without replacement. The time is proportional to it and to
        the number of features.

    References
    ----------
    [^1]: [Štrumbelj, E. and Kononenko, I., 2014. Explaining prediction models and individual predictions with feature contributions. Knowledge and Information Systems, 41(3), pp.647-665.](https://doi.org/10.1007/s10115-013-0679-x)
    [^2]: [Mitchell, R., Cooper, J., Frank, E. and Holmes, G., 2022. Sampling permutations for Shapley value estimation. Journal of Machine Learning Research, 23(43), pp.1-46.](https://www.jmlr.org/papers/v23/21-0439.html)

    Examples
    --------
    >>> import datetime
    >>> from river_okl import Dates, OKLRegressor, contributions_one

    >>> model = Dates() | OKLRegressor()
    >>> latest = []
    >>> for i in range(300):
    ...     day = datetime.date(2026, 1, 1) + datetime.timedelta(days=i)
    ...     x = {"day": day, "price": float(i % 7), "size": float(i % 5)}
    ...     model.learn_one(x, 10.0 + 2.0 * x["price"] - x["size"])
    ...     latest.append(x)
    >>> found = contributions_one(model, {"day": day, "price": 6.0, "size": 2.0}, latest[-100:])
    >>> round(found["price"]), round(found["size"])
    (6, 0)
    >>> round(found.base + sum(found.values()) - found.prediction, 9)
    0.0

    """
    if background is None:
        if hasattr(model, "contributions_one"):
            found: Contributions = model.contributions_one(x, label=label, samples=samples)
            return found
        raise ValueError("background is missing; give some raw samples, for example the latest 200")
    rows = [*background]
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise TypeError(f"background[{i}] is {shown(row)}; it must be a sample, a dict of features")
    if not rows:
        raise ValueError("background is empty; give some samples, for example the latest 200")
    asked = _asked(model)
    used = [rows[i] for i in chosen(len(rows), samples)]
    with asked.lock:
        if not asked.labels():
            asked.ask(used)  # a classifier of River names its labels in what it predicts
        return explained(asked.ask, asked.labels(), x, used, label)


class Asked(NamedTuple):
    """How a model is asked."""

    ask: Callable[[list[Row]], NDArray[np.float64]]  # a row of predictions for each sample
    labels: Callable[[], list[Any]]  # of the columns; none for a target
    lock: contextlib.AbstractContextManager[Any]


def _asked(model: Any) -> Asked:
    from river import compose  # which only pipelines need

    if hasattr(model, "_asked"):
        asked: Asked = model._asked()
        return asked
    if isinstance(model, compose.Pipeline):
        last = _asked([*model.steps.values()][-1])

        def ask(rows: list[Row]) -> NDArray[np.float64]:
            token = asking.set(True)
            try:
                return last.ask([model.transform_one(row) for row in rows])
            finally:
                asking.reset(token)

        return last._replace(ask=ask)
    if isinstance(model, compose.TargetTransformRegressor):
        inner = _asked(model.regressor)
        return inner._replace(ask=lambda rows: np.vectorize(model.inverse_func, otypes=[float])(inner.ask(rows)))
    if hasattr(model, "predict_proba_one"):
        return _classifier(model)
    if not hasattr(model, "predict_one"):
        raise TypeError(f"{type(model).__name__} predicts neither a label nor a target")
    return Asked(lambda rows: np.array([[_target(model, row)] for row in rows]), list, contextlib.nullcontext())


def _target(model: Any, row: Row) -> float:
    predicted = model.predict_one(row)
    if predicted is None:
        raise ValueError(f"{type(model).__name__} predicts None: it has learned nothing")
    return float(predicted)


def _classifier(model: Any) -> Asked:
    """How a classifier of River is asked: its labels are those that it has named so far."""
    labels: list[Any] = []

    def ask(rows: list[Row]) -> NDArray[np.float64]:
        found = []
        for row in rows:
            try:
                probabilities = model.predict_proba_one(row)
            except NotImplementedError:
                probabilities = {model.predict_one(row): 1.0}
            labels.extend(label for label in probabilities if label not in labels)
            found.append(probabilities)
        return np.array([[probabilities.get(label, 0.0) for label in labels] for probabilities in found])

    return Asked(ask, lambda: labels, contextlib.nullcontext())


def chosen(n: int, samples: int) -> list[int]:
    """Return which of n background samples are used: none twice, unless more are wanted than there are."""
    check_whole("samples", samples, 1)
    rng = np.random.default_rng(0)
    rounds = [rng.permutation(n) for _ in range(-(-samples // n))] if n else []
    return [int(i) for each in rounds for i in each][:samples]


def explained(
    ask: Callable[[list[Row]], NDArray[np.float64]],
    labels: list[Any],
    x: Row,
    background: Sequence[Row],
    label: Any = None,
) -> Contributions:
    """Return the contributions to the prediction for x, or to its probability of a label.

    Parameters
    ----------
    ask
        Predictions of samples: a row each, with a column for each label, or one for a target.
    labels
        The labels of the columns; ``ask`` may add some.
    x
        The sample.
    background
        One sample for each pair of orders.
    label
        None: the label with the largest probability.

    """
    first = ask([x])[0]  # raises if x is invalid
    column = 0
    if not len(first):
        raise ValueError("the model has not learned a label")
    if labels:
        column = int(first.argmax()) if label is None else _position(labels, label)
    elif label is not None:
        raise ValueError(f"label is {shown(label)}, but the model has no labels")
    names = [*dict.fromkeys((*x, *(name for row in background for name in row)))]
    changes, bases = _changes(lambda rows: ask(rows)[:, column], x, float(first[column]), names, background)
    n = len(background)
    error = changes.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else np.full(len(names), np.nan)
    means = changes.mean(axis=0) if n else np.zeros(len(names))
    return Contributions(
        dict(zip(names, means.tolist(), strict=True)),
        base=float(bases.mean()) if n else float(first[column]),
        prediction=float(first[column]),
        label=labels[column] if labels else None,
        error=dict(zip(names, error.tolist(), strict=True)),
        sample=x,
        samples=n,
    )


def _position(labels: list[Any], label: Any) -> int:
    if not any(each is label or not differs(each, label) for each in labels):
        raise ValueError(f"label is {shown(label)}; the labels learned so far are {', '.join(map(shown, labels))}")
    return next(i for i, each in enumerate(labels) if each is label or not differs(each, label))


def differs(a: Any, b: Any) -> bool:
    """Whether two values differ; those that cannot be compared, such as NA and arrays, do."""
    try:
        return bool(a != b)
    except (TypeError, ValueError):
        return True


def _changes(
    ask: Callable[[list[Row]], NDArray[np.float64]],
    x: Row,
    end: float,
    names: list[Hashable],
    background: Sequence[Row],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean change with each feature, (background samples, names), and the predictions for the background."""
    rng = np.random.default_rng(1)
    index = {name: i for i, name in enumerate(names)}
    rows: list[Row] = []
    predicted: list[float] = []
    orders = []
    for row in background:
        differ = [name for name in names if (name in x) != (name in row) or (name in x and differs(x[name], row[name]))]
        order = [differ[j] for j in rng.permutation(len(differ))]
        orders.append(order)
        for between in ((row,), _between(row, x, order), _between(row, x, order[::-1])):
            for each in between:
                rows.append(each)
                if len(rows) == TOGETHER:
                    predicted += ask(rows).tolist()
                    rows.clear()
    if rows:
        predicted += ask(rows).tolist()
    changes, bases, left = np.zeros((len(background), len(names))), np.zeros(len(background)), iter(predicted)
    for i, order in enumerate(orders):
        bases[i] = next(left)
        for one in (order, order[::-1]):
            before = bases[i]
            for name in one:
                after = end if name is one[-1] else next(left)
                changes[i, index[name]] += 0.5 * (after - before)
                before = after
    return changes, bases


def _between(row: Row, x: Row, order: list[Hashable]) -> Iterator[Row]:
    """Yield a sample that becomes x feature by feature, in an order, without its first and last state."""
    row = dict(row)
    for name in order[:-1]:
        if name in x:
            row[name] = x[name]
        else:
            del row[name]
        yield dict(row)
