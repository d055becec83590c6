"""README.md's table from results/race.json, and whether it is that of today's file.

python -m river_okl --json > benchmarks/results/race.json
python -m benchmarks.readme [--check]
"""

from __future__ import annotations

import argparse
import json
import pathlib
import re
import subprocess
import sys

from river import utils

HERE = pathlib.Path(__file__).parent
README = HERE.parent / "README.md"
RACE = HERE / "results" / "race.json"
TABLE = re.compile(r"(?<=<!-- race -->\n).*?(?=<!-- /race -->)", re.S)


def measure() -> None:
    """The race of ``python -m river_okl``, without its curves."""
    done = subprocess.run([sys.executable, "-m", "river_okl", "--json"], check=True, capture_output=True, text=True)
    race = json.loads(done.stdout)
    for model in race["models"]:
        del model["curve"]
    RACE.write_text(json.dumps(race, indent=1) + "\n", encoding="utf-8")


def table() -> str:
    """The race as Markdown, the best first; ours in code, the first of ours in bold."""
    race = json.loads(RACE.read_text(encoding="utf-8"))
    lines = ["| model | accuracy | µs | support vectors | memory |", "| --- | ---: | ---: | ---: | ---: |"]
    for model in sorted(race["models"], key=lambda model: model["error_rate"]):
        size = model["support_vectors"]
        name = f"River's `{model['model']}`" if "." in model["model"] else f"`{model['model']}`"
        cells = [
            name,
            f"{1 - model['error_rate']:.1%}".replace("%", " %"),
            f"{model['microseconds_per_sample']:.1f}",
            "-" if size is None else f"{size:,}",
            utils.pretty.humanize_bytes(model["memory_bytes"]),
        ]
        lines.append(f"| {' | '.join(f'**{cell}**' if model is race['models'][0] else cell for cell in cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write README.md's table from results/race.json.")
    parser.add_argument("--race", action="store_true", help="measure anew first")
    parser.add_argument("--check", action="store_true", help="only say whether it is there already")
    options = parser.parse_args()
    if options.race:
        measure()
    text = README.read_text(encoding="utf-8")
    new = TABLE.sub(lambda match: table(), text)
    if options.check and new != text:
        raise SystemExit("README.md's table is not that of benchmarks/results/race.json: python -m benchmarks.readme")
    if not options.check:
        README.write_text(new, encoding="utf-8")
