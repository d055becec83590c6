"""python -m benchmarks.speed [--only core batches ...]

Everything takes about six minutes. The tables go to results/speed.md, the curves of growth to results/growth.png.
Vowpal Wabbit takes part if it is installed (pip install vowpalwabbit).
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from benchmarks import runner, timing
from benchmarks.speed import core, growth, libraries, longest, models, steps

# Values of `--only`, headings and functions: a function's docstring is printed under its heading, then its tables;
# panels become a picture named after the section.
SECTIONS = {
    "progressive": ("1a. evaluate.progressive_val_score", models.progressive),
    "core": ("1b. The core alone", core.evaluation),
    "batches": ("1c. Batches", models.batches),
    "growth": ("1d. Growth", growth.growth),
    "memory": ("1e. Memory", core.memory),
    "libraries": ("1f. One by one, with other libraries", libraries.libraries),
    "matrices": ("2. One step with matrices", steps.matrices),
    "longest": ("3. The longest step", longest.longest),
    "threads": ("6. Two threads", core.threads),
    "plain_c": ("Beside plain C", steps.plain_c),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("speed", __doc__)
    runner.choice(parser, "--only", list(SECTIONS))
    options = parser.parse_args(argv)
    report = runner.Report(options.output / "speed.md", "Speed", f"{timing.machine()} At {runner.commit()}.")
    for name in options.only:
        heading, section = SECTIONS[name]
        parts = [inspect.getdoc(section) or ""]
        for part in section():
            if not isinstance(part, str):
                runner.curves(options.output / f"{name}.png", part)
                part = f"![{name}]({name}.png)"
            parts.append(part)
        report.write(heading, "\n\n".join(parts))


if __name__ == "__main__":
    main()
