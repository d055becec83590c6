"""Wang & Vucetic 2009: TVM; the orderings of its abstract, as its tables are not available.

A Gaussian kernel, B = 100. Up to 10,000 samples are learned once, in the order of a seed, and up to 5,000 others are
predicted afterwards. γ and C are those of scikit-learn's SVC, by 5-fold cross validation on 2,000 samples; TVM takes
both, since the objective is the same. On the same folds BSGD with merging gets its l2, from .1, 1 and 10 times the
1/(C n) of that objective, and BPA its C, from .05, .25 and 1. cod-rna and Bananas are standardised.

"SVC, B" is trained on the first 100 samples only, "SVC" on all. Times are side by side: the median over rounds of the
processor time per sample of predicting and then learning 300 samples, after 2,000.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

from river import datasets

from benchmarks import timing
from benchmarks.papers import runs
from benchmarks.papers.bench import FOLDS, Bench, field, mean_sd, shown
from benchmarks.papers.runs import Run, named
from benchmarks.streams import Sample, scaled

BUDGET, LEARNED, PREDICTED, CHOSEN_ON = 100, 10_000, 5_000, 2_000
SETS = ("a9a", "phishing", "w8a", "cod-rna", "bananas")
SOURCES = {name: name for name in SETS}
STANDARDISED = ("cod-rna", "bananas")
GAMMAS = [2.0**k for k in (-9, -7, -5, -3, -1, 1)]
COSTS = (0.1, 1.0, 10.0)
RIVALS = ("SVC", "SVC, B", "Forgetron", "BPA", "BSGD")
VARIANTS = {
    f"TVM, {merging}, {buffer:g}": {"merging": merging, "buffer": buffer}
    for merging, buffer in (("global", 1.0), ("global", 1.5), ("global", 2.0), ("nearest", 1.0), ("nearest", 1.5))
}


@functools.cache
def _shuffled(name: str) -> list[Sample]:
    samples = list(runs.SOURCES[name]())
    random.Random(0).shuffle(samples)
    samples = samples[: LEARNED + PREDICTED]
    return scaled(samples, "z") if name in STANDARDISED else samples


def _part(name: str, learned: bool) -> list[Sample]:
    samples = _shuffled(name)
    n = min(LEARNED, len(samples) * 3 // 4)
    return samples[:n] if learned else samples[n:]


runs.SOURCES["bananas"] = datasets.Bananas
for _name in SETS:
    runs.SOURCES[f"{_name}.learned"] = functools.partial(_part, _name, True)
    runs.SOURCES[f"{_name}.predicted"] = functools.partial(_part, _name, False)


def chosen(bench: Bench, name: str) -> dict[str, Run]:
    """The run of every algorithm, with its parameters."""
    data, n = f"{name}.learned", bench.size(f"{name}.learned")
    few = Run(data, named("LIBSVM"), {}, rows=CHOSEN_ON)
    kernel = bench.best(few.grid(gamma=GAMMAS, C=COSTS), FOLDS).params
    gamma, C = kernel["gamma"], kernel["C"]

    def own(label: str, **grid: Any) -> Run:
        options = {"maintenance": "merging"} if label == "BSGD" else {}
        run = Run(data, named(label), {"gamma": gamma, "budget": BUDGET, **options}, rows=CHOSEN_ON)
        return bench.best(run.grid(**grid), FOLDS)

    found = {"SVC": few, "SVC, B": few}
    found = {label: run._replace(params=kernel) for label, run in found.items()}
    found["Forgetron"] = own("Forgetron")
    found["BPA"] = own("BPA", C=(0.05, 0.25, 1.0))
    found["BSGD"] = own("BSGD", l2=[k / (C * n) for k in (0.1, 1.0, 10.0)])
    tvm = Run(data, named("TVM"), {"gamma": gamma, "budget": BUDGET, "C": C})
    found |= {label: tvm.given(**options) for label, options in VARIANTS.items()}
    test = f"{name}.predicted"
    return {label: run._replace(rows=BUDGET if label == "SVC, B" else None, test=test) for label, run in found.items()}


def microseconds(run: Run, rounds: int = 5) -> Callable[[], float]:
    """A measure of the processor time per sample."""
    samples = runs.permutation(run.data, 0)
    model = runs.build(run)
    for x, y in samples[:2_000]:
        model.learn_one(x, y)

    def measure() -> float:
        _, spent = timing.answers(copy.deepcopy(model), samples[2_000:2_300])
        return spent / 300 * 1e6

    return measure


def main(argv: Sequence[str] | None = None) -> None:
    labels = [*RIVALS, *VARIANTS]
    note = f"Errors in percent of samples that were not learned, mean ± standard deviation; B = {BUDGET}."
    bench = Bench("papers.tvm", "Wang & Vucetic 2009: TVM", SOURCES, labels, argv, permutations=3, note=note)
    errors, times, parameters = [], [], []
    for name in bench.datasets:
        best = chosen(bench, name)
        means = {  # all samples are one set to SVC
            label: mean_sd(field(bench.over(run, bench.seeds(1 if label == "SVC" else None)), "error"))
            for label, run in best.items()
        }
        errors.append([name, *(means[label] for label in labels)])
        parameters.append([name, *(shown(best[label].params) for label in RIVALS if label != "SVC, B")])
        models = {label: best[label] for label in ("Forgetron", "BPA", "BSGD", *VARIANTS)}
        found = timing.in_turns({label: microseconds(run) for label, run in models.items()}, 5)
        times.append([name, *(f"{found[label]:.1f}" for label in models)])
    bench.table("Errors", ["data", *labels], errors)
    bench.table("Microseconds per sample", ["data", "Forgetron", "BPA", "BSGD", *VARIANTS], times)
    bench.table("Parameters", ["data", *(label for label in RIVALS if label != "SVC, B")], parameters)


if __name__ == "__main__":
    main()
