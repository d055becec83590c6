"""How fast is it, beside river's models, NumPy, BLAS and the limits of the machine?

    python -m benchmarks.speed                          everything (about five minutes)
    python -m benchmarks.speed --only core batches      some of it

Prints its tables and writes them into results/speed.md, and curves beside it.
"""

# ruff: noqa: E501  (the prose of the tables)
from __future__ import annotations

from benchmarks import timing  # first: it gives BLAS one thread  # isort: skip

import argparse
import copy
import functools
import inspect
import itertools
import math
import pickle
import resource
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse
from river import (
    base,
    datasets,
    dummy,
    evaluate,
    forest,
    linear_model,
    metrics,
    multiclass,
    neighbors,
    preprocessing,
    tree,
)
from river.datasets import synth
from scipy.linalg import blas, lapack

import river_okl
from benchmarks import runner
from river_okl import kernels
from river_okl._core.expansion import Expansion
from river_okl._core.sample import Frame

NOISE = 0.1  # labels that are wrong, so that every budget fills and updates go on


# Data ---------------------------------------------------------------------------------------------


@functools.cache
def names(d: int) -> tuple[str, ...]:
    """The same objects for every sample, as whatever reads a stream gives them."""
    return tuple(f"x{j}" for j in range(d))


def dense(n: int, d: int, seed: int = 0) -> list[dict[str, float]]:
    rows = np.random.default_rng(seed).normal(size=(n, d)).tolist()
    return [dict(zip(names(d), row, strict=True)) for row in rows]


def sparse(n: int, active: int, d: int, seed: int = 0) -> list[dict[str, float]]:
    """Binary samples whose features are as unequal as words are: feature j with probability about 1/(j + 10)."""
    rng, out = np.random.default_rng(seed), []
    weights = 1.0 / (np.arange(d) + 10.0)
    totals = np.cumsum(weights / weights.sum())
    for _ in range(n):
        chosen: set[int] = set()
        while len(chosen) < active:
            chosen.update(np.searchsorted(totals, rng.random(active - len(chosen))).tolist())
        out.append({names(d)[j]: 1.0 for j in sorted(chosen)})
    return out


def labelled(
    n: int, d: int, *, regression: bool = False, seed: int = 0, noise: float = NOISE
) -> list[tuple[dict[str, float], Any]]:
    """A smooth function of d Gaussian features: its sign with some labels wrong, or its value with some noise."""
    samples, rng, truth = dense(n, d, seed), np.random.default_rng(seed + 1), np.random.default_rng(42)
    centers, signs = truth.normal(size=(8, d)), truth.choice([-1.0, 1.0], 8)
    X = np.array([list(x.values()) for x in samples])
    values = sum(s * np.exp(-((X - c) ** 2).sum(axis=1) / (2.0 * d)) for s, c in zip(signs, centers, strict=True))
    values = (values - values.mean()) / values.std()
    if regression:
        targets = (values + noise * rng.normal(size=n)).tolist()
    else:
        targets = ((values >= 0.0) ^ (rng.random(n) < noise)).tolist()
    return list(zip(samples, targets, strict=True))


def sheet(rows: list[dict[str, object]]) -> str:
    """A table of rows that say what their columns are."""
    return runner.table(list(rows[0]), [list(row.values()) for row in rows])


def expansion(points: list[dict[str, float]], **options: Any) -> Expansion:
    """A function with these support vectors."""
    active = len(points[0])
    f = Expansion(kernels.RBF(gamma=0.5 / active)._terms(), **options)
    for i, x in enumerate(points):
        f.evaluate(x)
        f.add(0.1 if i % 2 else -0.1)
    return f


# 1a. progressive_val_score ------------------------------------------------------------------------


class SGDOnFeatures(base.Classifier):
    """scikit-learn's SGDClassifier on random Fourier features, row by row."""

    def __init__(self, n_components: int):
        from sklearn.kernel_approximation import RBFSampler
        from sklearn.linear_model import SGDClassifier

        self.sampler, self.model = RBFSampler(n_components=n_components, random_state=1), SGDClassifier()
        self.ready = False

    def _row(self, x: dict[str, float]) -> np.ndarray:
        row = np.fromiter(x.values(), float, len(x))[None]
        if not self.ready:
            self.sampler.fit(row)
            self.model.partial_fit(self.sampler.transform(row), [False], classes=[False, True])
            self.ready = True
        return self.sampler.transform(row)

    def predict_one(self, x: dict[str, float]) -> bool:
        return bool(self.model.predict(self._row(x))[0])

    def learn_one(self, x: dict[str, float], y: bool) -> None:
        self.model.partial_fit(self._row(x), [y])


def ours(kind: type) -> Iterator[tuple[str, type]]:
    for name in river_okl.__all__:
        cls = getattr(river_okl, name)
        if inspect.isclass(cls) and issubclass(cls, kind):
            yield name, cls


def of_budget(cls: type, budget: int, **more: Any) -> Any:
    known = inspect.signature(cls).parameters
    options = {"budget": budget, "n_components": budget, "seed": 1, **more}
    return cls(**{name: value for name, value in options.items() if name in known})


def size(model: Any) -> int | None:
    return getattr(model, "n_support_vectors", None)


def filled(model: Any, stream: list[tuple[dict[str, float], Any]], budget: int, limit: float = 1.5) -> Any:
    """The model as soon as it has this many support vectors, or when the limit of seconds is over."""
    start = time.thread_time()
    for i, (x, y) in enumerate(stream):
        model.predict_one(x)
        model.learn_one(x, y)
        if (size(model) or 0) >= budget or (i % 10 == 0 and time.thread_time() - start > limit):
            break
    return model


class ProgressiveRun:
    """progressive_val_score over the next part of a stream in each round.

    A model without a bound starts each round from the same state, and on few samples where it is slow.
    """

    def __init__(self, model: Any, stream: list[tuple[dict[str, float], Any]], metric: type, part: int):
        self.model, self.metric, self.stream, self.part, self.start = model, metric, stream, part, 0
        self.grows = size(model) is not None and getattr(model, "budget", None) is None
        probe = stream[:20]
        pace = min(timing.seconds(functools.partial(self.run, copy.deepcopy(model), probe)) for _ in range(2)) / 20
        if self.grows or pace > 50e-6:
            self.part = max(20, min(part, int(0.006 / pace)))

    def run(self, model: Any, stream: list[tuple[dict[str, float], Any]]) -> None:
        evaluate.progressive_val_score(stream, model, self.metric())

    def microseconds(self) -> float:
        model = copy.deepcopy(self.model) if self.grows else self.model
        samples = self.stream[self.start : self.start + self.part]
        self.start += self.part
        return timing.seconds(lambda: self.run(model, samples)) / len(samples) * 1e6


def progressive_times(kind: type, budget: int, d: int, rounds: int) -> tuple[timing.Times, dict[str, int | None]]:
    regression = kind is base.Regressor
    warm = labelled(40 * budget + 4000, d, regression=regression)
    stream = labelled(1000 * rounds, d, regression=regression, seed=5)
    models: dict[str, Any] = {name: of_budget(cls, budget) for name, cls in ours(kind)}
    if regression:
        models |= {
            "river LinearRegression": linear_model.LinearRegression(),
            "river HoeffdingTreeRegressor": tree.HoeffdingTreeRegressor(),
            "river KNNRegressor": neighbors.KNNRegressor(),
        }
    else:
        models |= {
            "river LogisticRegression": linear_model.LogisticRegression(),
            "river PAClassifier": linear_model.PAClassifier(),
            "river HoeffdingTreeClassifier": tree.HoeffdingTreeClassifier(),
            "river ARFClassifier(10)": forest.ARFClassifier(n_models=10, seed=1),
            "river KNNClassifier": neighbors.KNNClassifier(),
            "river PriorClassifier": dummy.PriorClassifier(),
            "scikit-learn SGD on RBF features": SGDOnFeatures(budget),
        }
    metric = metrics.MAE if regression else metrics.Accuracy
    runs = {name: ProgressiveRun(filled(model, warm, budget), stream, metric, 1000) for name, model in models.items()}
    out: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            out[name].append(run.microseconds())
    return timing.Times(out), {name: size(run.model) for name, run in runs.items()}


def progressive(report: runner.Report, rounds: int = 5) -> None:
    settings = [(100, 10), (100, 20), (1000, 10), (1000, 20)]
    for kind, other, title in (
        (base.Classifier, "LogisticRegression", "classification"),
        (base.Regressor, "LinearRegression", "regression"),
    ):
        measured = [progressive_times(kind, budget, d, rounds) for budget, d in settings]
        head = ["µs per sample"]
        head += [cell for B, d in settings for cell in (f"B={B}, d={d}", "SVs", f"/ {other}")]
        rows = [
            [name, *(x for t, sizes in measured for x in (t[name], sizes[name], t.ratio(name, f"river {other}")))]
            for name in measured[0][0].rounds
        ]
        report.write(
            f"1a. evaluate.progressive_val_score, {title}",
            f"Gaussian features, {NOISE:.0%} of the labels wrong; every model first learns until it has B support vectors (or 1.5 s have gone). "
            f"Each round is on samples that are new, and classes without a budget start each of them from the same model.\n\n"
            + runner.table(head, rows),
        )


# 1b. The core alone -------------------------------------------------------------------------------


class InNumPy:
    """The same function as NumPy writes it: the points as rows of a matrix."""

    def __init__(self, f: Expansion, points: list[dict[str, float]], d: int, matrix: Any = None):
        self.Z = np.zeros((len(points), d)) if matrix is None else matrix
        if matrix is None:
            for row, x in zip(self.Z, points, strict=True):
                for name, value in x.items():
                    row[int(name[1:])] = value
        self.squares = np.array([sum(v * v for v in x.values()) for x in points])
        self.alpha, self.gamma = f.coefficients, f.kernel.gammas[0]

    def one(self, x: np.ndarray) -> float:
        k = self.Z @ x
        k *= 2.0
        k -= self.squares
        k -= x @ x
        k *= self.gamma
        np.exp(k, out=k)
        return float(self.alpha @ k)

    def many(self, X: np.ndarray) -> np.ndarray:
        K = X @ self.Z.T
        K *= 2.0
        K -= self.squares
        K -= np.einsum("ij,ij->i", X, X)[:, None]
        K *= self.gamma
        np.exp(K, out=K)
        return K @ self.alpha


def vector(x: dict[str, float], d: int) -> np.ndarray:
    out = np.zeros(d)
    for name, value in x.items():
        out[int(name[1:])] = value
    return out


def compared(times: timing.Times, one: str, other: str) -> dict[str, object]:
    """Cells: two times, and the ratio within the rounds."""
    return {
        f"{one} µs": times[one],
        f"{other} µs": times[other],
        f"{one} / {other}": times.ratio(one, other),
    }


def each(call: Callable[[Any], object], arguments: list[Any]) -> Callable[[], None]:
    """A call for one argument after another, so that none sees the one of the call before."""

    def action() -> None:
        for argument in arguments:
            call(argument)

    return action


def core(report: runner.Report) -> None:
    peak, rows = timing.fma_limit(), []
    for n, d in itertools.product((100, 400, 1000, 5000), (8, 20, 123)):
        points, queries = dense(n, d), dense(4, d, seed=1)
        f, vectors = expansion(points), [vector(x, d) for x in queries]
        numpy = InNumPy(f, points, d)
        for x, v in zip(queries, vectors, strict=True):
            assert math.isclose(f.evaluate(x), numpy.one(v), rel_tol=1e-9)
        actions = {"core": each(f.evaluate, queries), "NumPy": each(numpy.one, vectors)}
        times = timing.interleaved(actions, rounds=15, per=len(queries))
        limit, pace = timing.load_limit(8 * n * d), n * d / times["core"] / 1e3
        rows.append(
            {
                "B x d, dense": f"{n} x {d}",
                **compared(times, "core", "NumPy"),
                "GFMA/s": pace,
                "of the peak": f"{pace / peak:.0%}",
                "GB/s": 8 * pace,
                "reading alone, GB/s": limit,
                "of that": f"{8 * pace / limit:.0%}",
                "KiB of Z": f"{8 * n * d / 1024:.0f}",
            }
        )
    text, rows = sheet(rows), []
    for n, active, d in ((1350, 14, 123), *((n, 30, 100_000) for n in (100, 400, 1000, 5000))):
        points, queries = sparse(n, active, d), sparse(4, active, d, seed=1)
        f, vectors = expansion(points), [vector(x, d) for x in queries]
        cols = [int(name[1:]) for x in points for name in x]
        matrix = scipy.sparse.csr_array((np.ones(n * active), cols, np.arange(0, n * active + 1, active)), shape=(n, d))
        actions = {
            "core": each(f.evaluate, queries),
            "SciPy CSR": each(InNumPy(f, points, d, matrix).one, vectors),
        }
        if n * d <= 50_000_000:
            actions["NumPy"] = each(InNumPy(f, points, d).one, vectors)
        times = timing.interleaved(actions, rounds=9, per=len(queries))
        rows.append(
            {
                "sparse": f"{active} of {d:,}, B={n}",
                **compared(times, "core", "SciPy CSR"),
                "NumPy µs": times["NumPy"] if "NumPy" in actions else None,
                "core / NumPy": times.ratio("core", "NumPy") if "NumPy" in actions else None,
                "numbers of the points, 10⁹/s": n * active / times["core"] / 1e3,
            }
        )
    text += "\n\n" + sheet(rows) + "\n\n"
    text += sheet(
        [
            {
                "limits of the machine": f"{kib} KiB",
                "reading, GB/s": timing.load_limit(kib * 1024),
                "triad, GB/s": timing.triad_limit(kib * 1024),
            }
            for kib in (24, 160, 960, 4800, 65536)
        ]
    )
    report.write(
        "1b. The core alone",
        f"`Expansion.evaluate(dict)` of a Gaussian beside NumPy's matrix product and exp (row-major). A call computes B·d differences and "
        f"squares, B exponentials and an inner product, and reads 8·B·d bytes; the machine does {peak:.1f}·10⁹ multiply-adds per second "
        f"in registers. Targets: 1000 x 20 at most 0.3 x NumPy; 14 of 123 at most 0.1 x.\n\n" + text,
    )


# 1c. Batches --------------------------------------------------------------------------------------

FEW_CALLS = (
    "RBP",
    "Forgetron",
    "OGD",
    "KernelP",
    "AVP",
    "BOGD",
    "OLRD",
)  # classes whose step is a few calls of the core


def batches(report: runner.Report) -> None:
    rows = []
    for n, d in ((100, 20), (1000, 20), (1000, 123), (5000, 20)):
        model = filled(river_okl.OLRDClassifier(budget=n, seed=1), labelled(40 * n, d), n)
        f, samples = model._f, dense(1000, d, seed=1)
        X = np.array([list(x.values()) for x in samples])
        frame = pd.DataFrame(X, columns=names(d))
        numpy = InNumPy(f, [f.point(i) for i in range(len(f))], d)
        one = [f.evaluate(x) for x in samples]
        assert np.allclose(numpy.many(X), one, rtol=1e-9)
        assert [model.predict_one(x) for x in samples] == model.predict_many(frame).tolist()
        assert one == f.evaluate_many(Frame(list(frame), np.ascontiguousarray(X)))[:, 0].tolist()
        actions = {
            "predict_many": functools.partial(model.predict_many, frame),
            "NumPy GEMM + exp": functools.partial(numpy.many, X),
            "predict_one": each(model.predict_one, samples),
            "of the frame's rows": lambda frame=frame, model=model: each(
                model.predict_one, frame.to_dict(orient="records")
            )(),
        }
        times = timing.interleaved(actions, rounds=9, per=1000)
        rows.append(
            {
                "µs per row of 1,000": f"B={n}, d={d}",
                **compared(times, "predict_many", "NumPy GEMM + exp"),
                **compared(times, "predict_one", "predict_many"),
                **compared(times, "of the frame's rows", "predict_many"),
            }
        )
    text, rows = sheet(rows), []
    d, B = 10, 100
    frames = {}
    for kind in (base.Classifier, base.Regressor):
        stream = labelled(1000, d, regression=kind is base.Regressor, seed=5)
        frame = pd.DataFrame([list(x.values()) for x, _ in stream], columns=names(d))
        frames[kind] = stream, frame, pd.Series([y for _, y in stream])
    for name, cls in (pair for kind in frames for pair in ours(kind)):
        if not name.startswith(FEW_CALLS):
            continue
        stream, frame, targets = frames[base.Regressor if issubclass(cls, base.Regressor) else base.Classifier]
        model = filled(of_budget(cls, B), labelled(40 * B, d, regression=issubclass(cls, base.Regressor)), B)
        ways: dict[str, Callable[[Any], None]] = {
            "learn_one": lambda m, stream=stream: [m.learn_one(x, y) for x, y in stream],
            "learn_many of a frame": lambda m, frame=frame, targets=targets: m.learn_many(frame, targets),
        }
        out: dict[str, list[float]] = {way: [] for way in ways}
        states = set()
        for _ in range(15):
            for way, learn in ways.items():
                copied = copy.deepcopy(model)
                out[way].append(timing.seconds(functools.partial(learn, copied)) * 1e3)
                states.add(pickle.dumps(copied))
        assert len(states) == 1, "both ways give the same model, byte for byte"
        times = timing.Times(out)
        cells = {way: times[way] for way in ways}
        ratio = times.ratio("learn_many of a frame", "learn_one")
        rows.append({f"µs per row of 1,000, B={B}, d={d}": name, **cells, "many / one": ratio, "SVs": size(copied)})
    report.write(
        "1c. Batches",
        "`predict_many` equals `predict_one` bit for bit, and `learn_one` and `learn_many` give models whose pickles are equal "
        "(both checked here). Targets: predict_many at most 1.5 x NumPy, and 4 x faster than predict_one at B = 1000; learn_many of the classes "
        "whose step is a few calls 0.4 x the learn_one loop, which is missed: kernel row and step are the same in both.\n\n"
        + text
        + "\n\n"
        + sheet(rows),
    )


# 1d. Growth ---------------------------------------------------------------------------------------


def learning_time(f: Expansion, samples: list[dict[str, float]]) -> float:
    """µs of an evaluation, and the replacement of one support vector in ten samples."""
    state = [0]

    def step() -> None:
        i = state[0] = state[0] + 1
        f.evaluate(samples[i % len(samples)])
        if i % 10 == 0:
            f.remove(i % len(f))
            f.add(0.1)

    return timing.interleaved({"step": step}, rounds=7, milliseconds=20.0)["step"]


def curve(axis: Any, points: list[tuple[float, float]], label: str, title: str) -> None:
    axis.plot(*zip(*points, strict=True), marker="o", label=label)
    axis.set(xscale="log", yscale="log", xlabel=title, ylabel="µs per sample")
    axis.grid(True, which="both", alpha=0.3)


def growth(report: runner.Report, longest: int = 10_000_000) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 8), layout="constrained")
    axes = figure.subplots(2, 2)

    def steps(axis: Any, label: str, title: str, sizes: list[int], make: Callable[[int], tuple[Any, Any]]) -> str:
        points = [(n, learning_time(expansion(support), queries)) for n in sizes for support, queries in [make(n)]]
        curve(axis, points, label, title)
        return sheet([{f"{title}, {label}": f"{n:,}", "µs": us} for n, us in points])

    texts = [
        steps(axes[0, 0], f"{d} features", "support vectors", [10, 30, 100, 300, 1000, 3000, 10_000, 20_000],
              lambda n, d=d: (dense(n, d), dense(50, d, seed=1)))
        for d in (10, 100)
    ]  # fmt: skip
    texts += [
        steps(axes[0, 1], "dense", "features (B = 1000)", [1, 3, 10, 30, 100, 300, 1000, 3000],
              lambda d: (dense(1000, d), dense(50, d, seed=1))),
        steps(axes[1, 0], "of 100,000", "active features (B = 1000)", [1, 3, 10, 30, 100, 300],
              lambda a: (sparse(1000, a, 100_000), sparse(50, a, 100_000, seed=1))),
    ]  # fmt: skip

    rows: list[dict[str, object]] = []
    stream = labelled(20_000, 10)
    for name in ("RBPClassifier", "OLRDClassifier"):
        model, seen, points = of_budget(getattr(river_okl, name), 100), 0, []
        for length in (10**k for k in range(3, 8) if 10**k <= longest):
            before, start = seen, time.thread_time()
            while seen < length:
                seen += learned(model, stream[: length - seen])
            points.append((length, (time.thread_time() - start) / (seen - before) * 1e6))
        curve(axes[1, 1], points, name, "samples so far (B = 100, d = 10)")
        rows.append({"µs per sample up to": name, **{f"{n:,} samples": us for n, us in points}})
    axes[1, 1].set_ylim(0.3, 30)
    texts.append(sheet(rows))
    for axis in axes.flat:
        axis.legend()
    runner.RESULTS.mkdir(exist_ok=True)
    figure.savefig(runner.RESULTS / "growth.png", dpi=120)

    rows = []
    for kind in (base.Classifier, base.Regressor):
        stream = labelled(5000, 10, regression=kind is base.Regressor)
        for name, cls in ours(kind):
            known = inspect.signature(cls).parameters
            unbounded = "n_components" not in known and ("budget" not in known or known["budget"].default is None)
            if unbounded or name.startswith("NBSGD"):  # which grows by design
                continue
            model, blocks, start = of_budget(cls, 100), [], time.thread_time()
            while len(blocks) < 20 and time.thread_time() - start < 1.5:
                blocks.append(timing.seconds(functools.partial(learned, model, stream)) / len(stream) * 1e6)
            third = max(1, (len(blocks) - 1) // 3)
            first, last = blocks[0], blocks[-1]
            if len(blocks) >= 4:
                first, last = float(np.median(blocks[1 : 1 + third])), float(np.median(blocks[-third:]))
            rows.append(
                {
                    "bounded classes, B=100, d=10": name,
                    "samples": len(blocks) * len(stream),
                    "µs, first third": first,
                    "µs, last third": last,
                    "ratio": last / first,
                }
            )
    texts.append(sheet(rows))
    report.write(
        "1d. Growth",
        "An evaluation, and for one sample in ten a removal and an addition; for streams `predict_one` and `learn_one`.\n\n"
        + "\n\n".join(texts)
        + "\n\n![curves](growth.png)",
    )


def learned(model: Any, samples: list[tuple[dict[str, float], Any]]) -> int:
    """How many samples the model has predicted and learned."""
    for x, y in samples:
        model.predict_one(x)
        model.learn_one(x, y)
    return len(samples)


# 1e. Memory ---------------------------------------------------------------------------------------


def resident() -> float:
    """MB that the process has now."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 1e6


def memory(report: runner.Report) -> None:
    rows: list[dict[str, object]] = []
    for n, d in itertools.product((100, 1000, 20_000), (10, 20, 123)):
        points, before = dense(min(n, 1000), d), resident()
        f = Expansion(kernels.RBF(gamma=0.5 / d)._terms(), budget=n)
        for i in range(n):
            f.evaluate(points[i % len(points)])
            f.add(0.1)
        size, least = base.Base._raw_memory_usage.fget(f), 8 * (d + 4)  # River's meter goes through all parts
        rows.append(
            {
                "dense": f"B={n:,}, d={d}",
                "MB of the expansion": size / 1e6,
                "bytes per support vector": size / n,
                "8 (d + 4)": least,
                "ratio": size / n / least,
                "MB that the process grew": resident() - before if n >= 20_000 else None,
            }
        )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.write(
        "1e. Memory",
        sheet(rows)
        + f"\n\nA support vector is its d numbers, its coefficient, ‖z‖², κ(z, z), its birth and the list of its posting lists; the "
        f"scratch of a kernel row comes on top once. Peak of this process, data and libraries included: {peak:.0f} MB.",
    )


# 2. What needs matrices ---------------------------------------------------------------------------


def matrices(report: runner.Report, n: int = 1000, d: int = 20) -> None:
    rng = np.random.default_rng(0)
    A = np.asfortranarray(np.eye(n) + 0.001 * rng.normal(size=(n, n)))
    v, out, tiny = rng.normal(size=n), np.zeros(n), 1e-12
    S = A @ A.T
    half = n // 2
    H, b = np.asfortranarray(S[:half, :half]), rng.normal(size=half)
    Z = rng.normal(size=(n, d))
    F = np.asfortranarray(rng.normal(size=(n // 5, n)))

    def dsymv() -> None:
        blas.dsymv(1.0, A, v, y=out, overwrite_y=True)

    def dsyr() -> None:
        blas.dsyr(tiny, v, a=A, overwrite_a=True)

    def gram(rows: int) -> Callable[[], None]:
        def action() -> None:
            K = Z[:rows] @ Z.T
            np.exp(K, out=K)

        return action

    bare: dict[str, Callable[[], object]] = {
        "dsymv": dsymv,
        "dsyr": dsyr,
        "dgemv": lambda: blas.dgemv(1.0, F, v),
        "half gram": gram(half),
        "dposv": lambda: lapack.dposv(S.copy(order="F"), v, overwrite_a=True),
        "half dposv": lambda: lapack.dposv(H.copy(order="F"), b, overwrite_a=True),
    }
    stream = labelled(60 * n, d)
    pair = {"dsymv": 2, "dsyr": 2}
    models: dict[str, tuple[Any, dict[str, int]]] = {
        "ProjectronClassifier, a mistake": (river_okl.ProjectronClassifier(budget=n), {"dsymv": 1}),
        "ProjectronPlusPlusClassifier, a mistake": (river_okl.ProjectronPlusPlusClassifier(budget=n), {"dsymv": 1}),
        "BPAClassifier projection": (river_okl.BPAClassifier(budget=n, maintenance="projection"), pair),
        "BSGDClassifier projection": (river_okl.BSGDClassifier(budget=n, maintenance="projection"), pair),
        "NBSGDClassifier projection": (river_okl.NBSGDClassifier(budget=n, beta=1e9, maintenance="projection"), pair),
        "BDUOLClassifier approximate": (
            river_okl.BDUOLClassifier(budget=n, maintenance="approximate"),
            {"dsymv": 12, "dsyr": 2},  # five steps of conjugate gradients
        ),
        "BDUOLClassifier projection": (
            river_okl.BDUOLClassifier(budget=n, maintenance="projection"),
            {"dsymv": 12, "dsyr": 2, "dposv": 10},  # and ten of Newton's method
        ),
        "NOGDClassifier, rank 200": (river_okl.NOGDClassifier(budget=n), {"dgemv": 2}),
        "AhpatronClassifier, a halving": (river_okl.AhpatronClassifier(budget=n), {"half gram": 1, "half dposv": 1}),
        "BPAClassifier nearest": (river_okl.BPAClassifier(budget=n, maintenance="nearest"), {}),
        "BSGDClassifier merging": (river_okl.BSGDClassifier(budget=n, maintenance="merging"), {}),
        "NBSGDClassifier approximate": (river_okl.NBSGDClassifier(budget=n, beta=1e9, maintenance="approximate"), {}),
    }
    rows: list[list[object]] = []
    for name, (model, calls) in models.items():
        filled(model, stream, n, limit=20.0)
        while size(model) < n:  # quickly: samples that are contradicted
            x = stream[rng.integers(len(stream))][0]
            model.learn_one(x, not model.predict_one(x))
        queries = iter(dense(1000, d, seed=7))  # a sample that is a support vector would cost a refined solve
        if "halving" in name:

            def step(model: Any = model) -> float:
                from river_okl.algorithms.ahpatron import _halve

                f = copy.deepcopy(model._f)
                return timing.seconds(lambda: _halve(f, model.ridge))
        else:

            def step(model: Any = model, queries: Any = queries) -> float:
                x = next(queries)
                y = not model.predict_one(x)  # always a mistake
                return timing.seconds(lambda: model.learn_one(x, y))

        mine, theirs = [], []
        for _ in range(9):  # several in a row, so that neither finds the other's matrices in the caches
            mine.append(float(np.mean([step() for _ in range(5)][1:])) * 1e6)
            once = [sum(times * timing.seconds(bare[call]) for call, times in calls.items()) for _ in range(3)]
            theirs.append(float(np.mean(once[1:])) * 1e6)
        ratio = float(np.median(np.array(mine) / theirs)) if calls else None
        needs = " + ".join(f"{times} {call}" if times > 1 else call for call, times in calls.items())
        rows.append(
            [
                name,
                float(np.median(mine)),
                needs or "kernel rows alone",
                float(np.median(theirs)) if calls else None,
                ratio,
            ]
        )
    rows.append(
        [
            "bare: " + ", ".join(f"{c} {timing.interleaved({c: bare[c]}, rounds=7)[c]:.0f} µs" for c in bare),
            None,
            "",
            None,
            None,
        ]
    )
    report.write(
        "2. One step with matrices",
        f"B = {n}, d = {d}: `learn_one` after `predict_one`, on samples that the model gets wrong, beside the BLAS and LAPACK calls that "
        f"the step cannot do without, called bare in the same run (gram: NumPy's product and exp; dposv with the copy that it overwrites; dgemv of 200 x "
        f"1000). BDUOL's approximate projection takes five steps of conjugate gradients, and the exact one ten of Newton's method besides. Target: 2 x.\n\n"
        + runner.table(["step", "µs", "needs", "bare µs", "ratio"], rows),
    )


# 3. Threads ---------------------------------------------------------------------------------------


def together(actions: list[Callable[[], object]]) -> float:
    """Seconds until all have ended, each in its own thread."""
    barrier = threading.Barrier(len(actions) + 1)

    def run(action: Callable[[], object]) -> None:
        barrier.wait()
        action()

    workers = [threading.Thread(target=run, args=(action,)) for action in actions]
    for worker in workers:
        worker.start()
    barrier.wait()
    start = time.perf_counter()
    for worker in workers:
        worker.join()
    return time.perf_counter() - start


def threads(report: runner.Report) -> None:
    rows: list[list[object]] = []

    def work_many(n: int, d: int) -> Callable[[], object]:
        f, frame = expansion(dense(n, d)), Frame(list(names(d)), np.random.default_rng(1).normal(size=(1000, d)))
        return lambda: [f.evaluate_many(frame) for _ in range(max(1, 20_000_000 // (n * d * 1000)))]

    def work_one(n: int, d: int) -> Callable[[], object]:
        f, queries = expansion(dense(n, d)), dense(2, d, seed=1)
        times = max(10, 400_000_000 // (n * d * 2))
        return lambda: [f.evaluate(x) for _ in range(times) for x in queries]

    for name, make, n, d in (
        ("evaluate_many of 1,000 rows", work_many, 1000, 20),
        ("evaluate_many of 1,000 rows", work_many, 5000, 20),
        ("evaluate", work_one, 1000, 20),
        ("evaluate", work_one, 5000, 123),
        ("evaluate", work_one, 20_000, 20),
        ("evaluate", work_one, 20_000, 123),
    ):
        first, second = make(n, d), make(n, d)
        first(), second()
        speedups, alone = [], []
        for _ in range(7):
            one, two = together([first]), together([first, second])
            speedups.append(2.0 * one / two)
            alone.append(one)
        rows.append(
            [f"{name}, B={n:,}, d={d}", float(np.median(alone)) * 1e3, float(np.median(speedups)), max(speedups)]
        )
    report.write(
        "3. Two threads",
        "Two models in two threads on two cores against one after the other: 2 is all that can be had, 1 nothing. Wall-clock time. "
        "A call on less than 200,000 numbers keeps the GIL.\n\n"
        + runner.table(["", "ms of one thread alone", "speed-up, median", "best"], rows),
    )


# Plain C ------------------------------------------------------------------------------------------


def plain_c(report: runner.Report, rounds: int = 9, d: int = 10) -> None:
    """``predict_one`` and ``learn_one`` beside a step of the same algorithm as families.c has it."""
    rng, gaussian = np.random.default_rng(0), kernels.RBF(0.1)
    labels = (rng.random(4000) < 0.5).tolist()
    active = [sorted(rng.choice(123, 14, replace=False).tolist()) for _ in labels[:1500]]
    sparse_samples = [({f"x{i}": 1.0 for i in a}, y) for a, y in zip(active, labels, strict=False)]
    rows: list[list[object]] = []

    def beside(name: str, model: Any, samples: list[Any], function: str, *arguments: Any, times: int = 200) -> None:
        learned(model, samples)
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(timing.seconds(lambda: learned(model, samples[:500])) / 500 * 1e6)
            theirs.append(timing.in_c(function, *arguments, times, file="families") / times * 1e6)
        rows.append([name, min(ours), min(theirs), min(theirs) / min(ours)])

    for D in (400, 5400):
        model = river_okl.FOGDClassifier(kernels.RBF(0.4), n_components=D, seed=1)
        arrays = rng.normal(size=(123, D)), np.array(active[0], dtype=np.int32), 14, D, np.zeros(2 * D), np.zeros(2 * D)
        beside(f"FOGD, D = {D}, 14 of 123 features", model, sparse_samples, "fogd_seconds", *arrays)
    for B in (100, 1000):
        samples = list(zip(dense(len(labels), d), labels, strict=True))
        arrays = rng.normal(size=(B, d)), rng.normal(size=B), np.zeros(B), rng.normal(size=(B, d))
        for name, n_rows in (("RBP", 1), ("BOGD", 1), ("OLRD", 2), ("Forgetron", 2)):
            model = of_budget(getattr(river_okl, f"{name}Classifier"), B, kernel=gaussian)
            beside(f"{name}, B = {B}", model, samples, "replacing_seconds", *arrays, B, d, 0.1, n_rows)
        model = river_okl.BPAClassifier(gaussian, budget=B)
        beside(f"BPA, B = {B}", model, samples, "bpa_seconds", *arrays, B, d, 0.1)
        model, inverse = river_okl.ProjectronClassifier(gaussian, budget=B), rng.normal(size=(B, B))
        beside(f"Projectron, B = {B}", model, samples, "projecting_seconds", *arrays, inverse, B, d, 0.1)
        model = river_okl.BSGDClassifier(gaussian, budget=B, maintenance="merging")
        choice = abs(arrays[1]) + 0.01, rng.random(B), 0.01, B
        beside(f"BSGD merging, B = {B}; in C the choice alone", model, samples, "merging_seconds", *choice, times=20)
    report.write(
        "Beside plain C",
        f"families.c has a step of each family in plain loops, compiled with -O3 and the processor's own instructions: every sample changes f "
        f"there. Ours learn labels of pure chance, d = {d}.\n\n"
        + runner.table(["µs per sample", "predict_one and learn_one", "a step in plain C", "C / ours"], rows),
    )


# 4. More than two classes -------------------------------------------------------------------------


def classes(report: runner.Report, budget: int = 200) -> None:
    """One support set with a column per class, against one model for each class."""
    streams = {
        "ImageSegments, 7 classes": list(datasets.ImageSegments()),
        "LED, 10 classes": list(synth.LED(seed=1, noise_percentage=0.1, irrelevant_features=True).take(2500)),
    }
    rows: list[list[object]] = []
    for stream, samples in streams.items():
        scaler, scaled = preprocessing.StandardScaler(), []
        for x, y in samples:
            scaler.learn_one(x)
            scaled.append((scaler.transform_one(x), y))
        for name, cls in ours(base.Classifier):
            if not cls(**{})._multiclass or name.startswith(("Kernel", "OLK", "OLRU", "NBSGD")):
                continue
            each = multiclass.OneVsRestClassifier(of_budget(cls, budget))
            models, right, spent = (of_budget(cls, budget), each), [0, 0], [0.0, 0.0]
            for block in (scaled[i : i + 100] for i in range(0, len(scaled), 100)):
                for i, model in enumerate(models):
                    start, found = time.thread_time(), []
                    for x, y in block:
                        found.append(model.predict_one(x))
                        model.learn_one(x, y)
                    spent[i] += time.thread_time() - start
                    right[i] += sum(p == y for p, (_, y) in zip(found, block, strict=True))
            native, theirs = (s / len(scaled) * 1e6 for s in spent)
            shares = [f"{r / len(scaled):.1%}" for r in right]
            rows.append([f"{name}, {stream}", *shares, native, theirs, theirs / native])
    head = [f"B = {budget}", "native", "OneVsRest", "native µs", "OneVsRest µs", "ratio"]
    report.write("4. More than two classes", runner.table(head, rows))


# 5. Wide and ever-new features --------------------------------------------------------------------


def wide(report: runner.Report, n: int = 1_000_000, d: int = 1_000_000, active: int = 30) -> None:
    rows: list[list[object]] = []
    for cls in (river_okl.OLRDClassifier, river_okl.AhpatronClassifier):
        model, rng = cls(kernels.RBF(gamma=0.1), budget=100), np.random.default_rng(0)
        start = time.thread_time()
        for i in range(n):
            x = {f"user{i}": 1.0, f"word{i}": 1.0, f"link{i}": 1.0}  # never seen before, never seen again
            model.predict_one(x)
            model.learn_one(x, bool(rng.random() < 0.5))
            if (i + 1) % (n // 5) == 0:
                spent = (time.thread_time() - start) / (n // 5) * 1e6
                rows.append([cls.__name__, i + 1, model._raw_memory_usage / 1e3, resident(), size(model), spent])
                start = time.thread_time()
    head = [
        "three names never seen in each sample",
        "samples so far",
        "model, KB",
        "process, MB",
        "SVs",
        "µs per sample",
    ]
    text = runner.table(head, rows)
    samples, rng, budget, rows = sparse(20_000, active, d), np.random.default_rng(0), 1000, []
    before, model = resident(), river_okl.OLRDClassifier(kernels.RBF(gamma=0.05), budget=1000, seed=1)
    for i, x in enumerate(samples):
        if i == len(samples) // 2:
            start = time.thread_time()
        model.predict_one(x)
        model.learn_one(x, bool(rng.random() < 0.5))  # so that every second sample and more replaces a support vector
    spent = (time.thread_time() - start) / (len(samples) // 2) * 1e6
    rows.append([size(model), model._raw_memory_usage / 1e6, resident() - before, 8e-6 * budget * d, spent])
    head = [f"{d:,} features, {active} in a sample: SVs", "model, MB", "process grew, MB", "a dense matrix, MB", "µs"]
    report.write("5. Wide and ever-new features", text + "\n\n" + runner.table(head, rows))


SECTIONS = {
    "progressive": progressive,
    "core": core,
    "batches": batches,
    "growth": growth,
    "memory": memory,
    "matrices": matrices,
    "threads": threads,
    "plain_c": plain_c,
    "classes": classes,
    "wide": wide,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), metavar="PART", help=", ".join(SECTIONS)
    )
    report = runner.Report(runner.RESULTS / "speed.md", "Speed", timing.machine())
    for name in parser.parse_args().only:
        SECTIONS[name](report)


if __name__ == "__main__":
    main()
