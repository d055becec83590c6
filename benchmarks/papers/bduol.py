"""Zhao & Hoi (BDUOL): the one table of the poster.

The poster's protocol: Gaussian kernel of width 8, so γ = 1/128; C from 2^-10 ... 2^10 by cross validation (here: the
fewest mistakes on the first permutation, in steps of 4); ρ = 0; the mean over 20 permutations.

The poster does not say which of its six sets the printed table is about. It cannot be german: with mistakes on about
30 % of 1,000 samples, RBP would never fill a budget of 500, and its columns B = 500 and B = 1000 would be equal. It
cannot be mushrooms, MITface or w7a, whose errors are a few percent. That leaves spambase and splice. On spambase
(unscaled) every algorithm makes fewer mistakes than printed, for any width of the kernel, so the table is probably
about splice (3,175 samples, 29 % of which are fewer than 1,000), which is not available here; the printed numbers are
compared with spambase's for the order of the algorithms. german is run with budgets small enough to fill.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from benchmarks.papers.bench import BOLD, Bench, Compared, numbers
from benchmarks.papers.runs import Run, named

PAPER = numbers("""
                     500                  1000
RBP                  31.826 0.924 500     29.220 0.550 1,000
Forgetron            32.461 0.971 500     29.641 0.742 1,000
Projectron           29.237 0.750 500     27.480 0.484 1,000
Projectron++         28.822 0.725 500     28.693 6.781 1,000
BDUOL removal        34.559 1.308 500     28.989 0.927 1,000
BDUOL nearest        28.180 1.084 500     25.607 0.748 1,000
BDUOL approximate    28.950 2.001 500     26.843 0.948 1,000
BDUOL projection     27.448 0.961 500     25.307 0.793 1,000
""")
BUDGETS = {"spambase": (500, 1000), "german": (100, 200), "splice": (500, 1000)}
FEWER = {("BDUOL projection", 500): 5, ("BDUOL approximate", 1000): 5, ("BDUOL projection", 1000): 3}


def candidates(data: str, algorithm: str, budget: int) -> list[Run]:
    run = Run(data, named(algorithm), {"gamma": 1.0 / 128.0, "budget": budget})
    if maintenance := algorithm.partition(" ")[2]:
        return run.grid(maintenance=[maintenance], C=[2.0**k for k in range(-10, 11, 2)])
    return run.grid(tolerance=[0.0 if algorithm == "Projectron" else 0.1]) if "Projectron" in algorithm else [run]


def table(bench: Bench) -> Iterator[Compared]:
    budgets = [(data, budget) for data in bench.datasets for budget in BUDGETS[data]]
    for (data, budget), algorithm in itertools.product(budgets, bench.asked(PAPER["500"])):
        # Slow runs use the C of the cheap projection.
        long = algorithm in ("BDUOL approximate", "BDUOL projection") and budget > 200
        best = bench.best(candidates(data, "BDUOL nearest" if long else algorithm, budget), bench.seeds(1))
        if long:
            best = best.given(maintenance=algorithm.partition(" ")[2])
        paper = PAPER.get(str(budget), {}).get(algorithm)
        yield [data, budget, algorithm], best, "C", paper, FEWER.get((algorithm, budget))


def main(argv: Sequence[str] | None = None) -> None:
    sources, title = {data: data for data in BUDGETS}, "Zhao & Hoi: BDUOL"
    bench = Bench("papers.bduol", title, sources, PAPER["500"], argv, permutations=20, note=BOLD)
    bench.compare("The table", ["data", "B", "algorithm"], "mistakes (%)", table(bench))


if __name__ == "__main__":
    main()
