"""What the papers' experiments have in common: data, runs, a cache of their results, tables.

A `Run` names what its result depends on, and its key is made of the content of that: the class, the data, this file's
way of measuring. `Bench` is what a script works with: it knows the command line, turns runs into results and writes the
tables.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
import math
import multiprocessing
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import river
from river import optim
from river.datasets import synth

import river_okl
from benchmarks import runner
from benchmarks.streams import Sample, scaled
from river_okl import datasets, kernels, losses

BOLD = (
    "Bold: the difference is more than two standard deviations. Seconds were measured on a machine with two cores that "
    "was busy with other work; they tell orders of magnitude."
)

Result = runner.Row


# Data -----------------------------------------------------------------------------------------------


def _gaussian() -> Iterator[Sample]:
    return datasets.GaussianMixture(seed=0).take(1_000_000)


def _waveform() -> Iterator[Sample]:
    """Class 0 against the others: the paper does not say which two it merges; this comes nearest to its numbers."""
    return ((x, y == 0) for x, y in synth.Waveform(seed=0).take(100_000))


def _susy() -> Iterator[Sample]:
    chosen = set(random.Random(0).sample(range(5_000_000), 50_000))
    return (sample for i, sample in enumerate(datasets.LIBSVM("SUSY")) if i in chosen)


def _libsvm(part: str, names: str) -> dict[str, Callable[[], Iterable[Sample]]]:
    """Names of sets and the files of LIBSVM's page that they are: "name", or "name=file"."""
    pairs = [(pair.partition("=")[0], pair.rpartition("=")[2]) for pair in names.split()]
    return {name: functools.partial(datasets.LIBSVM, file, part) for name, file in pairs}


GENERATED = {"gaussian": _gaussian, "waveform": _waveform}
SOURCES = {
    **_libsvm("train", "abalone cadata cod-rna covtype=covtype.binary dna=dna.scale german=german.numer phishing"),
    **_libsvm("train", "space_ga w8a a9a.train=a9a ijcnn1.train=ijcnn1 w7a.train=w7a"),
    **_libsvm("test", "a9a.t=a9a cod-rna.t=cod-rna dna.t=dna.scale ijcnn1.t=ijcnn1 w7a.t=w7a"),
    **_libsvm("both", "a9a ijcnn1 splice w7a"),
    **_libsvm("tr", "ijcnn1.tr=ijcnn1"),
    "spambase": datasets.Spambase,
    "susy": _susy,
    **GENERATED,
}


def why_not(name: str) -> str | None:
    """Why a data set cannot be read here, or None."""
    stem = name.partition("/")[0]
    if stem not in SOURCES:
        return "no data set class knows it"
    dataset: Any = datasets.LIBSVM("SUSY") if stem == "susy" else SOURCES[stem]()
    files = zip(getattr(dataset, "paths", ()), getattr(dataset, "urls", ()), strict=True)  # none where it is generated
    missing = [f"{path} (from {url})" for path, url in files if not path.is_file()]
    return f"not found: {', '.join(missing)}" if missing else None


@functools.lru_cache(maxsize=3)
def load(name: str) -> list[Sample]:
    """All samples of a set; "name/[-1,1]", "/[0,1]" or "/z" scales its features, "/y" standardises its target."""
    stem, *scalings = name.split("/")
    samples = list(SOURCES[stem]())
    for scaling in scalings:
        samples = scaled(samples, scaling)
    return samples


@functools.lru_cache(maxsize=2)
def permutation(name: str, seed: int | None) -> list[Sample]:
    """The samples in the order of a seed; None: as in the file."""
    samples = load(name).copy()
    if seed is not None:
        random.Random(seed).shuffle(samples)
    return samples


# Runs -----------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """One experiment: all that its result depends on."""

    data: str  # as `load` takes it
    algorithm: str  # the name of a class of river_okl, or of one in `EXTRA`
    params: dict[str, Any]  # `gamma` stands for an RBF kernel, `loss` is the name of a loss
    seed: int | None = 0  # of the permutation and of the algorithm's draws; None: the order of the file
    rows: int | None = None  # how many samples of the permutation are learned; None: all
    # None: each sample is predicted, then learned. The name of a data set, or "rest", the samples after `rows`: learn
    # first, then predict those. A number k: fold k of 5 of the rows is predicted.
    test: str | int | None = None

    def given(self, **params: Any) -> Run:
        """The run with these parameters besides."""
        return self._replace(params={**self.params, **params})

    def grid(self, **params: Iterable[Any]) -> list[Run]:
        """A run for each choice of values; the last parameter changes first."""
        return [self.given(**dict(zip(params, values, strict=True))) for values in itertools.product(*params.values())]

    @property
    def key(self) -> str:
        sets = [self.data, self.test] if isinstance(self.test, str) and self.test != "rest" else [self.data]
        cls = find(self.algorithm)
        return runner.digest(self._asdict(), runner.code(cls) if cls else None, list(map(_content, sets)), _measuring())


# Labels of the papers' tables (what is before a comma or a space) whose class has another name.
CLASSES = {
    "Perceptron": "KernelPerceptronClassifier",
    "PA-I": "KernelPAClassifier",
    "Projectron++": "ProjectronPlusPlusClassifier",
    "BPA-S": "BPAClassifier",
    "BOGD++": "BOGDClassifier",
    "SGD": "KernelSGDClassifier",
    "Pegasos": "KernelSGDClassifier",
    "LIBSVM": "SVC",
}

# Algorithms that are no part of river_okl, such as the variants by which a difference is explained.
EXTRA: dict[str, type] = {}


def named(label: str) -> str:
    """The name of the class that a label of a paper stands for."""
    stem = label.replace(",", " ").partition(" ")[0]
    return CLASSES.get(stem, f"{stem}Classifier")


def find(algorithm: str) -> Any:
    """The class of this name, if there is one."""
    return EXTRA.get(algorithm) or getattr(river_okl, algorithm, None)


def build(algorithm: str, params: dict[str, Any], seed: int | None) -> Any:
    """A model from a run's plain parameters."""
    params = {"seed": seed, **params} if "seed" in inspect.signature(find(algorithm)).parameters else dict(params)
    if "gamma" in params:
        params["kernel"] = kernels.RBF(params.pop("gamma"))
    if name := params.get("loss"):
        params["loss"] = losses.EpsilonInsensitive() if name == "EpsilonInsensitive" else getattr(optim.losses, name)()
    return find(algorithm)(**params)


# Algorithms whose paper has one model for several classes. The others are binary and get one for each.
MULTI_CLASS = {"KernelSGDClassifier", "BSGDClassifier", "NBSGDClassifier"}


class OneVsRest:
    """One classifier for each label; the largest decision value wins.

    (River's OneVsRestClassifier compares probabilities: where λ is small the scores of KernelSGD are in the hundreds,
    and several sigmoids of them are 1.)
    """

    def __init__(self, run: Run, labels: Sequence[Any]):
        self.models = {label: build(run.algorithm, run.params, run.seed) for label in labels}

    def learn_one(self, x: dict[Any, float], y: Any) -> None:
        for label, model in self.models.items():
            model.learn_one(x, y == label)

    def predict_one(self, x: dict[Any, float]) -> Any:
        return max(self.models, key=lambda label: self.models[label].decision_function_one(x))

    @property
    def n_support_vectors(self) -> float:
        return statistics.fmean(model.n_support_vectors for model in self.models.values())


def execute(run: Run) -> Result:
    """Do the run."""
    samples = permutation(run.data, run.seed)
    if run.test is None:
        return _progressive(build(run.algorithm, run.params, run.seed), samples[: run.rows])
    train, test = _split(run, samples)
    if run.algorithm == "SVC":
        return _batch(run, train, test)
    several = isinstance(train[0][1], int) and not isinstance(train[0][1], bool)
    if several and run.algorithm not in MULTI_CLASS:
        model = OneVsRest(run, sorted({y for _, y in train}))
    else:
        model = build(run.algorithm, run.params, run.seed)
    start = time.perf_counter()
    for x, y in train:
        model.learn_one(x, y)
    seconds = time.perf_counter() - start
    if isinstance(test[0][1], float):
        error = math.sqrt(statistics.fmean((model.predict_one(x) - y) ** 2 for x, y in test))
    else:
        error = 100.0 * statistics.fmean(model.predict_one(x) != y for x, y in test)
    return {"seconds": seconds, "error": error, "n_support_vectors": model.n_support_vectors}


def _split(run: Run, samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    train = samples[: run.rows]
    if run.test == "rest":
        return train, samples[run.rows :]
    if isinstance(run.test, int):
        return [s for i, s in enumerate(train) if i % 5 != run.test], train[run.test :: 5]
    return train, load(str(run.test))


def _progressive(model: Any, samples: list[Sample]) -> Result:
    """Predict each sample, then learn it."""
    classify = hasattr(model, "decision_function_one")
    threshold = 1.0 - getattr(model, "epsilon", 0.0)
    mistakes = margin_errors = 0
    squares = absolutes = 0.0
    start = time.perf_counter()
    for x, y in samples:
        if classify:
            score = model.decision_function_one(x)
            if (score >= 0.0) != y:
                mistakes += 1
            elif abs(score) < threshold:
                margin_errors += 1
        else:
            error = model.predict_one(x) - y
            squares += error * error
            absolutes += abs(error)
        model.learn_one(x, y)
    seconds, n = time.perf_counter() - start, len(samples)
    result: Result = {"seconds": seconds, "n_support_vectors": model.n_support_vectors}
    if classify:
        return {**result, "error": 100.0 * mistakes / n, "margin_errors": margin_errors}
    return {**result, "error": math.sqrt(squares / n), "mae": absolutes / n}


def _batch(run: Run, train: list[Sample], test: list[Sample]) -> Result:
    """LIBSVM by scikit-learn."""
    from sklearn import feature_extraction, svm

    vectorizer = feature_extraction.DictVectorizer(sparse=False)
    X = vectorizer.fit_transform([{str(k): v for k, v in x.items()} for x, _ in train])
    X_test = vectorizer.transform([{str(k): v for k, v in x.items()} for x, _ in test])
    start = time.perf_counter()
    model = svm.SVC(cache_size=1000, **run.params).fit(X, [y for _, y in train])
    seconds = time.perf_counter() - start
    error = 100.0 * float((model.predict(X_test) != [y for _, y in test]).mean())
    return {"seconds": seconds, "error": error, "n_support_vectors": len(model.support_)}


@functools.cache
def _content(name: str) -> str:
    """What a data set is: the bytes of its files, or the code that generates it."""
    stem = name.partition("/")[0]
    if stem in GENERATED:
        return runner.digest(river.__version__, inspect.getsource(GENERATED[stem]), inspect.getsource(datasets))
    files = getattr(SOURCES[stem](), "paths", None)
    return runner.digest(*(path.read_bytes() for path in files)) if files else runner.digest(repr(load(name)).encode())


@functools.cache
def _measuring() -> str:
    """The functions above, on which every result depends."""
    made_of = (load, scaled, permutation, build, OneVsRest, execute, _split, _progressive, _batch)
    return runner.digest(*map(inspect.getsource, made_of))


# The bench ------------------------------------------------------------------------------------------

FOLDS = [{"test": fold} for fold in range(5)]


class Bench:
    """The command line of a script, its runs and what it writes.

    ``sources`` are the data sets of the paper and what they are read from; ``algorithms`` what can be chosen of its
    algorithms; ``permutations`` how many there are unless the command line says otherwise.
    """

    def __init__(
        self,
        name: str,
        title: str,
        sources: Mapping[str, str],
        algorithms: Iterable[str],
        argv: Sequence[str] | None,
        permutations: int = 10,
        note: str = "",
    ):
        parser = runner.parser(name, title)
        runner.choice(parser, "--datasets", list(sources))
        runner.choice(parser, "--algorithms", list(algorithms))
        parser.add_argument("--permutations", type=int, default=permutations)
        parser.add_argument("--rows", type=int, help="use only so many samples of each set")
        parser.add_argument("--jobs", type=int, default=2)
        parser.add_argument("--fresh", action="store_true", help="do not use results in the cache")
        self.args = parser.parse_args(argv)
        self.name, self.title, self.note = name.rpartition(".")[2], title, note
        self.skipped: dict[str, str] = {}
        self.datasets = [data for data in self.args.datasets if self.there(data, sources[data])]
        self._sections: list[tuple[str, str]] = []
        self._cache = runner.Cache(self.args.cache / f"{self.name}.jsonl", self.args.fresh)
        self._commits: set[str] = set()

    def there(self, name: str, source: str) -> bool:
        """Whether the data can be read; else they are remembered as skipped."""
        if reason := why_not(source):
            self.skipped[name] = reason
        return name not in self.skipped

    def asked(self, labels: Iterable[str]) -> list[str]:
        """The labels whose algorithm, what is before a comma, is asked for."""
        return [label for label in labels if label.partition(",")[0] in self.args.algorithms]

    def size(self, source: str) -> int:
        """T, the number of samples of a run."""
        return min(len(load(source)), self.args.rows or sys.maxsize)

    def seeds(self, most: int | None = None) -> list[dict[str, Any]]:
        """The permutations, or only the first of them, as what changes in a run."""
        return [{"seed": seed} for seed in range(self.args.permutations)[:most]]

    def run(self, runs: Iterable[Run]) -> list[Result]:
        """The results of runs, from the cache where they are known."""
        if most := self.args.rows:
            runs = [run._replace(rows=min(run.rows or most, most)) for run in runs]
        keyed = [(run.key, run) for run in runs]
        unknown = {key: run for key, run in keyed if key not in self._cache.rows}
        # By data and seed: a worker keeps the permutation that it has in memory.
        todo = sorted(unknown.items(), key=lambda pair: (pair[1].data, str(pair[1].seed)))
        with _workers(self.args.jobs) as each:
            for i, result in enumerate(each(execute, [run for _, run in todo])):
                self._cache.keep(todo[i][0], **result)
                if sys.stderr.isatty():
                    print(f"\r{self.name}: {i + 1} of {len(todo)} runs", end="", file=sys.stderr)
        rows = [self._cache.rows[key] for key, _ in keyed]
        self._commits.update(row["commit"] for row in rows)
        return rows

    def over(self, run: Run, changes: Iterable[dict[str, Any]]) -> list[Result]:
        """The run on each permutation, or with each fold left out."""
        return self.run(run._replace(**change) for change in changes)

    def best(self, candidates: Sequence[Run], over: Sequence[dict[str, Any]]) -> Run:
        """The candidate with the smallest mean error over permutations or folds; the first of equals."""
        if len(candidates) == 1:
            return candidates[0]
        errors = field(self.run(run._replace(**change) for run in candidates for change in over), "error")
        means = [statistics.fmean(errors[i : i + len(over)]) for i in range(0, len(errors), len(over))]
        return candidates[means.index(min(means))]

    def table(self, heading: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        rows = list(rows)
        self._sections.append((heading, runner.table(head, rows) if rows else "Nothing of it was asked for."))

    def compare(self, heading: str, keys: Sequence[str], measure: str, rows: Iterable[Compared]) -> None:
        """A table of ours beside the paper's: a mean, its deviation and a size."""
        lines = []
        for names, run, tuned, paper, runs in rows:
            results = self.over(run, self.seeds(runs))
            chosen = shown({name: run.params[name] for name in tuned.split() if name in run.params})
            values = [100.0 - r["error"] if measure.startswith("accuracy") else r["error"] for r in results]
            sizes, seconds = mean_sd(field(results, "n_support_vectors"), 0), mean_sd(field(results, "seconds"))
            beside = comparison(paper and paper[:2], values)
            lines.append([*names, chosen, *beside, paper and paper[2], sizes, seconds, len(results)])
        ours = ["chosen", f"paper: {measure}", "ours", "difference", "paper: size", "ours: SVs", "s", "runs"]
        self.table(heading, [*keys, *ours], lines)

    def figure(
        self, heading: str, name: str, panels: Sequence[tuple[Mapping[str, Sequence[Any]], Any]], below: str = ""
    ) -> None:
        """Panels side by side: points by label, and what the axis is told; and what stands below them."""
        from matplotlib.figure import Figure

        drawn = Figure(figsize=(4.5 * len(panels), 4), layout="constrained")
        for axis, (curves, options) in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
            for label, points in curves.items():
                axis.plot(*zip(*points, strict=True), marker="o" if len(points) < 20 else "", label=label)
            axis.set(**options)
            if len(curves) > 1:
                axis.legend(fontsize="small")
        self.args.output.mkdir(parents=True, exist_ok=True)
        drawn.savefig(self.args.output / f"{name}.png", dpi=110)
        self._sections.append((heading, f"![{name}]({name}.png)\n\n{below}".strip()))

    def write(self) -> None:
        """Write the results as Markdown, and show them."""
        skipped = [f"- {name}: {reason}" for name, reason in self.skipped.items()]
        measured = f"Measured at {', '.join(sorted(self._commits))}." if self._commits else ""
        intro = [self.note, measured, "Skipped:" * bool(skipped), "\n".join(skipped)]
        path = self.args.output / f"{self.name}.md"
        path.unlink(missing_ok=True)
        report = runner.Report(path, self.title, "\n\n".join(filter(None, intro)))
        for heading, text in self._sections:
            report.write(heading, text)


@contextlib.contextmanager
def _workers(jobs: int) -> Iterator[Callable[..., Iterable[Result]]]:
    """A `map` of so many processes; forked ones know EXTRA, which a script fills."""
    if jobs == 1:
        yield map
    else:
        with multiprocessing.get_context("fork").Pool(jobs) as pool:
            yield pool.imap


# Numbers --------------------------------------------------------------------------------------------

Paper = tuple[float, float, str]
# The first cells, the run, the names of the parameters that were chosen, the paper's numbers, how many permutations.
Compared = tuple[Sequence[Any], Run, str, Paper | None, int | None]


def numbers(text: str) -> dict[str, dict[str, Paper]]:
    """A paper's table as the paper prints it, "mean deviation size" in a cell: by column, then by row."""
    head, *lines = text.strip().splitlines()
    out: dict[str, dict[str, Paper]] = {column: {} for column in head.split()}
    for line in lines:
        row, *cells = re.split(r"\s{2,}", line.strip())
        for column, cell in zip(out, cells, strict=True):
            if cell != "-":
                mean, deviation, size = cell.split()
                out[column][row] = float(mean), float(deviation), size
    return out


def mean_sd(values: Iterable[float], digits: int = 2) -> str:
    """Mean ± standard deviation; the mean alone where there is one value."""
    values = list(values)
    text = f"{statistics.fmean(values):.{digits}f}"
    return f"{text} ± {statistics.stdev(values):.{digits}f}" if len(values) > 1 else text


def field(results: Iterable[Result], name: str) -> list[float]:
    return [result[name] for result in results]


def means(results: Iterable[Result], *names: str) -> list[float]:
    return [statistics.fmean(field(results, name)) for name in names]


def comparison(paper: tuple[float, float] | None, values: Sequence[float], digits: int = 2) -> list[str]:
    """Three cells: the paper's number, ours, and the difference, bold beyond 2 standard deviations.

    The standard deviation of the difference of two single runs, √(paper's² + ours²), is meant.
    """
    ours = mean_sd(values, digits)
    if paper is None:
        return ["", ours, ""]
    mean, deviation = paper
    difference = statistics.fmean(values) - mean
    spread = math.hypot(deviation, statistics.stdev(values) if len(values) > 1 else 0.0)
    text = f"{difference:+.{digits}f}"
    shown = f"{mean:.{digits}f} ± {deviation:.{digits}f}" if deviation else f"{mean:.{digits}f}"
    return [shown, ours, f"**{text}**" if abs(difference) > 2.0 * spread else text]


def shown(params: dict[str, Any]) -> str:
    """Parameters for a table."""
    return ", ".join(
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}" for name, value in params.items()
    )
