"""Models with the schema of the file that they were trained on, and the encoding of strings and dates as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from river import base, compose, preprocessing

from river_okl._core.store.sample import is_gap, number
from river_okl.checks import check_flag
from river_okl.series import Dates, is_date
from river_okl.tables.schema import Schema, is_finite

__all__ = ["Numeric", "TableClassifier", "TableRegressor"]


class Numeric(base.Transformer):
    """Encodes samples as numbers, for models that need them.

    Strings are one-hot encoded (`colour="red"` becomes `colour=red: 1.0`), dates become numbers, and missing
    values are left out.

    Parameters
    ----------
    scale
        Whether to standardize numbers by the samples learned so far. Strings are not standardized, as a feature that
        is 1 or absent would become 0.

    Examples
    --------
    >>> from river_okl.tables.models import Numeric

    >>> Numeric(scale=False).transform_one({"size": 2.0, "colour": "red", "weight": None})
    {'size': 2.0, 'colour=red': 1.0}

    """

    def __init__(self, *, scale: bool = True):
        check_flag("scale", scale)
        self.scale = scale
        self.scaler: Any = preprocessing.StandardScaler()
        self._dates = Dates(categories=False)

    def learn_one(self, x: dict[Hashable, Any]) -> None:
        """Update the scales."""
        if self.scale:
            found = self._plain(x)[0]
            for name, value in found.items():  # all before the first one is learned
                if not is_finite(value):
                    number(name, value)  # raises an error that names the feature
            self.scaler.learn_one(found)

    def transform_one(self, x: dict[Hashable, Any]) -> dict[Hashable, Any]:
        """Return x as numbers."""
        found, strings = self._plain(x)
        if self.scale:
            found = {**found, **self.scaler.transform_one(found)}
        for name in strings:
            found[f"{name}={x[name]}"] = 1.0
        return found

    def _plain(self, x: dict[Hashable, Any]) -> tuple[dict[Hashable, Any], list[Hashable]]:
        """Return the features that are numbers, and the names of those that are strings."""
        if any(map(is_date, x.values())):
            x = self._dates.transform_one(x)
        numbers: dict[Hashable, Any] = {}
        strings: list[Hashable] = []
        for name, value in x.items():
            if isinstance(value, str):
                strings.append(name)
            elif not is_gap(value):
                numbers[name] = value
        return numbers, strings


class _TableModel(base.Wrapper[Any]):
    """Base for both tasks."""

    def __init__(self, model: Any, schema: dict[str, Any]):
        self.model = model
        self.schema = schema
        self._schema = Schema(**schema)

    @property
    def _wrapped_model(self) -> Any:
        return self.model

    def learn_one(self, x: dict[Hashable, Any], y: Any, **kwargs: Any) -> None:
        """Update the model with a row and its target, both as in the file."""
        sample, target = self._schema.sample(x), self._schema.target_of(y)
        if target is None:
            raise ValueError(f"the target {self._schema.target!r} is missing: leave the row out")
        self.model.learn_one(sample, target, **kwargs)

    def predict_one(self, x: dict[Hashable, Any], **kwargs: Any) -> Any:
        """Return the predicted label or target of a row."""
        return self._schema.label_of(self.model.predict_one(self._schema.sample(x), **kwargs))


class TableClassifier(_TableModel, base.Classifier):
    """A classifier of the rows of a file, as `python -m river_okl --save` saves it.

    Rows are dicts by column. Their values may be texts, as the `csv` module reads them, or numbers, strings and dates.
    Texts are read as in the file that the model was trained on. A text that is not a number in a column of numbers, or
    an unknown column, raises ValueError. Labels are those of the file.

    Parameters
    ----------
    model
        The model that learns samples.
    schema
        The columns of the file, see `river_okl.tables.schema.Schema`.

    Examples
    --------
    >>> import river_okl
    >>> from river_okl.tables.models import TableClassifier

    >>> schema = {
    ...     **{"format": "csv", "columns": {"size": "numbers", "colour": "strings"}, "target": "ripe"},
    ...     **{"task": "binary classification", "labels": ("no", "yes"), "numeric": False},
    ... }
    >>> model = TableClassifier(river_okl.OKLClassifier(), schema)
    >>> for size, colour, ripe in [("5.1", "green", "no"), ("7.5", "red", "yes"), ("n.a.", "red", "yes")]:
    ...     model.learn_one({"size": size, "colour": colour}, ripe)
    >>> model.predict_one({"size": "7.0", "colour": "red"})
    'yes'
    >>> model.predict_one({"size": "large", "colour": "red"})
    Traceback (most recent call last):
        ...
    ValueError: column 'size' has numbers: 'large' is not a number

    """

    def predict_proba_one(self, x: dict[Hashable, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the probability of each label of the file."""
        found = self.model.predict_proba_one(self._schema.sample(x), **kwargs)
        return {self._schema.label_of(y): p for y, p in found.items()}


class TableRegressor(_TableModel, base.Regressor):
    """A regressor of the rows of a file; see `TableClassifier` for the rows and the parameters."""

    def predict_interval_one(self, x: dict[Hashable, Any], *args: Any, **kwargs: Any) -> Any:
        """Return the interval that the model predicts for a row; AttributeError if the model has no intervals."""
        sample, model = self._schema.sample(x), self.model
        if isinstance(model, compose.Pipeline):  # has no such method
            sample, model = model.transform_one(sample), model[-1]
        return model.predict_interval_one(sample, *args, **kwargs)
