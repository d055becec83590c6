"""The public classes, discovered, and models of them in every mode."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import pickle
import warnings

import pytest
from river import base

import river_okl
from river_okl.model import CompiledModel
from tests import streams

PUBLIC = {name: getattr(river_okl, name) for name in river_okl.__all__}
MODELS = {name: cls for name, cls in PUBLIC.items() if inspect.isclass(cls) and issubclass(cls, CompiledModel)}
CLASSES = {name: cls for name, cls in MODELS.items() if issubclass(cls, base.Classifier | base.Regressor)}
CLASSIFIERS = {name: cls for name, cls in CLASSES.items() if issubclass(cls, base.Classifier)}
UNSUPERVISED = {name: cls for name, cls in MODELS.items() if name not in CLASSES}  # detectors and transformers

# Five very different classes: halving and many labels, a regressor, no support vectors, averaging, hints.
ODD = ("AhpatronClassifier", "BPARegressor", "FOGDClassifier", "NBSGDRegressor", "POMDRClassifier")

# Classes that read samples each in a way of their own; the others read like one of these.
READERS = (
    *("OKLClassifier", "OKLRegressor", "OKLDetector", "SOGPClassifier", "TVMClassifier", "FOGDClassifier"),
    *("BPAClassifier", "NBSGDRegressor", "POMDRClassifier", "KernelOneClassSVM", "SkeGDClassifier"),
    *("NystroemFeatures", "RandomFourierFeatures"),
)

# Parameters that choose a mode, with the values of all classes.
MODES = {
    "maintenance": ("simple", "nearest", "projection", "removal", "approximate", "merging"),
    "merging": ("global", "nearest"),
    "projection": ("exact", "approximate"),
    "sampling": ("uniform", "magnitude"),
    "mode": (0, 1, 2),
    "averaged": (True, False),
    "suffix": (0.5,),
}


def task(cls):
    return streams.REGRESSION if issubclass(cls, base.Regressor) else streams.CLASSIFICATION


def parameters(cls):
    return {p.name: p.default for p in inspect.signature(cls).parameters.values()}


def bounded(cls):
    """Whether |S| ≤ budget is guaranteed: NBSGD grows by design, and some classes have no budget."""
    return parameters(cls).get("budget") is not None and not cls.__name__.startswith("NBSGD")


def shares(cls):
    """Whether the budget may be a ``PerClass``."""
    return "Budget" in str(inspect.signature(cls).parameters.get("budget"))


def small(cls, **options):
    """A model with at most 8 support vectors and 200 rows, if the class has these bounds, and a seed, if it has one."""
    names = parameters(cls)
    defaults = {"budget": 8, "memory": 200, "seed": 42, "n_components": 20}
    return cls(**{name: value for name, value in {**defaults, **options}.items() if name in names})


def accepts(cls, **options):
    """Whether these are options of ``small``, such as a mode of this class."""
    try:
        small(cls, **options)
    except (TypeError, ValueError):
        return False
    return True


def variants(cls):
    """(name, options): the defaults, the class's own test parameters, and every mode."""
    yield "default", {}
    for i, options in enumerate(cls._unit_test_params()):
        if options:
            yield f"unit-{i}", dict(options)
    if cls in NATIVE.values() and shares(cls):
        yield "budget-per-class", {"budget": river_okl.PerClass(8)}
    for name, values in MODES.items():
        for value in values:
            if value != parameters(cls).get(name, value) and accepts(cls, **{name: value}):
                yield f"{name}={value}", {name: value}


NATIVE = {name: cls for name, cls in CLASSIFIERS.items() if small(cls)._multiclass}  # without a wrapper
EVERY_VARIANT = [
    (cls, options, f"{name}-{variant}") for name, cls in CLASSES.items() for variant, options in variants(cls)
]


def each_of(classes):
    return pytest.mark.parametrize("cls", classes.values(), ids=classes)


def each_with_options(cases):
    return pytest.mark.parametrize(("cls", "options"), cases)


SUPERVISED_VARIANTS = [pytest.param(cls, options, id=name) for cls, options, name in EVERY_VARIANT]
VARIANTS = SUPERVISED_VARIANTS + [pytest.param(cls, {}, id=f"{name}-default") for name, cls in UNSUPERVISED.items()]
each_class = each_of(CLASSES)
each_variant = each_with_options(SUPERVISED_VARIANTS)


def snapshot(model):
    """The model as bytes that do not depend on sharing of objects (a pickle without its memo)."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pickler.fast = True
    pickler.dump(model)
    return buffer.getvalue()


def without_predictions(pending):
    """A state of ``Pending`` without the predictions."""
    return {name: True if name == "late" else part[:0] for name, part in pending.items()}


def knowledge(model):
    """``snapshot`` of what a model has learned: OKL also keep what they said of samples whose labels have not come."""
    f = getattr(model, "_f", None)
    if not hasattr(f, "pending"):
        return snapshot(model)
    make, options, state = f.__reduce__()
    model = copy.copy(model)
    model._f = make(*options)
    model._f.restore(state | {"pending": without_predictions(state["pending"])})
    return snapshot(model)


@contextlib.contextmanager
def unchanged(model):
    """What is done with the model does not change it."""
    before = snapshot(model)
    yield
    assert snapshot(model) == before


def target(model, y):
    """The arguments of ``learn_one`` and ``learn_many`` between the features and the weight."""
    return () if type(model).__name__ in UNSUPERVISED else (y,)


def learn(model, stream):
    for x, y in stream:
        model.learn_one(x, *target(model, y))
    return model


def decision(model, x):
    """The score of a classifier or detector, the prediction of a regressor, the output of a transformer."""
    if isinstance(model, base.Regressor):
        return model.predict_one(x)
    if isinstance(model, base.Classifier):
        return model.decision_function_one(x)
    return model.score_one(x) if isinstance(model, base.AnomalyDetector) else model.transform_one(x)


def outputs(model, x):
    """Everything that a model says of a sample, to the bit."""
    said = decision(model, x)
    if isinstance(model, base.Classifier):
        said = model.predict_one(x), said, model.predict_proba_one(x)
    return repr(said)


def parts(model):
    """Its parts that state their invariants."""
    return [part for part in vars(model).values() if hasattr(part, "_check")]


def check_parts(model):
    for part in parts(model):
        part._check()


def size(model):
    return model._raw_memory_usage
