"""What a budget may be besides a number: so much for each label, shared by all."""

from __future__ import annotations

from typing import Any

from river import base

from river_okl.checks import check_whole
from river_okl.errors import kind_of

__all__ = ["PerClass"]


class PerClass(base.Base):
    """A budget for each label if there are more than two: k labels share k times as many support vectors.

    A binary model has one function; a model of k > 2 labels has k functions over the same support vectors. With
    `budget=500` all labels share 500 support vectors; with `budget=PerClass(50)` two labels have 50, three 150, and
    the 26 letters 1,300. Use it if there are many labels, or if their number is unknown. Time is proportional to the
    number of labels and memory to its square: each support vector has a coefficient for each label.

    Parameters
    ----------
    budget
        Maximum number of support vectors for each label.

    Examples
    --------
    >>> from river import datasets, preprocessing
    >>> from river_okl import BPAClassifier, PerClass

    >>> model = preprocessing.StandardScaler() | BPAClassifier(budget=PerClass(20))
    >>> for x, y in datasets.ImageSegments().take(1000):
    ...     model.learn_one(x, y)
    >>> model["BPAClassifier"].n_support_vectors  # 7 labels
    140

    """

    def __init__(self, budget: int):
        check_whole("budget", budget)
        self.budget = budget

    def __repr__(self) -> str:
        return f"PerClass({self.budget})"

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((PerClass, self.budget))


def of_expansion(budget: Any, model: Any) -> dict[str, Any]:
    """The budget as an expansion takes it, where the model of this parameter may have one for each label."""
    if not isinstance(budget, PerClass):
        check_whole("budget", budget)
        return {"budget": budget}
    if not getattr(model, "_multiclass", False):
        raise TypeError(f"budget is {budget!r}, and {kind_of(model)} has one function: give an integer")
    return {"budget": budget.budget, "per_class": True}
