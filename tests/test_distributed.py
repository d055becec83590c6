"""Rounds on several workers: results, errors, and lost Ray workers."""

from __future__ import annotations

import itertools
import os
import shlex
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from river import compose, datasets, preprocessing

import river_okl
from river_okl import checkpoint, distributed
from tests import streams

KERNEL = river_okl.kernels.RBF(0.5)
STREAM = streams.dense("classification", 400)


@pytest.fixture(autouse=True)
def short_warm_up(monkeypatch):
    monkeypatch.setattr(distributed, "WARM_UP", 20)


def bpa(budget=20):
    return river_okl.BPAClassifier(KERNEL, budget=budget)


def trained(model=None, data=(STREAM,), workers=3, every=20, engine=None, **options):
    """Rounds in this process, as on Ray's workers."""
    model, engine = model or bpa(), engine or distributed.InProcess()
    return distributed.rounds(model, [iter(each) for each in data], workers, every, engine, **options)


def torn(samples, error):
    yield from samples
    raise error


def write_csv(path, *more):
    """The stream, with two of its features."""
    rows = (f"{x['x0']},{x['x1']},{'yes' if y > 0 else 'no'}" for x, y in STREAM)
    path.write_text("\n".join(["a,b,label", *rows, *more]))


def test_rounds(monkeypatch):
    model = bpa()
    result = trained(model)
    assert model.n_support_vectors == 0, "it stays as it is"
    assert [each.samples for each in result.rounds] == [20] + 6 * [60] + [20]
    assert result.complete and result.samples == 400
    assert result.model._t == 400
    assert result.metric == pytest.approx(sum(each.metric * each.samples for each in result.rounds) / 400)
    assert all(each.bytes > 1000 and each.seconds >= each.merging >= 0.0 for each in result.rounds)
    assert checkpoint.dumps(trained().model) == checkpoint.dumps(result.model)
    monkeypatch.setattr(distributed, "WARM_UP", 100)
    sizes = [each.samples for each in trained().rounds]
    assert sizes == [100] + 5 * [60], "all start from as much, however short rounds"


def test_one_worker_equals_sequential_learning():
    """One worker's chunks are the stream."""
    model, right = bpa(), 0
    for x, y in STREAM:
        right += model.predict_one(x) == y
        model.learn_one(x, y)
    result = trained(workers=1)
    assert checkpoint.dumps(result.model) == checkpoint.dumps(model)
    assert result.metric == pytest.approx(right / 400), "each sample is predicted before it is learned"


def test_a_pipeline_of_scalers():
    model = preprocessing.StandardScaler() | preprocessing.TargetStandardScaler(river_okl.BPARegressor(KERNEL))
    assert trained(model, data=[streams.dense("regression", 90)]).metric < 1.0


LABELLED = {
    "two": (river_okl.OKLClassifier, streams.dense("classification", 1200)),
    "five": (
        river_okl.OKLClassifier,
        [
            (x, sum(x["x0"] > cut for cut in (-1, -0.4, 0.4, 1)))
            for x, _ in streams.dense("classification", 1200, seed=3)
        ],
    ),
    "number": (river_okl.OKLRegressor, streams.dense("regression", 1200)),
}


@pytest.mark.parametrize(("every", "sized"), [(100, False), (10_000, True)])
@pytest.mark.parametrize("kind", LABELLED)
def test_shards_of_one_label_each(kind, every, sized):
    """Sorted shards give a model about as accurate as mixed ones; with their sizes, whatever these are."""
    cls, stream = LABELLED[kind]
    train, test = stream[:900], stream[900:]
    if kind == "number":  # of which x3 says nothing
        ordered = sorted(train, key=lambda sample: sample[1])
        shards = [sorted(ordered[at : at + 225], key=lambda sample: sample[0]["x3"]) for at in range(0, 900, 225)]
    else:
        shards = [[sample for sample in train if sample[1] == label] for label in sorted({y for _, y in train})]
        least = 900 if sized else min(map(len, shards))
        shards = [shard[:least] for shard in shards]
    n = len(shards)

    def error(shards):
        sizes = list(map(len, shards)) if sized else ()
        model = trained(cls(), shards, workers=n, every=every, sizes=sizes).model
        wrong = [(abs(model.predict_one(x) - y) if kind == "number" else model.predict_one(x) != y) for x, y in test]
        return sum(wrong) / len(test)

    mixed = [sample for turn in itertools.zip_longest(*shards) for sample in turn if sample is not None]
    assert error(shards) < 1.15 * error([mixed[i::n] for i in range(n)]) + 0.02


@pytest.mark.parametrize("sizes", [(1000, 0, 3), (0, 0, 0), (None, 5, 5)])
def test_sizes_may_be_wrong(sizes, tmp_path):
    """Every sample is learned once, and a model that resumes has the same bits."""
    shards = [STREAM[:150], STREAM[150:160], STREAM[160:]]
    result = trained(data=shards, workers=3, sizes=sizes)
    assert result.samples == result.model._t == 400
    path = tmp_path / "model.okl"
    interrupted = torn(shards[2][:100], KeyboardInterrupt())
    first = trained(data=[*shards[:2], interrupted], workers=3, sizes=sizes, checkpoint=path)
    assert 0 < first.samples < 400
    again = trained(data=shards, workers=3, sizes=sizes, checkpoint=path)
    assert checkpoint.dumps(again.model) == checkpoint.dumps(result.model)


def test_resuming_from_a_checkpoint(tmp_path):
    path = tmp_path / "model.okl"
    first = trained(data=[torn(STREAM[:250], KeyboardInterrupt())], checkpoint=path)
    assert not first.complete and first.samples < 250
    assert checkpoint.dumps(river_okl.load(path)) == checkpoint.dumps(first.model), "the model that was merged last"
    assert checkpoint.dumps(trained(checkpoint=path).model) == checkpoint.dumps(trained().model)
    with pytest.raises(ValueError, match=r"budget=20.*budget=30|budget=30.*budget=20"):
        trained(bpa(budget=30), checkpoint=path)
    river_okl.save(bpa(), path)
    with pytest.raises(ValueError, match="does not belong to the model"):
        trained(checkpoint=path)


@pytest.mark.parametrize("at", [0, 7, 80, 105, 400])
@pytest.mark.parametrize("n", [1, 3])
def test_resuming_after_a_data_error_is_identical(tmp_path, at, n):
    """Rounds begin where they would have: the model is bit-identical."""
    shards = [STREAM[i::n] for i in range(n)]
    path = tmp_path / "model.okl"
    with pytest.raises(distributed.ShardError, match=rf"^shard {n - 1}, row {at // n}: the disk is away") as raised:
        trained(data=[*shards[:-1], torn(shards[-1][: at // n], OSError("the disk is away"))], checkpoint=path)
    undisturbed = trained(data=shards)
    result = trained(data=shards, checkpoint=path)
    assert [each.samples for each in result.rounds] == [each.samples for each in undisturbed.rounds]
    assert checkpoint.dumps(result.model) == checkpoint.dumps(undisturbed.model)
    assert raised.value.model._t == sum(each.samples for each in raised.value.rounds)  # the last of them is not saved
    assert n > 1 or raised.value.model._t == at, "what could be read was learned"


def test_errors_name_shard_row_and_feature():
    bad = [*STREAM[:130], ({**STREAM[130][0], "x2": float("nan")}, 1.0), *STREAM[131:]]
    with pytest.raises(distributed.ShardError, match=r"^shard 0, row 130: .*'x2'") as raised:
        trained(data=[bad])
    assert (raised.value.shard, raised.value.row) == (0, 130)
    assert raised.value.model._t == sum(each.samples for each in raised.value.rounds) == 80
    with pytest.raises(distributed.ShardError, match=r"^shard 1, row 30: .*'x2'"):
        trained(data=[STREAM[:100], bad[100:]], workers=2)


def test_files_and_datasets(tmp_path):
    path = tmp_path / "data.csv"
    write_csv(path)
    opened = distributed.source(path, "label")
    assert opened.size == len(STREAM)
    assert trained(data=[opened.samples]).model._labels.names == [False, True], "DuckDB reads no and yes so"
    with pytest.raises(ValueError, match="no column 'c'"):
        distributed.source(path, "c")
    write_csv(path, "oops,1,yes")
    with pytest.raises(ValueError, match=r"except for 'oops' \(1 times\), first in line"):
        distributed.source(path, "label")
    with pytest.raises(ValueError, match="target is None; name the column of the file"):
        distributed.source(path, None)
    assert distributed.source(datasets.Bananas(), None).size == 5300

    class Dataset:
        def iter_rows(self):
            return ({**x, "y": y} for x, y in STREAM)

    assert list(distributed.source(Dataset(), "y").samples) == STREAM
    with pytest.raises(ValueError, match="target is None; name the column of the dataset"):
        distributed.source(Dataset(), None)


def test_a_target_that_does_not_suit_the_model_is_named():
    with pytest.raises(distributed.ShardError, match=r"row 2: the label is 0.5, .*OKLRegressor"):
        trained(river_okl.OKLClassifier(), data=[[({"a": 1.0}, y) for y in (1.0, 0.0, 0.5)]])


def test_unmergeable_models_raise_before_learning():
    with pytest.raises(TypeError, match="POMDRClassifier does not merge"):
        trained(river_okl.POMDRClassifier(), data=[iter([])])
    with pytest.raises(TypeError, match="OKLDetector does not predict"):
        trained(river_okl.OKLDetector(), data=[iter([])])


def test_any_error_of_a_step_names_its_row(tmp_path):
    with pytest.raises(distributed.ShardError, match=r"row 1: KeyError\('x0'\)"):
        trained(compose.Select("x0") | bpa(), data=[[STREAM[0], ({"x1": 1.0}, True)]])
    trained(preprocessing.StandardScaler() | bpa(budget=5), checkpoint=tmp_path / "m.okl")
    with pytest.raises(ValueError, match=r"m.okl holds a model with other parameters: Pipeline.*budget=5"):
        trained(preprocessing.StandardScaler() | bpa(budget=7), checkpoint=tmp_path / "m.okl")


@pytest.mark.parametrize("name", ["ray", "threadpoolctl"])
def test_the_error_without_ray_names_the_package(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)
    for other in {"ray", "threadpoolctl"} - {name}:
        monkeypatch.setitem(sys.modules, other, sys)
    with pytest.raises(ImportError, match=rf"needs {name}: pip install 'river_okl\[ray\]'"):
        distributed.train(river_okl.BPAClassifier(), STREAM)


def test_predictions_of_batches(tmp_path):
    model = trained().model
    path = tmp_path / "model.okl"
    river_okl.save(model, path)
    names = list(STREAM[0][0])
    batch = {name: np.array([x[name] for x, _ in STREAM]) for name in names} | {"id": np.arange(400)}
    predictor = distributed.Predictor(path, features=names, probabilities=True)
    found = predictor(batch)
    assert found["prediction"].tolist() == [model.predict_one(x) for x, _ in STREAM]
    assert found["probability of 1.0"].tolist() == [model.predict_proba_one(x)[1.0] for x, _ in STREAM]
    assert found["id"] is batch["id"]
    pd = pytest.importorskip("pandas")
    frame = predictor(pd.DataFrame(batch))
    assert frame["prediction"].tolist() == found["prediction"].tolist()


# Ray itself -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ray():
    pytest.importorskip("ray", reason="ray is not installed: pip install 'river_okl[ray]'")
    os.environ["RAY_worker_niceness"] = "0"  # noqa: SIM112 - on shared machines Ray's default of 15 would make tests wait
    import ray

    ray.init(num_cpus=2, include_dashboard=False, logging_level="error", object_store_memory=2**27)
    yield ray
    ray.shutdown()


class Deadly(float):
    """A number that kills the first worker that unpickles it."""

    def __new__(cls, value, path):
        found = super().__new__(cls, value)
        found.path = path
        return found

    def __reduce__(self):
        return _survived, (float(self), self.path)


def _survived(value, path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return value
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_predictions_over_a_dataset_of_ray(ray, tmp_path):
    pytest.importorskip("pyarrow", reason="Ray Data needs pyarrow")
    import ray.data

    model = trained().model
    river_okl.save(model, tmp_path / "model.okl")
    ray.data.DataContext.get_current().enable_progress_bars = False
    rows = [{**x, "id": i} for i, (x, _) in enumerate(STREAM[:60])]
    found = ray.data.from_items(rows, override_num_blocks=2).map_batches(
        distributed.Predictor,
        fn_constructor_args=[str(tmp_path / "model.okl")],
        fn_constructor_kwargs={"features": list(STREAM[0][0])},
        concurrency=1,
        num_cpus=0.5,
    )
    predictions = {row["id"]: row["prediction"] for row in found.take_all()}
    assert predictions == {i: model.predict_one(x) for i, (x, _) in enumerate(STREAM[:60])}


def test_the_command_of_the_page_runs(ray, tmp_path, monkeypatch):
    """The shell command of docs/scaling-out.md, on a small file."""
    page = (Path(__file__).parent.parent / "docs" / "scaling-out.md").read_text(encoding="utf-8")
    at = "    .venv/bin/"
    (command,) = (shlex.split(line.removeprefix(at)) for line in page.splitlines() if line.startswith(at))
    write_csv(tmp_path / "big.csv")
    monkeypatch.chdir(tmp_path)
    assert command[:2] == ["python", "-c"]
    exec(command[2], {})
    assert river_okl.load("model.okl")._f.seen == 400


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_lost_workers_do_not_change_the_result(ray, tmp_path):
    """Two die during rounds: the result is bit-identical to that of one process without Ray."""
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    try:
        stream = list(STREAM)
        for row in (110, 250):
            x, y = stream[row]
            stream[row] = ({**x, "x0": Deadly(x["x0"], str(tmp_path / f"killed-{row}"))}, y)
        result = distributed.train(bpa(), stream, workers=2, every=50)
    finally:
        ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed-110", "killed-250"]
    expected = trained(workers=2, every=50)
    assert checkpoint.dumps(result.model) == checkpoint.dumps(expected.model)
    assert [each.metric for each in result.rounds] == [each.metric for each in expected.rounds]
