"""Shared by the papers' scripts: the command line, cached runs, and tables that compare with the paper's."""

from __future__ import annotations

import math
import re
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import runner
from benchmarks.papers import runs
from benchmarks.papers.runs import Run

BOLD = (
    "Bold: the difference is more than two standard deviations. Seconds were measured on a machine with two cores that "
    "was busy with other work; they tell orders of magnitude."
)

FOLDS = [{"test": fold} for fold in range(5)]


class Bench:
    """The command line of a script, its runs and what it writes.

    ``sources`` are the paper's data sets and their files, ``algorithms`` its algorithms, and ``permutations`` their
    default number.
    """

    def __init__(
        self,
        name: str,
        title: str,
        sources: Mapping[str, str],
        algorithms: Iterable[str],
        argv: Sequence[str] | None,
        permutations: int = 10,
        note: str = "",
    ):
        parser = runner.parser(name, title)
        runner.choice(parser, "--datasets", list(sources))
        runner.choice(parser, "--algorithms", list(algorithms))
        parser.add_argument("--permutations", type=int, default=permutations)
        parser.add_argument("--rows", type=int, help="use only so many samples of each set")
        parser.add_argument("--jobs", type=int, default=2)
        self.args = parser.parse_args(argv)
        self.skipped: dict[str, str] = {}
        self.datasets = [data for data in self.args.datasets if self.there(data, sources[data])]
        stem, self.note = name.rpartition(".")[2], note
        self._cache, self._places = runner.Cache(self.args.cache / f"{stem}.jsonl"), set[str]()
        self._report = runner.Report(self.args.output / f"{stem}.md", title)
        self._report.sections.clear()

    def there(self, name: str, source: str) -> bool:
        """Whether the data can be read; otherwise they are recorded as skipped."""
        if reason := runs.why_not(source):
            self.skipped[name] = reason
        return name not in self.skipped

    def asked(self, labels: Iterable[str]) -> list[str]:
        """The labels whose algorithm, the part before a comma, is selected."""
        return [label for label in labels if label.partition(",")[0] in self.args.algorithms]

    def size(self, source: str) -> int:
        """T, the number of samples of a run."""
        return min(len(runs.load(source)), self.args.rows or sys.maxsize)

    def seeds(self, most: int | None = None) -> list[dict[str, Any]]:
        """The permutations, or only the first, as changes of a run."""
        return [{"seed": seed} for seed in range(self.args.permutations)[:most]]

    def run(self, wanted: Iterable[Run]) -> list[runner.Row]:
        if most := self.args.rows:
            wanted = [run._replace(rows=min(run.rows or most, most)) for run in wanted]
        rows = runs.results(self._cache, wanted, self.args.jobs)
        self._places.update(map(runner.place, rows))
        return rows

    def over(self, run: Run, changes: Iterable[dict[str, Any]]) -> list[runner.Row]:
        """The run on each permutation, or with each fold left out."""
        return self.run(run._replace(**change) for change in changes)

    def best(self, candidates: Sequence[Run], over: Sequence[dict[str, Any]]) -> Run:
        """The candidate with the smallest mean error over permutations or folds; the first in ties."""
        if len(candidates) == 1:
            return candidates[0]
        errors = field(self.run(run._replace(**change) for run in candidates for change in over), "error")
        means = [statistics.fmean(errors[i : i + len(over)]) for i in range(0, len(errors), len(over))]
        return candidates[means.index(min(means))]

    def write(self, heading: str, text: str) -> None:
        """Write a section of the results, below the general notes."""
        skipped = ["Skipped:", "\n".join(f"- {name}: {reason}" for name, reason in self.skipped.items())]
        measured = [f"Measured at {'; '.join(sorted(self._places))}."] if self._places else []
        self._report.intro = "\n\n".join([self.note, *measured, *(skipped if self.skipped else [])])
        self._report.write(heading, text)

    def table(self, heading: str, head: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        self.write(heading, runner.table(head, rows) if rows else "Nothing of it was asked for.")

    def compare(self, heading: str, keys: Sequence[str], measure: str, rows: Iterable[Compared]) -> None:
        """A table that compares with the paper's: a mean, its standard deviation and a size."""
        lines = []
        for names, run, tuned, paper, most in rows:
            results = self.over(run, self.seeds(most))
            chosen = shown({name: run.params[name] for name in tuned.split() if name in run.params})
            values = [100.0 - r["error"] if measure.startswith("accuracy") else r["error"] for r in results]
            sizes, seconds = mean_sd(field(results, "n_support_vectors"), 0), mean_sd(field(results, "seconds"))
            beside = comparison(paper and paper[:2], values)
            lines.append([*names, chosen, *beside, paper and paper[2], sizes, seconds, len(results)])
        ours = ["chosen", f"paper: {measure}", "ours", "difference", "paper: size", "ours: SVs", "s", "runs"]
        self.table(heading, [*keys, *ours], lines)

    def figure(self, heading: str, name: str, panels: Sequence[runner.Panel], below: str = "") -> None:
        """A picture and its caption."""
        runner.curves(self.args.output / f"{name}.png", panels)
        self.write(heading, f"![{name}]({name}.png)\n\n{below}".strip())


# Numbers --------------------------------------------------------------------------------------------

Paper = tuple[float, float, str]
# The first cells, the run, the names of tuned parameters, the paper's numbers, the number of permutations.
Compared = tuple[Sequence[Any], Run, str, Paper | None, int | None]


def numbers(text: str) -> dict[str, dict[str, Paper]]:
    """A paper's table as printed, with cells "mean deviation size": by column, then by row."""
    head, *lines = text.strip().splitlines()
    out: dict[str, dict[str, Paper]] = {column: {} for column in head.split()}
    for line in lines:
        row, *cells = re.split(r"\s{2,}", line.strip())
        for column, cell in zip(out, cells, strict=True):
            if cell != "-":
                mean, deviation, size = cell.split()
                out[column][row] = float(mean), float(deviation), size
    return out


def mean_sd(values: Iterable[float], digits: int = 2) -> str:
    """Mean ± standard deviation; only the mean for a single value."""
    values = list(values)
    text = f"{statistics.fmean(values):.{digits}f}"
    return f"{text} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else text


def field(results: Iterable[runner.Row], name: str) -> list[float]:
    return [result[name] for result in results]


def means(results: Iterable[runner.Row], *names: str) -> list[float]:
    return [statistics.fmean(field(results, name)) for name in names]


def comparison(paper: tuple[float, float] | None, values: Sequence[float]) -> list[str]:
    """Three cells: the paper's number, ours, and the difference, bold beyond 2 standard deviations.

    The standard deviation is that of the difference of two single runs, √(paper's² + ours²).
    """
    ours = mean_sd(values)
    if paper is None:
        return ["", ours, ""]
    mean, deviation = paper
    difference = statistics.fmean(values) - mean
    spread = math.hypot(deviation, statistics.stdev(values) if len(values) > 1 else 0.0)
    text = f"{difference:+.2f}"
    shown = f"{mean:.2f} ± {deviation:.2f}" if deviation else f"{mean:.2f}"
    return [shown, ours, f"**{text}**" if abs(difference) > 2.0 * spread else text]


def shown(params: dict[str, Any]) -> str:
    """Parameters for a table."""
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}" for name, value in params.items()
    )
