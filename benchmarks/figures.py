"""The pictures of README.md, into docs/.

python -m benchmarks.figures
"""

from __future__ import annotations

import pathlib

from river import datasets, preprocessing

from river_okl import AhpatronClassifier
from river_okl.cli import plot
from river_okl.cli.command import main

DOCS = pathlib.Path(__file__).parent.parent / "docs"


def surface() -> None:
    """What 50 support vectors know of the Bananas after 5,300 samples."""
    model = preprocessing.StandardScaler() | AhpatronClassifier(budget=50)
    samples = list(datasets.Bananas())
    for x, y in samples:
        model.learn_one(x, y)
    axes = plot.decision_surface(model, samples[:2000])
    axes.figure.savefig(DOCS / "surface.png", dpi=110)


if __name__ == "__main__":
    DOCS.mkdir(exist_ok=True)
    surface()
    main(["--plot", str(DOCS / "curves.png")])
