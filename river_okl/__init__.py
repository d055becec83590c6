"""river_okl: budgeted online kernel learning for River.

The map of the house::

    river pipeline ──dict──▶ algorithms/*.py ──▶ Expansion ──▶ rows.h (vector loops)
                    ◀─float─

    api.py          the public names, which this file imports at first use
    algorithms/     one file per paper: ``_step`` is its pseudo-code over a function f; support.py: shared parts
    model.py        river's protocol: learning, mini-batches, support vectors, copies
    decision.py     models that predict f(x), over which ``_step`` steps
    predictive.py   models that predict a distribution: Gaussian processes, single and mixed
    intervals.py    prediction intervals behind transformers
    contributions.py  what each feature contributes to a prediction
    plot.py         pictures of contributions, models and learning curves
    labels.py       which label is positive, and which values are invalid labels
    frames.py       dataframes in and out
    series.py       transformers: dates, lags of targets that may come late
    late.py         a queue for labels that come late, and in a biased order
    checks.py       validation of parameters (budgets and learning rates among them), weights and targets
    kernels.py      RBF, Laplacian, Polynomial, Linear, their sums and products
    losses.py       the ε-insensitive loss, and derivatives of river's losses
    merging/        merging models that learned in parallel
    distributed.py  learning on several workers of Ray, in rounds
    checkpoint/     save and load without pickle
    datasets/       the papers' data sets, and tables as streams
    progress.py     a progress bar
    cli/            the command: a race of models
    _core/          compiled: samples, scaling, points, kernel rows, linear algebra, calibration, the lock, the
                    detector; and
        store/      arrays that are declared once
        loops/      C: the vector loops
        function/   the expansion f = Σ α_i κ(z_i, ·), random features, the dual of TVM
        gaussian/   the posterior of a Gaussian process on a dictionary, and a single process
        memory/     the latest samples, boosted trees that are built from them, and neighbours among them
        mixture/    OKL: one file per expert, and the mixture
"""

import ast
import importlib.util
import pathlib
from typing import TYPE_CHECKING, Any

import river_okl._core  # noqa: F401  (raises with instructions if it is not compiled)

__version__ = "0.6.0"

if TYPE_CHECKING:
    from river_okl.api import *  # noqa: F403
else:

    def _modules() -> dict[str, str]:
        """The module of each public name: ``api.py`` is parsed, as running it would import everything."""
        source = pathlib.Path(__file__).with_name("api.py").read_text(encoding="utf-8")
        imports = [node for node in ast.parse(source).body if isinstance(node, ast.ImportFrom)]
        return {alias.name: node.module for node in imports for alias in node.names}

    def __getattr__(name: str) -> Any:
        """Import a public name at its first use, without the others: River's data sets alone take a second."""
        if name == "__all__":
            return globals().setdefault(name, sorted(_modules()))
        if not name.startswith("__"):
            if name.isidentifier() and importlib.util.find_spec(f"{__name__}.{name}"):
                return importlib.import_module(f"{__name__}.{name}")
            if module := _modules().get(name):
                return globals().setdefault(name, getattr(importlib.import_module(module), name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return [*sorted(_modules()), "__version__"]
