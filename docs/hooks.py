"""What the site has beside the pages here: one per public name, formulas as MathML.

``mkdocs build`` calls these functions (mkdocs.yml, hooks).  Nothing here is written to the repository.
"""

from __future__ import annotations

import inspect
import pathlib
import re
import tomllib
from typing import Any

import generated
import latex2mathml.converter
from generated import INTERFACE, called, parameters, public, sections, signature, summary
from mkdocs.structure.files import File, Files

import river_okl
from river_okl import distributed
from river_okl.model import CompiledModel

ROOT = pathlib.Path(__file__).parent.parent
PAGES = {
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/README.md": "findings.md",
}
RESULTS = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
BOOSTED = {"api/OKLDetector.md": 4.0, "novelty.md": 2.0}  # in a search for "anomaly"
INK = "#1f2328"  # of pictures of README.md
FORMULAS = "glossary.md", "how-okl-works.md", "papers.md"  # with formulas within sentences
MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
WARNING = re.compile(r"^> \[!WARNING\]\n> \*\*(.*?)\.?\*\*\n((?:> .*\n)+)", re.M)  # as GitHub has them
ELSEWHERE = re.compile(  # in the repository alone
    r"!?\[([^\]]*)\]\((?:\.\./)?(?:examples|benchmarks|papers|CITATION|river_okl|tests)\b(?!\.md)[^)]*\)"
    r"|!?\[([^\]]*)\]\(results/[^)]*\.png\)"
)
SESSION = re.compile(r"^( *)```python\n(?= *>>> )", re.M)
PICTURE = re.compile(r"^!\[(.*?)\]\((\S+\.png)\)$", re.M)
DRAWING = re.compile(r"^!\[.*?\]\((\S+\.svg)\)$", re.M)
SEE_ALSO = re.compile(r"^(\w+)(?: *: *(.*(?:\n +.*)*))?$", re.M)  # of numpydoc: "name", or "name : what it is"
SYMBOLS = """\
B is the budget, n the number of support vectors if no budget bounds it, and d the number of non-zero features of a
sample. [All classes](../classes.md) compares the classes."""
PROTOCOL = """\
Test-then-train on at most 20,000 samples of each stream, with scaled inputs. Parameters are the defaults, except that
budgets are 100. Compare times with [those of other classes](../benchmarks.md) only."""
REFERENCE = re.compile(r"^\[\^(\d+)\]: ", re.M)


def on_config(config: Any) -> Any:
    """The classes join the navigation, by family."""
    index = [{"API by family": "api.md"}, {"Common interface": "interface.md"}]
    pages = [
        {family: [{name: f"api/{name}.md"} for name in names if generated.paged(name)]}
        for family, names in generated.families()
    ]
    config.nav.insert(3, {"API": index + pages})
    results = next(section["Results"] for section in config.nav if "Results" in section)
    results.append({"Tables": [{path.stem: f"results/{path.name}"} for path in RESULTS]})
    config.site_name = f"river_okl {river_okl.__version__}"
    if url := repository((ROOT / "pyproject.toml").read_text(encoding="utf-8")):
        config.repo_url, config.repo_name = url, url.partition("://")[2].partition("/")[2] or url
    return config


def repository(pyproject: str) -> str | None:
    """The address of the repository: the one place that has it is ``[project.urls]`` of pyproject.toml."""
    urls = tomllib.loads(pyproject)["project"].get("urls", {})
    return urls.get("Repository")


def on_files(files: Files, config: Any) -> Files:
    """The pages that no file of docs/ holds: the repository's own, tables of results, and those of the API."""
    for name, target in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=text))
    for path in RESULTS:
        title = path.read_text(encoding="utf-8").partition("\n")[0]
        files.append(File.generated(config, f"results/{path.name}", content=f"{title}\n\n{generated.tables(path)}"))
    for name in public():
        if generated.paged(name):
            files.append(File.generated(config, f"api/{name}.md", content=page(name)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to pages of the site, formulas that every browser shows without a script, and the place in a search: raw
    results come last."""
    source, of_api = page.file.src_uri, page.file.src_uri.startswith("api/")
    page.meta["search"] = {"boost": 0.1 if source.startswith("results/") else BOOSTED.get(source, 1.0)}
    markdown = DRAWING.sub(drawn, WARNING.sub(admonition, relinked(markdown)))
    markdown = PICTURE.sub(r"<figure markdown>\n![\1](\2)\n<figcaption>\1</figcaption>\n</figure>", markdown)
    markdown = SESSION.sub(r"\1```pycon\n", markdown)
    if source not in ("contributing.md", "changelog.md"):
        folder = "" if of_api else "../api/" if source.startswith("results/") else "api/"
        markdown = linked(markdown, folder, own=pathlib.PurePath(source).stem)
    markdown = MATH.sub(formulas, markdown)
    return re.sub(r"\$([^$\n]+)\$", inline, markdown) if source in FORMULAS or of_api else markdown


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Search works from a folder and without a network: the theme would fetch this script."""
    up = "../" * page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/iframe-worker.js")


def formulas(block: re.Match[str]) -> str:
    """A formula, which scrolls as a table does if it is wider than the screen."""
    formula = latex2mathml.converter.convert(block[1].strip(), display="block")
    return f'<div class="md-typeset__scrollwrap formula">{formula}</div>'


def inline(formula: re.Match[str]) -> str:
    """A formula within a sentence: in an element that is no block to Markdown, as ``math`` is."""
    return f"<span>{latex2mathml.converter.convert(formula[1])}</span>"


def admonition(warning: re.Match[str]) -> str:
    """A warning as the theme has it."""
    return f'!!! warning "{warning[1]}"\n' + re.sub(r"^> ", "    ", warning[2], flags=re.M)


def drawn(image: re.Match[str]) -> str:
    """A drawing within the page, in the page's colours, so that its words are links."""
    text = (ROOT / "docs" / image[1]).read_text(encoding="utf-8").replace(INK, "currentColor")
    text = re.sub("<style.*?</style>|<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.S)
    return f'<div class="picture" markdown="0">\n{text}</div>'


def relinked(text: str) -> str:
    """A page with links as they are on the site; what is not on the site is only named."""
    text = text.replace("](../README.md)", "](index.md)").replace("](README.md)", "](index.md)")
    text = re.sub(r"\[`([\w.]+)`\]\(\.\./river_okl/[^)]*\)", api_link, text)
    for name, target in PAGES.items():
        text = re.sub(rf"\]\((?:\.\./)?{re.escape(name)}(#[^)]*)?\)", rf"]({target}\1)", text)
    text = text.replace("](docs/", "](").replace("](../docs/", "](")
    text = re.sub(r"\]\((?:\.\./)?(?:benchmarks/)?results/([\w-]+\.md)", r"](results/\1", text)
    return ELSEWHERE.sub(r"\1\2", text)


def api_link(match: re.Match[str]) -> str:
    """The page of a public name."""
    return f"[`{match[1]}`](api/{match[1].rpartition('.')[2]}.md)"


# The API --------------------------------------------------------------------------------------------------------------


def page(name: str) -> str:
    """A class or function: summary, example, parameters, formulas, cost and result, members, others, notes, papers."""
    value, rule = public()[name], next((text for names, text in rules().items() if name in names), "")
    module, found = ("river_okl.distributed" if name == "train" else "river_okl"), sections(value)
    out = [
        f"# {name}",
        found.pop(""),
        f"```python\nfrom {module} import {name}\n\n{broken(signature(name, value))}\n```",
    ]
    if "Examples" in found:
        out.append(f"## Example\n\n```python\n{found.pop('Examples')}\n```")
    if "Parameters" in found:
        out += ["## Parameters", parameters(value, found.pop("Parameters"))]
    if rule:
        out += ["## Update rule", rule]
    out += cost_and_result(name)
    if inspect.isclass(value) and issubclass(value, CompiledModel):
        out.append(members(value))
    elif inspect.isfunction(value) and name == "train":
        out += ["## Returns", summary(distributed.Result)]
    out += see_also(name, found.pop("See Also", ""))
    papers = found.pop("References", "")
    out += [f"## {head}\n\n{text}" for head, text in found.items()]
    if papers:
        out.append(f"## References\n\n{REFERENCE.sub(lambda match: f'{match[1]}. ', papers)}")
    return "\n\n".join(out)


def cost_and_result(name: str) -> list[str]:
    """Orders of memory and time, and what was measured with the defaults."""
    orders, results = generated.cost(name), generated.results(name)
    if not orders:
        return []
    out = [
        f"## Cost{' and result' if results else ''}",
        "\n".join(f"* **{what.capitalize()}**: {order}" for what, order in orders.items()),
    ]
    if "time per sample" in orders:
        out.append(SYMBOLS)
    if results:
        measure = "mean absolute error" if generated.task(name) == "Regressor" else "accuracy"
        rows = [["stream", measure, "support vectors", "µs per sample"], ["---", "---:", "---:", "---:"], *results]
        out += ["\n".join(f"| {' | '.join(row)} |" for row in rows), PROTOCOL]
        if name.startswith("OKL"):
            out.append("The [leaderboard](../leaderboard.md) has more streams and models, with the default budget.")
    return out


def see_also(name: str, given: str) -> list[str]:
    """Links to the names of a docstring's section, or else to at most four classes of the family."""
    found = {other: " ".join(text.split()) for other, text in SEE_ALSO.findall(given)}
    if not found and inspect.isclass(public()[name]):
        found = dict.fromkeys(generated.family(name)[:4], "")
    lines = [f"* [`{other}`]({other}.md): {text or summary(public()[other])}" for other, text in found.items()]
    return ["## See also", "\n".join(lines)] if lines else []


def broken(call: str) -> str:
    """A call with one parameter a line if it is too long for a phone and a half."""
    name, _, given = call.removesuffix(")").partition("(")
    return call if len(call) <= 60 else f"{name}(\n" + "".join(f"    {each},\n" for each in given.split(", ")) + ")"


def members(cls: Any) -> str:
    """The attributes and methods of a class, one line each."""
    attributes, methods = [], []
    for name in dir(cls):
        if name.startswith("_"):
            continue
        member = inspect.getattr_static(cls, name)
        line = f"* [`{called(name, cls)}`](../interface.md#{anchor(cls, name)}): {summary(getattr(cls, name))}"
        (attributes if isinstance(member, property) else methods).append(line)
    parts = {"## Attributes": attributes, "## Methods": methods}
    return "\n\n".join(f"{head}\n\n" + "\n".join(lines) for head, lines in parts.items() if lines)


def anchor(cls: Any, name: str) -> str:
    """Where the common interface says what a member of this class is."""
    found = [slug for slug, (_, kinds, names) in INTERFACE.items() if name in names.split() and issubclass(cls, kinds)]
    return f"{found[-1]}-{name}"


def linked(text: str, folder: str, own: str) -> str:
    """The first mention of each other public name on a page links its page; in a drawing each does."""
    names, met = {name for name in public() if generated.paged(name)}, {own}

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
