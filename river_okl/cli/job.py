"""The run that the options of the command ask for.

Arguments become a stream (files/) and models (``lookup.py``) or a saved model (``outputs.py``). ``race.py`` runs
them. The result is saved (``outputs.py``) before it is shown (``report.py``).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import itertools
import os
import sys
from typing import Any

from river import base

import river_okl
from river_okl.checks import UsageError
from river_okl.cli import lookup, metrics, outputs, race, report
from river_okl.cli.command import ENDLESS, say
from river_okl.files.models import REGRESSION, TableClassifier, TableRegressor
from river_okl.files.stream import Again, Reading, Sample, Stream
from river_okl.progress import Progress

CLASSIFIERS = (
    "OKLClassifier",
    "AhpatronClassifier",
    "BPAClassifier",
    "ProjectronPlusPlusClassifier",
    "RBPClassifier",
    "KernelPAClassifier",
    "linear_model.LogisticRegression",
    "linear_model.PAClassifier",
    "tree.HoeffdingTreeClassifier",
    "forest.ARFClassifier",
    "neighbors.KNNClassifier",
    "majority",
    "last",
)
REGRESSORS = (
    "OKLRegressor",
    "BPARegressor",
    "SPARegressor",
    "KernelPARegressor",
    "linear_model.LinearRegression",
    "linear_model.PARegressor",
    "tree.HoeffdingTreeRegressor",
    "neighbors.KNNRegressor",
    "mean",
    "last",
)


class Job:
    """A run of the command: its stream, its models, and the steps before them."""

    def __init__(self, options: argparse.Namespace):
        _check(options)
        self.options = options
        self.results: list[race.Contestant] = []
        if options.load:
            self.stream, self.models = self._loaded()
        else:
            self.stream = lookup.find_stream(options.data, _reading(options))
            usual = REGRESSORS if self.is_regression else CLASSIFIERS
            chosen = options.models or (usual[:1] if options.workers else usual)
            self.models = lookup.find_models(chosen, self.stream.task, options.budget, options.seed)
        if options.save and len(self.models) != 1:
            raise UsageError(f"--save saves one model, and there are {len(self.models)}: name one MODEL")
        self.metrics = metrics.find_metrics(options.metric, self.stream.task)
        self.inputs = race.AsTheyCome() if options.load else race.Inputs(self.stream.scaled)
        self.inputs.any_dates = self.stream.schema is not None and self.stream.schema.has_dates
        self.samples = options.samples or (ENDLESS if self.stream.size is None else None)
        self.size = min((n for n in (self.samples, self.stream.size) if n is not None), default=None)
        if options.save:
            (model,) = self.models.values()
            outputs.check_save(options.save, self._with_schema(self.inputs.pipeline(model)))

    @property
    def is_regression(self) -> bool:
        return self.stream.task == REGRESSION

    def _loaded(self) -> tuple[Stream, dict[str, Any]]:
        """Return the stream that a saved model learns or predicts, and the model by name."""
        path, schema = self.options.load, None
        model = outputs.load(path)
        bare = race.innermost(model)
        if isinstance(model, TableClassifier | TableRegressor):
            schema, model = model._schema, model.model
        elif not isinstance(bare, base.Classifier | base.Regressor):
            raise UsageError(f"--load {path}: {type(model).__name__} is neither a classifier nor a regressor")
        elif lookup.is_file(self.options.data):
            raise UsageError(
                f"{path} does not know the columns of a file, as models do that the command has trained on one"
            )
        stream = lookup.find_stream(self.options.data, _reading(self.options), schema)
        if isinstance(bare, base.Regressor) != (stream.task == REGRESSION):
            raise UsageError(f"{path} is not a model for {stream.task}")
        if not stream.labelled and not self.options.predictions:
            raise UsageError(f"{stream.name} has no target, so that it can only be predicted: --predictions FILE")
        return stream, {type(bare).__name__: model}

    def _with_schema(self, model: Any) -> Any:
        """Wrap a model to take the rows of the file as they are and predict its labels; no-op without a schema."""
        if self.stream.schema is None:
            return model
        make = TableRegressor if self.is_regression else TableClassifier
        return make(model, dataclasses.asdict(self.stream.schema))

    def run(self) -> None:
        """Run the models, save what was asked for, and print the results."""
        for warning in self.stream.warnings:
            say(f"river_okl: warning: {warning}")
        size = f", {self.size:,} samples" if self.size else ""
        head = [] if self.options.json else [f"{self.stream.name}: {self.stream.task}{size}"]
        head += [self.stream.note] if head and self.stream.note else []
        # A reader other than a terminal may have closed the pipe: run first, then print.
        if sys.stdout is not None and sys.stdout.isatty():
            print(*head, sep="\n", flush=True)
            head = []
        self._run()
        complete = all(result.complete for result in self.results)
        results = [result for result in self.results if complete or result.samples]
        if not results:
            raise KeyboardInterrupt
        if self.options.json:
            head = [report.as_json(self.stream, results, self.is_regression, complete, self.metrics)]
        else:
            if not complete:
                of = f" of {self.size:,}" if self.size else ""
                head.append(f"Interrupted: this table is partial, after {results[-1].samples:,}{of} samples")
            head.append(report.table(results, self.is_regression, self.metrics))
        print(*head, sep="\n")
        if not complete:
            raise KeyboardInterrupt

    def _run(self) -> None:
        """Get the results and write files before printing, which may fail."""
        try:
            if self.options.workers:
                self.results = self._on_workers()
            else:
                self._on_stream()
        except _InterruptedError:
            say(f"river_okl: interrupted: {self.options.predictions} is as it was before")
        finally:  # also if the predictions can't be moved into place
            if trained := [result for result in self.results if result.samples]:
                self._save(trained)

    def _on_stream(self) -> None:
        """Run all models test-then-train."""
        labels, kept = self._labels(), self.options.predictions and os.path.isfile(self.options.predictions)
        # A download prints a message, and stdout is for results.
        with (
            outputs.predictions(self.options.predictions, self.stream, list(self.models), labels) as write,
            Progress("samples", self.size) as progress,
            contextlib.redirect_stdout(sys.stderr),
        ):

            def finished(block: list[Sample], results: list[race.Contestant]) -> None:
                write(block, results)
                progress(len(block))

            results = race.race(
                self.models,
                itertools.islice(self.stream.samples, self.samples),
                regression=self.is_regression,
                block=max(1, min(1000, (self.size or 10**5) // 100)),
                metrics=list(self.metrics.values()),
                with_scores=bool(labels),
                inputs=self.inputs,
                finished=finished,
            )
            complete = all(result.complete for result in results)
            if complete:
                n = results[0].samples
                if not n:
                    raise UsageError(f"{self.stream.name} has no samples")
                if self.stream.schema is not None and n != self.size:
                    raise UsageError(
                        f"{self.stream.name} has changed while it was read: {n:,} samples instead of {self.size:,}"
                    )
            self.results = results
            if kept and not complete:
                raise _InterruptedError

    def _labels(self) -> list[Any] | None:
        """Return the labels whose probabilities a loaded model writes, [] if it has none; None for other runs."""
        if not self.options.load:
            return None
        if self.is_regression:
            return []
        (model,) = self.models.values()
        schema = self.stream.schema
        try:
            known = model.predict_proba_one(next(iter(self.stream.samples))[0])
        except NotImplementedError:
            return []
        if schema is None:
            return list(known)
        return [*schema.labels, *(y for y in map(schema.label_of, known) if y not in schema.labels)]

    def _on_workers(self) -> list[race.Contestant]:
        with contextlib.redirect_stdout(sys.stderr):
            for x, _ in itertools.islice(self.stream.samples, 1):
                self.inputs.whole(x)  # whether it has dates
            return race.on_workers(
                self.models,
                Again(lambda: itertools.islice(self.stream.samples, self.samples)),  # restarts for every model
                workers=self.options.workers,
                every=max(500, min(10_000, (self.size or 10**6) // (10 * self.options.workers))),
                inputs=self.inputs,
                regression=self.is_regression,
            )

    def _save(self, trained: list[race.Contestant]) -> None:
        """Save the model and the picture of these results."""
        if path := self.options.save:
            (result,) = trained
            pipeline = self.inputs.pipeline(result.model) if result.pipeline is None else result.pipeline
            if os.path.isfile(path) and not result.complete:
                path = outputs.partial(
                    path, self.options.data, self.options.load, self.options.predictions, self.options.plot
                )
                say(f"river_okl: interrupted: {self.options.save} is as it was before, the model so far is in {path}")
            river_okl.save(self._with_schema(pipeline), path)
        if self.options.plot:
            from river_okl import plot

            error = "mean absolute error" if self.is_regression else "error rate"
            figure = plot.learning_curves(trained, error=error)
            with outputs.written(self.options.plot) as file:
                figure.savefig(file, dpi=150, format=os.path.splitext(self.options.plot)[1][1:])


class _InterruptedError(Exception):
    """Raised if Ctrl-C has ended the run and a file would be replaced by one with only part of the samples."""


def _check(options: argparse.Namespace) -> None:
    """Raise, before anything is read, if options conflict or a file would be overwritten."""
    data = options.data if options.data != "-" and lookup.is_file(options.data) else None
    outputs.check(
        {"--data": data, "--load": options.load},
        {"--save": options.save, "--predictions": options.predictions, "--plot": options.plot},
    )
    if options.plot:  # an unusable file name fails before the benchmark, not after it
        try:
            import river_okl.plot  # noqa: F401
        except ImportError:
            raise UsageError("--plot needs matplotlib: pip install 'river_okl[plot]'") from None
        outputs.check_picture(options.plot)
    if options.workers and (options.metric or options.predictions or options.load):
        raise UsageError("--metric, --predictions and --load are not for --workers, which only sums up errors")
    if options.load:
        if options.models or options.budget:
            raise UsageError(f"--load {options.load} is the model: leave the MODEL and its --budget out")
        if given := [*_reading(options).of_tables(), *(["--task"] if options.task else [])]:
            raise UsageError(f"{given[0]}: the model knows its columns; leave the option out")
    elif options.encoding and not lookup.is_file(options.data):
        raise UsageError(f"--encoding is for files, and {options.data} is not a file")


def _reading(options: argparse.Namespace) -> Reading:
    return Reading(
        target=options.target,
        drop=tuple(options.drop),
        task=options.task,
        na=tuple(options.na),
        strings=tuple(options.string),
        decimal=options.decimal,
        date_format=options.date_format,
        encoding=options.encoding,
    )
