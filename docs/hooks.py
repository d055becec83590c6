"""What the site has beside the pages here: one per class, formulas as MathML, results, and pages of the repository.

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

ROOT = pathlib.Path(__file__).parent.parent
CLASSES = [name for name in sorted(river_okl.api.__all__) if inspect.isclass(getattr(river_okl, name))]
PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
PICTURES = {
    "untuned.png": "Accuracy against microseconds per sample, a dot for each model",
    "beliefs.png": "Weights of the experts of OKLClassifier along Elec2",
    "features.png": "Feature weights on Agrawal, before and after a drift",
    "band.png": "The mean and the 90 % interval of OKLRegressor on a stream that changes",
}
LONG = "![Accuracy along each of the streams, a line for each model](long.png)"
MATH = re.compile(r"^```math\n(.*?)^```$", re.M | re.S)
GENERATED = re.compile(r"^<!-- (\w+) -->$", re.M)


def on_config(config: Any) -> Any:
    """The classes join the navigation."""
    config.nav.append({"Classes": [{name: f"api/{name}.md"} for name in CLASSES]})
    return config


def on_files(files: Files, config: Any) -> Files:
    """The pages that no file of docs/ holds: the repository's own, and one for each class."""
    for name, target in PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=relinked(text)))
    for name in CLASSES:
        rule = next((text for names, text in rules().items() if name in names), "")
        text = f"# {name}\n\n{rule}\n\n::: river_okl.{name}\n    options:\n      show_root_heading: false\n"
        files.append(File.generated(config, f"api/{name}.md", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Tables from results and code, and formulas that every browser shows without a script."""
    makers = {
        "equations": equations,
        "findings": findings,
        "benchmarks": benchmarks,
        "leaderboard": leaderboard,
        "long": long,
        "ablation": ablation,
        "scale": scale,
    }
    markdown = MATH.sub(formulas, markdown)
    if page.file.src_uri == "papers.md":
        markdown = re.sub(r"\$([^$\n]+)\$", lambda match: latex2mathml.converter.convert(match[1]), markdown)
    return GENERATED.sub(lambda match: makers.get(match[1], lambda: match[0])(), markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Search works from a folder and without a network: the theme would fetch this script."""
    up = "../" * page.url.count("/")
    return output.replace("https://unpkg.com/iframe-worker/shim", f"{up}assets/iframe-worker.js")


def formulas(block: re.Match[str]) -> str:
    """A formula for each line of a block."""
    return "\n".join(latex2mathml.converter.convert(line, display="block") for line in block[1].splitlines() if line)


def relinked(text: str) -> str:
    """A page of the repository, with links as they are on the site; what is not on the site is only named."""
    links = {f"]({name})": f"]({target})" for name, target in PAGES.items()}
    links |= {"](docs/": "](", "](benchmarks/README.md)": "](papers.md#do-the-papers-findings-hold)"}
    for link, target in links.items():
        text = text.replace(link, target)
    return re.sub(r"\[([^\]]*)\]\((?:examples|CITATION\.cff)\)", r"\1", text)


def rules() -> dict[tuple[str, ...], str]:
    """The formulas of papers.md by the classes that they are of."""
    text = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"^### ", text, flags=re.M)[1:]:
        title, _, body = section.partition("\n")
        names = tuple(f"{name}{task}" for name in re.findall(r"`(\w+)`", title) for task in ("Classifier", "Regressor"))
        found[names] = "".join(match[0] + "\n\n" for match in MATH.finditer(body))
    return found


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
