"""Zhao & Hoi (BDUOL): the one table of the poster.

The poster's protocol: Gaussian kernel of width 8, so γ = 1/128; C from 2^-10 ... 2^10 by cross validation (here: the
fewest mistakes on the first permutation, in steps of 4); ρ = 0; the mean over 20 permutations.

Which of its six sets the printed table is of the poster does not say. It cannot be german: with about 30 % of 1,000
samples mistaken, RBP would never fill a budget of 500, and its columns B = 500 and B = 1000 would be equal. It cannot
be mushrooms, MITface or w7a, whose errors are a few percent. That leaves spambase and splice. On spambase (unscaled)
every algorithm makes fewer mistakes than printed, whatever the scale of the kernel, so the table is probably of splice
(3,175 samples, of which 29 % are fewer than 1,000), which is not here; the printed numbers stand beside spambase's for
the order of the algorithms. german is run with budgets that bind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.papers import protocol
from benchmarks.papers.protocol import Bench, Run, comparison, field, mean_sd, shown

GAMMA = 1.0 / 128.0
COSTS = [2.0**k for k in range(-10, 11, 2)]

# Mistakes (%) and seconds for B = 500 and B = 1000.
PAPER: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    "RBP": ((31.826, 0.924, 0.065), (29.220, 0.550, 0.069)),
    "Forgetron": ((32.461, 0.971, 0.077), (29.641, 0.742, 0.084)),
    "Projectron": ((29.237, 0.750, 0.238), (27.480, 0.484, 0.929)),
    "Projectron++": ((28.822, 0.725, 0.819), (28.693, 6.781, 3.874)),
    "BDUOL removal": ((34.559, 1.308, 0.522), (28.989, 0.927, 2.013)),
    "BDUOL nearest": ((28.180, 1.084, 0.756), (25.607, 0.748, 3.874)),
    "BDUOL approximate": ((28.950, 2.001, 5.555), (26.843, 0.948, 16.396)),
    "BDUOL projection": ((27.448, 0.961, 8.837), (25.307, 0.793, 53.987)),
}
BUDGETS = {"spambase": (500, 1000), "german": (100, 200), "mushrooms": (), "splice": (500, 1000), "w7a": ()}
SOURCES = {"w7a": "w7a.train"}


def candidates(algorithm: str, budget: int) -> tuple[str, list[dict[str, Any]]]:
    params: dict[str, Any] = {"gamma": GAMMA, "budget": budget}
    if algorithm.startswith("BDUOL"):
        params["maintenance"] = algorithm.partition(" ")[2]
        return "BDUOLClassifier", [{**params, "C": C} for C in COSTS]
    if algorithm.startswith("Projectron"):
        params["tolerance"] = 0.0 if algorithm == "Projectron" else 0.1
        return algorithm.replace("++", "PlusPlus") + "Classifier", [params]
    return f"{algorithm}Classifier", [params]


def main(argv: Sequence[str] | None = None) -> None:
    bench = Bench("bduol", "Zhao & Hoi: BDUOL", list(BUDGETS), list(PAPER), argv, permutations=20)
    bench.say(
        f"{len(bench.seeds)} permutations unless the last column says otherwise. {protocol.SHARED_MACHINE}",
        "",
        "Bold: the difference is more than two standard deviations.",
    )
    rows = []
    for data in bench.args.datasets:
        source = SOURCES.get(data, data)
        if reason := protocol.why_not(source):
            bench.skipped[data] = reason
            continue
        for column, budget in enumerate(BUDGETS[data]):
            for algorithm, paper in PAPER.items():
                cls, grid = candidates(algorithm, budget)
                if not bench.wants(algorithm, cls):
                    continue
                # Where a run takes long its C is that of the cheap projection.
                long = algorithm in ("BDUOL approximate", "BDUOL projection") and budget > 200
                if long:
                    grid = candidates("BDUOL nearest", budget)[1]
                best = bench.best([Run(source, cls, p) for p in grid], bench.seeds[:1])
                if long:
                    best = best._replace(params={**best.params, "maintenance": algorithm.partition(" ")[2]})
                fewer = {("BDUOL projection", 500): 5, ("BDUOL approximate", 1000): 5, ("BDUOL projection", 1000): 3}
                results = bench.over_permutations(best, bench.seeds[: fewer.get((algorithm, budget))])
                rows.append(
                    [
                        data,
                        budget,
                        algorithm,
                        shown({k: v for k, v in best.params.items() if k == "C"}),
                        *comparison(
                            paper[column][:2] if data in ("spambase", "splice") else None, field(results, "error")
                        ),
                        mean_sd(field(results, "n_support_vectors"), 0),
                        paper[column][2] if data in ("spambase", "splice") else "",
                        mean_sd(field(results, "seconds")),
                        len(results),
                    ]
                )
    bench.table(
        ["data", "B", "algorithm", "tuned", "poster: mistakes (%)", "ours (%)", "difference", "SVs", "poster: s",
         "ours: s", "runs"],
        rows,
    )  # fmt: skip
    bench.write()


if __name__ == "__main__":
    main()
