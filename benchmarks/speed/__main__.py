"""python -m benchmarks.speed [--only core batches ...]

Everything takes about five minutes. The tables go to results/speed.md, curves beside it.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import base

from benchmarks import runner, timing
from benchmarks.speed import core, growth, models, steps

# What `--only` takes, the heading, what measures it (its docstring stands under the heading), and of what.
SECTIONS: list[tuple[str, str, Callable[..., Iterator[str]], tuple[Any, ...]]] = [
    ("progressive", "1a. evaluate.progressive_val_score, classification", models.progressive, (base.Classifier,)),
    ("progressive", "1a. evaluate.progressive_val_score, regression", models.progressive, (base.Regressor,)),
    ("core", "1b. The core alone", core.evaluation, ()),
    ("batches", "1c. Batches", models.batches, ()),
    ("growth", "1d. Growth", growth.growth, ()),
    ("memory", "1e. Memory", core.memory, ()),
    ("matrices", "2. One step with matrices", steps.matrices, ()),
    ("threads", "6. Two threads", core.threads, ()),
    ("plain_c", "Beside plain C", steps.plain_c, ()),
]


def main(argv: Sequence[str] | None = None) -> None:
    names = list(dict.fromkeys(name for name, *_ in SECTIONS))
    parser = argparse.ArgumentParser("python -m benchmarks.speed", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="PART", help=", ".join(names))
    wanted = parser.parse_args(argv).only
    report = runner.Report(runner.RESULTS / "speed.md", "Speed", timing.machine())
    for name, heading, section, arguments in SECTIONS:
        if name in wanted:
            report.write(heading, "\n\n".join([inspect.getdoc(section) or "", *section(*arguments)]))


if __name__ == "__main__":
    main()
