"""Rare labels, as in fraud or faults: ``python -m benchmarks.rare``.

The binary streams of `benchmarks.untuned`, thinned until the rare label has 1 to 3 % of the samples; at most the first
10,000 samples. Default parameters, pipelines as there. Test-then-train: the area under the ROC curve of the
probabilities, and their log-loss, clipped at 1e-4.
"""

from __future__ import annotations

import itertools
import math
import random
import statistics
from collections.abc import Iterator, Sequence

from sklearn.metrics import roc_auc_score

from benchmarks import runner, untuned
from benchmarks.streams import STREAMS, Sample, load

SHARE = {  # fraction of the rarer label that is kept
    "a9a": 0.05,
    "w8a": 1.0,
    "cod-rna": 0.02,
    "phishing": 0.02,
    "spambase": 0.03,
    "elec2": 0.02,
    "Bananas": 0.03,
    "SEA": 0.01,
    "Agrawal": 0.02,
    "RandomRBF": 0.01,
}
MODELS = ("OKL", "LogisticRegression", "NaiveBayes", "HoeffdingTree", "ARF(10)", "AMF", "Bagging(LR)", "Ahpatron")
ROWS = 10_000


def thinned(name: str, raw: bool) -> Iterator[Sample]:
    rng = random.Random(1)
    for x, y in load(name, raw):
        rare = y in (True, 1)
        if not rare or rng.random() < SHARE[name]:
            yield x, rare


def measured(name: str, model: str) -> tuple[float, float, int, int]:
    """AUC in %, log-loss, number of rare samples, number of samples."""
    how = untuned.CLASSIFIERS[model]
    candidate = untuned.build(STREAMS[name], how)
    truth, found, loss = [], [], 0.0
    for x, y in itertools.islice(thinned(name, untuned.without_zeros(STREAMS[name], how)), ROWS):
        p = candidate.predict_proba_one(x).get(True, 0.0)
        p = p if p == p else 0.0
        candidate.learn_one(x, y)
        truth.append(y)
        found.append(p)
        loss -= math.log(max(p if y else 1.0 - p, 1e-4))
    return 100.0 * roc_auc_score(truth, found), loss / len(truth), sum(truth), len(truth)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("rare", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(SHARE))
    runner.choice(parser, "--models", MODELS)
    options = parser.parse_args(argv)
    areas, losses = [], []
    for name in options.streams:
        found = [measured(name, model) for model in options.models]
        head = f"{name}, {found[0][2]:,} of {found[0][3]:,}"
        for rows, place, shown, best in ((areas, 0, "{:.1f}", max), (losses, 1, "{:.4f}", min)):
            values = [each[place] for each in found]
            cells = (f"**{shown.format(v)}**" if v == best(values) else shown.format(v) for v in values)
            rows.append((values, [head, *cells]))
        print(head, found, flush=True)
    report = runner.Report.of(__doc__, options.output / "rare.md")
    for heading, rows, shown in (
        ("1. Area under the ROC curve, %", areas, "{:.1f}"),
        ("2. Log-loss", losses, "{:.4f}"),
    ):
        means = [shown.format(statistics.fmean(column)) for column in zip(*(values for values, _ in rows), strict=True)]
        table = runner.table(["stream", *options.models], [*(cells for _, cells in rows), ["mean", *means]])
        report.write(heading, f"{table}\n\n{runner.machine()} At {runner.commit()}.")


if __name__ == "__main__":
    main()
