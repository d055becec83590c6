"""What the site has beside the pages here: one per public name, an index of them, formulas as MathML, results.

``mkdocs build`` calls these functions (mkdocs.yml, hooks).  Nothing here is written to the repository.
"""

from __future__ import annotations

import inspect
import pathlib
import re
from typing import Any

import latex2mathml.converter
from mkdocs.structure.files import File, Files

import river_okl
from river_okl import distributed
from river_okl.algorithms.features import KernelFeatures
from river_okl.algorithms.okl import OKL
from river_okl.model import KernelClassifier, KernelEstimator, KernelRegressor, LabelModel, SupervisedModel, TargetModel
from river_okl.predictive import PredictiveRegressor

ROOT = pathlib.Path(__file__).parent.parent
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PICTURES = {
    "untuned.png": "Accuracy against microseconds per sample, a dot for each model",
    "beliefs.png": "Weights of the experts of OKLClassifier along Elec2",
    "features.png": "Feature weights on Agrawal, before and after a drift",
    "band.png": "The mean and the 90 % interval of OKLRegressor on a stream that changes",
}
FAMILIES = {  # of the index: the modules that implement them
    "Start here": ["okl"],
    "Second order": ["sogp"],
    "Perceptrons": ["perceptron", "budget_perceptron", "forgetron", "projectron", "alma", "ahpatron"],
    "Passive-aggressive": ["pa", "bpa", "duol"],
    "Gradient descent": ["ogd", "olk", "bogd", "nbsgd", "pomdr", "tvm"],
    "Averaging, for stationary streams": ["spa", "oskl"],
    "Random and Nyström features": ["fogd_nogd", "skegd"],
    "Anomalies": ["novelty"],
    "Transformers": ["features", "series"],
}
OTHERS = "Budgets, kernels, losses, data", "Functions"
MODULES = {"kernels": "kernels.md", "losses": "kernels.md#losses", "datasets": "benchmarks.md#data-of-the-papers"}
KERNELS = "RBF", "Laplacian", "Polynomial", "Linear", "Sum", "Product"
DETECTOR = river_okl.KernelOneClassSVM
INTRODUCTION = """\
Every class has these attributes and methods. x is a feature dict, y a label or target, w a sample weight, X a frame
of pandas, polars or another library that narwhals knows. Predicting never changes a model; any number of threads may
call any of these. [`save`](save.md), [`load`](load.md), [`merge`](merge.md) and [`distance`](distance.md) are
functions."""
# of the common interface: title, classes and members; the first class documents them, and of two sections that a
# member of a class is in the last
INTERFACE: dict[str, tuple[str, tuple[type, ...], str]] = {
    "model": (
        "Classifiers and regressors",
        (SupervisedModel,),
        "learn_one learn_many learn_stream explain_one debug_one",
    ),
    "classifier": (
        "Classifiers",
        (KernelClassifier, LabelModel),
        "predict_one predict_proba_one predict_many predict_proba_many decision_function_one",
    ),
    "regressor": ("Regressors", (KernelRegressor, TargetModel), "predict_one predict_many"),
    "predictive": ("OKLRegressor and SOGPRegressor", (PredictiveRegressor,), "predict_one predict_interval_one"),
    "all": ("Every class", (KernelEstimator,), "n_support_vectors support_vectors norm kernel_in_use clone mutate"),
    "mixture": ("OKLClassifier and OKLRegressor", (OKL,), "experts feature_weights kernel_in_use debug_one"),
    "detector": ("KernelOneClassSVM", (DETECTOR,), "score_one score_many learn_one learn_many learn_stream"),
    "transformer": ("Transformers", (KernelFeatures,), "transform_one transform_many learn_one learn_many"),
}
FORMULAS = "glossary.md", "how-okl-works.md", "papers.md"  # with formulas within sentences
LONG = "![Accuracy along each of the streams, a line for each model](long.png)"
MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
GENERATED = re.compile(r"^<!-- (\w+) -->$", re.M)
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.M)
REFERENCE = re.compile(r"^\[\^(\d+)\]: ", re.M)


def on_config(config: Any) -> Any:
    """The classes join the navigation, by family."""
    index = [{"API by family": "api/index.md"}, {"Common interface": "api/interface.md"}]
    pages = [{family: [{name: f"api/{name}.md"} for name in names if paged(name)]} for family, names in families()]
    config.nav.insert(3, {"API": index + pages})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that no file of docs/ holds: the repository's own, and those of the API."""
    for name, target in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=relinked(text)))
    files.append(File.generated(config, "api/index.md", content=index()))
    files.append(File.generated(config, "api/interface.md", content=interface()))
    for name in public():
        if paged(name):
            files.append(File.generated(config, f"api/{name}.md", content=page(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tables from results and code, links to the API, and formulas that every browser shows without a script."""
    makers = {
        "equations": equations,
        "findings": findings,
        "benchmarks": benchmarks,
        "kernels": kernels,
        "leaderboard": leaderboard,
        "losses": losses,
        "long": long,
        "ablation": ablation,
        "scale": scale,
        "summary": headline,
    }
    source, of_api = page.file.src_uri, page.file.src_uri.startswith("api/")
    markdown = GENERATED.sub(lambda match: makers.get(match[1], lambda: match[0])(), markdown)
    if source not in ("contributing.md", "changelog.md"):
        markdown = linked(markdown, "" if of_api else "api/", own=pathlib.PurePath(source).stem)
    markdown = MATH.sub(formulas, markdown)
    return re.sub(r"\$([^$\n]+)\$", inline, markdown) if source in FORMULAS or of_api else markdown


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Search works from a folder and without a network: the theme would fetch this script."""
    up = "../" * page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/iframe-worker.js")


def formulas(block: re.Match[str]) -> str:
    """A formula for each line of a block."""
    return "\n".join(latex2mathml.converter.convert(line, display="block") for line in block[1].splitlines() if line)


def inline(formula: re.Match[str]) -> str:
    """A formula within a sentence: in an element that is no block to Markdown, as ``math`` is."""
    return f"<span>{latex2mathml.converter.convert(formula[1])}</span>"


def relinked(text: str) -> str:
    """A page of the repository, with links as they are on the site; what is not on the site is only named."""
    links = {f"]({name})": f"]({target})" for name, target in PAGES.items()}
    links |= {"](docs/": "](", "](benchmarks/README.md)": "](papers.md#do-the-papers-findings-hold)"}
    for link, target in links.items():
        text = text.replace(link, target)
    return re.sub(r"\[([^\]]*)\]\((?:examples|CITATION\.cff|river_okl/[^)]*|tests/[^)]*)\)", r"\1", text)


# The API --------------------------------------------------------------------------------------------------------------


def public() -> dict[str, Any]:
    """Every public name, and ``train``, which has a module of its own."""
    return {name: getattr(river_okl, name) for name in sorted(river_okl.api.__all__)} | {"train": distributed.train}


def paged(name: str) -> bool:
    """Whether a name has a page of its own; a module is on a page with others."""
    return name not in MODULES


def families() -> list[tuple[str, list[str]]]:
    """Every public name, once, by family."""
    of_module = {module: family for family, modules in FAMILIES.items() for module in modules}
    found: dict[str, list[str]] = {family: [] for family in (*FAMILIES, *OTHERS)}
    for name, value in public().items():
        module = getattr(value, "__module__", "").rpartition(".")[2]
        found[of_module.get(module) or OTHERS[inspect.isfunction(value)]].append(name)
    return list(found.items())


def sections(value: Any) -> dict[str, str]:
    """The parts of a docstring by their headings; what precedes them is "" ."""
    heads = SECTION.split(inspect.getdoc(value) or "")
    return {"": heads[0].strip()} | {head: text.strip() for head, text in zip(heads[1::2], heads[2::2], strict=True)}


def summary(value: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(sections(value)[""].partition("\n\n")[0].split())


def index() -> str:
    """Every public name with what it is, by family."""
    out = [
        "# API by family",
        "",
        "`from river_okl import ...`; the first line of each page. Tasks, memory, time and papers are in the "
        "[table of all classes](../classes.md), methods and attributes in the [common interface](interface.md).",
    ]
    for family, names in families():
        out += ["", f"## {family}", ""]
        for name in names:
            target = f"{name}.md" if paged(name) else f"../{MODULES[name]}"
            shown = "distributed.train" if name == "train" else name
            out.append(f"* [`{shown}`]({target}): {summary(public()[name])}")
    return "\n".join(out)


def page(name: str) -> str:
    """A class or function: summary, formulas, signature, parameters, members, notes, example, papers."""
    value, rule = public()[name], next((text for names, text in rules().items() if name in names), "")
    module, found = ("river_okl.distributed" if name == "train" else "river_okl"), sections(value)
    first, _, rest = found.pop("").partition("\n\n")
    out = [
        f"# {name}",
        first,
        rule,
        rest,
        f"```python\nfrom {module} import {name}\n\n{broken(signature(name, value))}\n```",
    ]
    if "Parameters" in found:
        out += ["## Parameters", parameters(value, found.pop("Parameters"))]
    if inspect.isclass(value) and issubclass(value, KernelEstimator):
        out.append(members(value))
    elif inspect.isfunction(value) and name == "train":
        out += ["## Returns", summary(distributed.Result)]
    papers = found.pop("References", "")
    for head, text in found.items():
        out.append(f"## {head}\n\n" + (f"```python\n{text}\n```" if head == "Examples" else text))
    if papers:
        out.append(f"## References\n\n{REFERENCE.sub(lambda match: f'{match[1]}. ', papers)}")
    return "\n\n".join(out)


def signature(name: str, value: Any) -> str:
    """How it is called, with defaults; types are with the parameters."""
    given = inspect.signature(value).parameters.values()
    short = inspect.Signature([each.replace(annotation=inspect.Parameter.empty) for each in given])
    return f"{name}{short}"


def broken(call: str) -> str:
    """A call with one parameter a line if it is too long for a phone and a half."""
    name, _, given = call.removesuffix(")").partition("(")
    return call if len(call) <= 60 else f"{name}(\n" + "".join(f"    {each},\n" for each in given.split(", ")) + ")"


def parameters(value: Any, text: str) -> str:
    """A list of parameters with types and defaults."""
    known, out = inspect.signature(value).parameters, []
    for name, body in re.findall(r"^(\w+)\n((?:(?:    .*)?\n?)*)", text, re.M):
        given = known[name]
        kind = "" if given.annotation is given.empty else str(given.annotation).strip("'")
        default = "" if given.default is given.empty else f", default `{given.default!r}`"
        out.append(f"* **{name}** (`{kind}`{default}): {' '.join(body.split())}")
    return "\n".join(out)


def members(cls: Any) -> str:
    """The attributes and methods of a class, one line each."""
    attributes, methods = [], []
    for name in dir(cls):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(cls, name)
        line = f"* [`{called(name, cls)}`](interface.md#{anchor(cls, name)}): {summary(getattr(cls, name))}"
        (attributes if isinstance(member, property) else methods).append(line)
    return "\n".join(["## Attributes", "", *attributes, "", "## Methods", "", *methods])


def called(name: str, cls: Any) -> str:
    """A member as it is written in a program."""
    member = inspect.getattr_static(cls, name)
    if isinstance(member, property):
        return name
    _, *given = inspect.signature(member).parameters.values()
    short = [each.replace(annotation=each.empty) for each in given if each.kind is not each.VAR_KEYWORD]
    return f"{name}{inspect.Signature(short)}"


def anchor(cls: Any, name: str) -> str:
    """Where the common interface says what a member of this class is."""
    found = [slug for slug, (_, kinds, names) in INTERFACE.items() if name in names.split() and issubclass(cls, kinds)]
    return f"{found[-1]}-{name}"


def interface() -> str:
    """What classes have in common, once."""
    out = ["# Common interface", INTRODUCTION]
    for slug, (title, kinds, names) in INTERFACE.items():
        out.append(f"## {title}")
        for name in names.split():
            member = getattr(kinds[0], name)
            out += [f"### `{called(name, kinds[0])}` {{ #{slug}-{name} }}", described(member)]
    return "\n\n".join(out)


def described(value: Any) -> str:
    """The text and the parameters of a docstring, and its example."""
    found = sections(value)
    out = [found[""]]
    if "Parameters" in found:
        out.append(parameters(value, found["Parameters"]))
    if "Examples" in found:
        out.append(f"```python\n{found['Examples']}\n```")
    return "\n\n".join(out)


def kernels() -> str:
    """The kernels, one after another."""
    values = [getattr(river_okl.kernels, name) for name in KERNELS]
    return "\n\n".join(f"### `{signature(each.__name__, each)}`\n\n{described(each)}" for each in values)


def losses() -> str:
    """The loss that River lacks."""
    value = river_okl.losses.EpsilonInsensitive
    return f"### `{signature(value.__name__, value)}`\n\n{described(value)}"


def linked(text: str, folder: str, own: str) -> str:
    """The first mention of each other public name on a page links its page; in a drawing each does."""
    names, met = {name for name in public() if paged(name)}, {own}

    def link(match: re.Match[str]) -> str:
        name = match[2] if match[2] in names else f"{match[2]}Classifier"
        if name not in names or match[2] in met:
            return match[0]
        met.add(match[2])
        return f"[{match[0]}]({folder}{name}.md)"

    def line(text: str) -> str:
        if text.startswith("#"):
            return text
        if "<text" in text:
            return re.sub(r"\b\w+(?:Classifier|Regressor)\b", lambda match: anchored(match[0]), text)
        return re.sub(r"(?<![\[`])`((?:river_okl\.|distributed\.)?(\w+)(?:\([^`]*\))?)`(?![\]`])", link, text)

    def anchored(name: str) -> str:
        return f'<a href="api/{name}.html">{name}</a>' if name in names else name

    pieces = re.split(r"(^ *```.*?^ *```$)", text, flags=re.M | re.S)
    return "".join(
        piece if piece.lstrip().startswith("```") else "\n".join(map(line, piece.split("\n"))) for piece in pieces
    )


def rules() -> dict[tuple[str, ...], str]:
    """The formulas of papers.md and what their symbols mean, by the classes that they are of."""
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"^##+ ", text, flags=re.M)[1:]:
        title, _, body = section.partition("\n")
        stems = re.findall(r"`(\w+)`", title)
        names = tuple(f"{stem}{task}" for stem in stems for task in ("", "Classifier", "Regressor"))
        found[names] = body.strip().replace("](how-okl-works.md", "](../how-okl-works.md")
    return found


# Papers and results ---------------------------------------------------------------------------------------------------


def equations() -> str:
    """Every equation that a comment of the algorithms' files cites."""
    rows = ["| file and line | cites | code |", "| --- | --- | --- |"]
    for path in sorted((ROOT / "river_okl" / "algorithms").glob("*.py")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            code, hash_sign, comment = line.partition("  # ")
            if hash_sign and re.search(r"\beq\.|\bline \d|algorithm|theorem|[←√α-ω]", comment, re.I):
                shown = code.strip().replace("|", "\\|").replace("`", "")
                rows.append(f"| {path.name}:{number} | {comment.strip().replace('|', chr(92) + '|')} | `{shown}` |")
    return "\n".join(rows)


def findings() -> str:
    """What the benchmarks found of the papers' claims, and why numbers differ."""
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    return "## Do" + text.partition("## Do")[2].partition("## Figures")[0]


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
    return f"{LONG}\n\n{deeper(tables(ROOT / 'benchmarks' / 'results' / 'long.md'))}"


def ablation() -> str:
    """What ``python -m benchmarks.ablation`` found."""
    return tables(ROOT / "benchmarks" / "results" / "ablation.md")


def deeper(text: str) -> str:
    """Headings a level deeper."""
    return re.sub(r"^## ", "### ", text, flags=re.M)


def leaderboard() -> str:
    """The table and the pictures of ``python -m benchmarks.untuned``, where they are there."""
    path = ROOT / "benchmarks" / "results" / "untuned.md"
    text = tables(path) if path.exists() else "The table is not measured yet."
    shown = [f"![{what}]({name})" for name, what in PICTURES.items() if (ROOT / "docs" / name).exists()]
    return "\n\n".join([text, *shown])


def headline() -> str:
    """The table of README.md as a phone shows it: model, accuracy and time."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = text.partition("<!-- table -->\n")[2].partition("<!-- /table -->")[0].splitlines()
    cells = [row.strip("|").split("|") for row in rows]
    return "\n".join(f"|{row[0].replace('linear_model.', '')}|{row[1]}|{row[3]}|" for row in cells)
