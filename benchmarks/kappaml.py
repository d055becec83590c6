"""Streams that somebody else chose: ``python -m benchmarks.kappaml``.

KappaML, a commercial service for online learning, publishes its accuracies on River's generators, with their default
parameters and seed 42, and on River's own files (github.com/KappaML/benchmarks, results/results.md of 25 May 2025,
commit 6a8c307).  `PUBLISHED` has them, and those of the KNNClassifier that it compares itself with.  `OKL` and River's
models run on the same streams, with the pipelines of `benchmarks.untuned`: test-then-train, 20,000 samples or all that
there are.  Streams that River downloads (credit cards, Higgs, HTTP) are left out.  River's generators may have changed
since.

`OKL` is measured again if its code has changed, River's models only if ``--models`` names them.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence

from river import datasets as river_datasets
from river.datasets import synth

from benchmarks import runner, untuned
from benchmarks.streams import ROWS, Sample, Stream

SEED = 42
STREAMS = {
    "Bananas": Stream(river_datasets.Bananas),
    "Phishing": Stream(river_datasets.Phishing),
    "Agrawal": Stream(lambda: synth.Agrawal(seed=SEED)),
    "AnomalySine": Stream(lambda: synth.AnomalySine(seed=SEED)),
    "ConceptDriftStream": Stream(lambda: synth.ConceptDriftStream(seed=SEED)),
    "Hyperplane": Stream(lambda: synth.Hyperplane(seed=SEED)),
    "Mixed": Stream(lambda: synth.Mixed(seed=SEED)),
    "SEA": Stream(lambda: synth.SEA(seed=SEED)),
    "Sine": Stream(lambda: synth.Sine(seed=SEED)),
    "LEDDrift": Stream(lambda: synth.LEDDrift(seed=SEED), classes=10),
    "Waveform": Stream(lambda: synth.Waveform(seed=SEED), classes=3),
}
PUBLISHED = {  # KappaML and KNNClassifier, %
    "Bananas": (88.02, 88.54),
    "Phishing": (84.88, 87.51),
    "Agrawal": (98.72, 78.97),
    "AnomalySine": (98.08, 97.99),
    "ConceptDriftStream": (96.35, 79.51),
    "Hyperplane": (93.78, 81.80),
    "Mixed": (98.21, 91.32),
    "SEA": (99.15, 97.05),
    "Sine": (97.79, 98.73),
    "LEDDrift": (99.11, 82.30),
    "Waveform": (81.15, 79.98),
}
MODELS = ["OKL", "LogisticRegression", "NaiveBayes", "HoeffdingTree", "ARF(10)"]


@functools.lru_cache(maxsize=2)
def load(name: str) -> list[Sample]:
    return list(itertools.islice(STREAMS[name].samples(), ROWS))


def key(name: str, model: str) -> str:
    candidate = untuned.build(STREAMS[name], untuned.CLASSIFIERS[model])
    return runner.digest(repr(load(name)).encode(), runner.content(candidate), untuned.MEASURE)


def run(name: str, model: str, limit: float) -> runner.Row:
    candidate = untuned.build(STREAMS[name], untuned.CLASSIFIERS[model])
    return untuned.measured(candidate, load(name), STREAMS[name].classes, limit)


def main(argv: Sequence[str] | None = None) -> None:
    parser = runner.parser("kappaml", __doc__.splitlines()[0])
    runner.choice(parser, "--streams", list(STREAMS))
    runner.choice(parser, "--models", MODELS, ["OKL"])
    parser.add_argument("--limit", type=float, default=360.0, help="seconds of a pair of stream and model at most")
    options = parser.parse_args(argv)
    store = runner.Store(options.output / "kappaml.jsonl")
    pairs = [(name, model) for model, name in itertools.product(options.models, options.streams)]
    store.fill(pairs, options.limit, key, lambda name, _: load(name), run)
    found = store.complete(itertools.product(options.streams, MODELS), options.models, key)
    of_theirs = {
        (name, model): {"rows": 1, "of": 1, "accuracy": accuracy}
        for name in options.streams
        for model, accuracy in zip(("KappaML", "its KNN"), PUBLISHED[name], strict=True)
    }
    columns = ["OKL", "KappaML", "its KNN", *MODELS[1:]]
    report = runner.Report.of(__doc__, options.output / "kappaml.md")
    text = untuned.section(found | of_theirs, options.streams, columns, "accuracy", "{:.1f}".format)
    report.write("1. Accuracy, %", text)
    report.write("2. Log-loss", untuned.section(found, options.streams, MODELS, "loss", "{:.3f}".format))


if __name__ == "__main__":
    main()
