"""What the pages have from code and results, between marks such as <!-- long --> and <!-- /long -->.

``python docs/generated.py`` writes it; ``--stale`` only names the pages on which it is out of date.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import river_okl
from river_okl import distributed
from river_okl.algorithms.features import KernelFeatures
from river_okl.decision import KernelClassifier, KernelRegressor
from river_okl.model import CompiledModel, KernelEstimator, LabelModel, SumModel, SupervisedModel, TargetModel
from river_okl.predictive import PredictiveRegressor

ROOT = pathlib.Path(__file__).parent.parent
README = ROOT / "README.md"
CLASSES = ROOT / "docs" / "classes.md"
OTHERS = "Budgets, kernels, losses, data, late labels", "Functions"
MODULES = {"kernels": "kernels.md", "losses": "kernels.md#losses", "datasets": "benchmarks.md#data-of-the-papers"}
KERNELS = "RBF", "Laplacian", "Polynomial", "Linear", "Sum", "Product"
DETECTORS = river_okl.OKLDetector, river_okl.KernelOneClassSVM
INTRODUCTION = """\
Each heading names the classes that have the attributes and methods below it. x is a feature dict, y a label or target,
w a sample weight, X a frame of pandas, polars or another library that narwhals knows. A prediction changes nothing that
a model has learned. `OKLClassifier` and `OKLRegressor` also store their predictions until the labels arrive. Their
`learn_one`, `predict_one`, `predict_proba_one` and `predict_interval_one` accept `key=`
([late labels](late-labels.md#keys)). Any number of threads may call these methods. `save`, `load` and `merge` are
functions. River's pipelines have no intervals: `predict_interval_one(model, x, coverage)` is a function, too, for a
regressor behind transformers or a `TargetStandardScaler`."""
# of the common interface: title, classes and members; the first class documents them, and of two sections that a
# member of a class is in the last
INTERFACE: dict[str, tuple[str, tuple[type, ...], str]] = {
    "model": (
        "Classifiers and regressors",
        (SupervisedModel,),
        "learn_one learn_many learn_stream",
    ),
    "sum": ("Classes of a single kernel machine", (SumModel,), "explain_one debug_one"),
    "classifier": (
        "Classifiers",
        (KernelClassifier, LabelModel),
        "predict_one predict_proba_one predict_many predict_proba_many decision_function_one",
    ),
    "regressor": ("Regressors", (KernelRegressor, TargetModel), "predict_one predict_many"),
    "predictive": (
        "OKLRegressor and SOGPRegressor",
        (PredictiveRegressor,),
        "predict_one predict_interval_one predict_interval_many",
    ),
    "every": ("Every class", (CompiledModel,), "clone mutate"),
    "all": (
        "Every class except OKLDetector, Dates and Lags",
        (KernelEstimator,),
        "n_support_vectors support_vectors norm kernel_in_use",
    ),
    "mixture": (
        "OKLClassifier and OKLRegressor",
        (river_okl.OKLClassifier, river_okl.OKLRegressor),
        "contributions_one debug_one experts feature_weights feature_importances kernel_in_use",
    ),
    "detector": ("Detectors", DETECTORS, "score_one score_many learn_one learn_many learn_stream"),
    "okl-detector": ("OKLDetector", DETECTORS[:1], "explain_one"),
    "transformer": (
        "RandomFourierFeatures and NystroemFeatures",
        (KernelFeatures,),
        "transform_one transform_many learn_one learn_many learn_stream",
    ),
}
SHORT = "0", "1", "1b", "4", "4c"  # sections of the leaderboard that have a place on its page
UNTUNED = "![Accuracy against microseconds per sample, a dot for each model](untuned.png)"
LONG = "![Accuracy along each of the streams, a line for each model](long.png)"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
MARKED = re.compile(r"^(<!-- (\w+) -->)$.*?^(<!-- /\2 -->)$", re.M | re.S)


# The API --------------------------------------------------------------------------------------------------------------


def public() -> dict[str, Any]:
    """Every public name, and ``train``, which has a module of its own."""
    return {name: getattr(river_okl, name) for name in river_okl.__all__} | {"train": distributed.train}


def paged(name: str) -> bool:
    """Whether a name has a page of its own; a module is on a page with others."""
    return name not in MODULES


def families() -> list[tuple[str, list[str]]]:
    """Every public name, once, by the families of the table of all classes."""
    found: dict[str, list[str]] = {}
    family_of: dict[str, str] = {}
    for _, cells in rows(CLASSES):
        if cells[0].startswith("**"):
            found.setdefault(current := cells[0].strip("*"), [])
        family_of |= dict.fromkeys(re.findall(r"`(\w+)`", cells[0]), current)
    found |= {other: [] for other in OTHERS}
    for name, value in public().items():
        found[family_of.get(name) or family_of.get(stem(name)) or OTHERS[inspect.isfunction(value)]].append(name)
    return list(found.items())


def family(name: str) -> list[str]:
    """The other classes of a name's family: first the same algorithm for the other task, then those most like it."""
    value, found = public()[name], next(names for _, names in families() if name in names)
    others = [each for each in found if each != name and inspect.isclass(public()[each])]

    def unlike(other: str) -> tuple[bool, bool, bool, int]:
        same_task = task(other) == task(name)
        same_module = public()[other].__module__ == value.__module__
        return stem(other) != stem(name), not same_task, not same_module, abs(found.index(other) - found.index(name))

    return sorted(others, key=unlike)


def stem(name: str) -> str:
    """A class as the tables call it."""
    return re.sub(r"(Classifier|Regressor)$", "", name)


def task(name: str) -> str:
    """What a class's name ends with, if that is its task."""
    return name.removeprefix(stem(name))


def sections(value: Any) -> dict[str, str]:
    """The parts of a docstring by their headings; what precedes them is "" ."""
    heads = SECTION.split(inspect.getdoc(value) or "")
    return {"": heads[0].strip()} | {head: text.strip() for head, text in zip(heads[1::2], heads[2::2], strict=True)}


def summary(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(sections(value)[""].partition("\n\n")[0].split())


def index() -> str:
    """Every public name with what it is, by family; links lead to the code, on the site to the page of the name."""
    out = []
    for family, names in families():
        out += ["", f"## {family}", ""]
        for name in names:
            value = public()[name]
            target = f"../{source(value)}" if paged(name) else MODULES[name]
            shown = "distributed.train" if name == "train" else name
            out.append(f"* [`{shown}`]({target}): {summary(value)}")
    return "\n".join(out[1:])


def source(value: Any) -> str:
    """The file of the repository that a class or function is in."""
    return pathlib.Path(inspect.getfile(value)).relative_to(ROOT).as_posix()


def interface() -> str:
    """What classes have in common, once."""
    out = [INTRODUCTION]
    for slug, (title, kinds, names) in INTERFACE.items():
        out.append(f"## {title}")
        for name in names.split():
            member = getattr(kinds[0], name)
            out += [f'<a id="{slug}-{name}"></a>', f"### `{called(name, kinds[0])}`", described(member)]
    return "\n\n".join(out)


def described(value: Any) -> str:
    """The text and the parameters of a docstring, and its example."""
    found = sections(value)
    out = [found[""]]
    if "Parameters" in found:
        out.append(parameters(value, found["Parameters"]))
    if "Examples" in found:
        out.append(f"```python\n{found['Examples']}\n\n```")
    return "\n\n".join(out)


def signature(name: str, value: Any) -> str:
    """How it is called, with defaults; types are with the parameters."""
    given = inspect.signature(value).parameters.values()
    short = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in given])
    return f"{name}{short}"


def called(name: str, cls: Any) -> str:
    """A member as it is written in a program."""
    member = inspect.getattr_static(cls, name)
    if isinstance(member, property):
        return name
    _, *given = inspect.signature(member).parameters.values()
    short = [each.replace(annotation=each.empty) for each in given if each.kind is not each.VAR_KEYWORD]
    return f"{name}{inspect.Signature(short)}"


def parameters(value: Any, text: str) -> str:
    """A list of parameters with types and defaults."""
    known, out = inspect.signature(value).parameters, []
    for name, body in re.findall(r"^(\w+)\n((?:(?:    .*)?\n?)*)", text, re.M):
        given = known[name]
        kind = "" if given.annotation is given.empty else str(given.annotation).strip("'")
        default = "" if given.default is given.empty else f", default `{given.default!r}`"
        out.append(f"* **{name}** (`{kind}`{default}): {' '.join(body.split())}")
    return "\n".join(out)


def kernels() -> str:
    """The kernels, one after another."""
    values = [getattr(river_okl.kernels, name) for name in KERNELS]
    return "\n\n".join(f"### `{signature(each.__name__, each)}`\n\n{described(each)}" for each in values)


def losses() -> str:
    """The loss that River lacks."""
    value = river_okl.losses.EpsilonInsensitive
    return f"### `{signature(value.__name__, value)}`\n\n{described(value)}"


# Papers and results ---------------------------------------------------------------------------------------------------


def equations() -> str:
    """Every equation that a comment of the algorithms' files cites."""
    rows = ["| file | cites | code |", "| --- | --- | --- |"]
    for path in sorted((ROOT / "river_okl" / "algorithms").glob("*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            code, hash_sign, comment = line.partition("  # ")
            if code.strip() and hash_sign and re.search(r"\beq\.|\bline \d|algorithm|theorem|[←√α-ω]", comment, re.I):
                shown = code.strip().replace("|", "\\|").replace("`", "")
                rows.append(f"| {path.name} | {comment.strip().replace('|', chr(92) + '|')} | `{shown}` |")
    return "\n".join(rows)


def rows(path: pathlib.Path) -> Iterator[tuple[list[str], list[str]]]:
    """The rows of all tables of a page, each with the heads of its columns."""
    for table in re.findall(r"(?:^\|.*\n)+", path.read_text(encoding="utf-8"), re.M):
        head, _, *body = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
        yield from ((head, cells) for cells in body)


def cost(name: str) -> dict[str, str]:
    """The orders of a class's memory and time, from the table of all classes."""
    for head, cells in rows(CLASSES):
        if {name, stem(name)} & {*re.findall(r"`(\w+)`", cells[0])}:
            found = dict(zip(head, cells, strict=True))
            return {what: found[what] for what in ("memory", "time per sample") if what in found}
    return {}


def results(name: str) -> list[list[str]]:
    """A class's results with its defaults: stream, accuracy or error, support vectors and microseconds."""
    for head, cells in rows(ROOT / "benchmarks" / "results" / "classes.md"):
        if cells[0] == f"`{name}`":
            return [[head[i], *cells[i : i + 3]] for i in range(1, len(head), 3)]
    return []


def tables(path: pathlib.Path) -> str:
    """The text of a page of results without its heading; pictures come from the repository."""
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"\A# .*\n", "", text)
    text = re.sub(r"!\[(.*?)\]\(.*?\)\n?", "", text)
    return re.sub(r"\[(.*?)\]\((?!https?:).*?\)", r"\1", text)


def benchmarks() -> str:
    """Every class with its defaults."""
    return tables(ROOT / "benchmarks" / "results" / "classes.md")


def scale() -> str:
    """What several workers cost and gain, as ``python -m benchmarks.scale`` found it."""
    return deeper(tables(ROOT / "benchmarks" / "results" / "scale.md"))


def long() -> str:
    """The tables and the picture of ``python -m benchmarks.long``."""
    return f"{LONG}\n\n{tables(ROOT / 'benchmarks' / 'results' / 'long.md')}"


def ablation() -> str:
    """What ``python -m benchmarks.ablation`` found."""
    return tables(ROOT / "benchmarks" / "results" / "ablation.md")


def deeper(text: str) -> str:
    """Headings a level deeper."""
    return re.sub(r"^## ", "### ", text, flags=re.M)


def leaderboard() -> str:
    """The picture of the summary and the first tables of ``python -m benchmarks.untuned``."""
    _, *parts = re.split(r"(?=^## )", tables(ROOT / "benchmarks" / "results" / "untuned.md"), flags=re.M)
    return "\n\n".join([UNTUNED, *(part.strip() for part in parts if part.split()[1].rstrip(".") in SHORT)])


def headline() -> str:
    """The claim and the table of README.md, of which a phone shows the model, its results and its time."""
    text = README.read_text(encoding="utf-8")
    claim = text.partition("<!-- claim -->")[2].partition("<!-- /claim -->")[0]
    table = text.partition("<!-- table -->")[2].partition("<!-- /table -->")[0].strip()
    rows, _, measured = table.partition("\n\n")
    cells = [row.strip("|").split("|") for row in rows.splitlines()]
    return "\n".join([claim, "", *(f"|{row[0]}|{row[1]}|{row[3]}|{row[4]}|" for row in cells), "", measured])


def unfit() -> str:
    """README.md's section on what the models are not for."""
    text = README.read_text(encoding="utf-8").partition("## When not to use it\n")[2].partition("\n## ")[0]
    text = re.sub(r"<!-- /?lightgbm -->", "", text)
    return text.replace("](docs/", "](").replace("](benchmarks/", "](../benchmarks/")


# Between the marks ----------------------------------------------------------------------------------------------------

MAKERS: dict[str, Callable[[], str]] = {
    "ablation": ablation,
    "api": index,
    "benchmarks": benchmarks,
    "equations": equations,
    "interface": interface,
    "kernels": kernels,
    "leaderboard": leaderboard,
    "long": long,
    "losses": losses,
    "scale": scale,
    "summary": headline,
    "unfit": unfit,
}


def filled(text: str) -> str:
    """A page with everything between its marks made anew."""
    return MARKED.sub(lambda match: f"{match[1]}\n\n{MAKERS[match[2]]().strip()}\n\n{match[3]}", text)


if __name__ == "__main__":
    for path in sorted((ROOT / "docs").glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = filled(before)
        if after != before:
            print(path.relative_to(ROOT))
            if "--stale" not in sys.argv:
                path.write_text(after, encoding="utf-8")
