"""examples/capymoa_learner.py, and docs/capymoa.md, which shows it: models of River in CapyMOA equal those in River.

CapyMOA starts Java when it is imported, so it is imported in a process of its own only.
"""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from river import datasets, preprocessing

import river_okl

HERE = pathlib.Path(__file__).parent.parent
PROGRAM, PAGE = HERE / "examples" / "capymoa_learner.py", HERE / "docs" / "capymoa.md"

needs_capymoa = pytest.mark.skipif(
    importlib.util.find_spec("capymoa") is None or not (shutil.which("java") or os.environ.get("JAVA_HOME")),
    reason="needs CapyMOA (pip install capymoa) and a Java runtime",
)

# Prints what the learners are given, and what they predict, as JSON.
CHECK = """
import json
import sys

sys.path.insert(0, "examples")
import numpy as np
from capymoa.core import LabeledInstance
from capymoa.evaluation import prequential_evaluation
from capymoa.stream import NumpyStream, Schema
from capymoa_learner import RiverClassifier, RiverRegressor, as_dict
from river import preprocessing

import river_okl

found = {}
values = {"kind": ["red", "blue"], "y": ["no", "yes"]}
schema = Schema.from_custom(["a", "y", "kind"], target="y", categories=values, name="mixed")
rows = [["1.5", "yes", "blue"], ["?", "no", "red"], ["2", "no", "?"]]
instances = [LabeledInstance.from_csv_row(schema, row) for row in rows]
found["dicts"] = [repr(as_dict(instance)) for instance in instances]
learner = RiverClassifier(schema)
found["untrained"] = [learner.predict(instances[0]), learner.predict_proba(instances[0])]
for instance in instances:
    learner.train(instance)
found["trained"] = [learner.predict_proba(instance).tolist() for instance in instances]

rng = np.random.default_rng(1)
x = rng.normal(size=(300, 3))
y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2]
stream = NumpyStream(x, y, target_type="numeric")
learner = RiverRegressor(stream.get_schema())
found["targets"] = prequential_evaluation(stream, learner, store_predictions=True).predictions().tolist()
stream = NumpyStream(x, (y > 0).astype(int))
model = preprocessing.StandardScaler() | river_okl.AhpatronClassifier()
learner = RiverClassifier(stream.get_schema(), model)
found["labels"] = prequential_evaluation(stream, learner, store_predictions=True).predictions().tolist()
found["samples"] = [x.tolist(), y.tolist()]
print("found", json.dumps(found))
"""


def output(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=600, cwd=HERE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@needs_capymoa
def test_the_program_has_the_accuracy_of_the_model():
    model, right = river_okl.OKLClassifier(), 0
    for x, y in datasets.Bananas().take(2000):
        right += (model.predict_one(x) or False) == y  # CapyMOA counts None as the first label
        model.learn_one(x, y)
    ours, theirs = output(str(PROGRAM)).splitlines()
    assert ours == f"RiverClassifier: accuracy {100 * right / 2000:.2f} %"
    assert re.fullmatch(r"AdaptiveRandomForest\w*: accuracy \d\d\.\d\d %", theirs)


@needs_capymoa
def test_learners_predict_as_their_models_do():
    found = json.loads(output("-c", CHECK).partition("found ")[2])
    nan = float("nan")
    samples = [({"a": 1.5, "kind": "blue"}, 1), ({"a": nan, "kind": "red"}, 0), ({"a": 2.0, "kind": nan}, 0)]
    assert found["dicts"] == [repr(x) for x, _ in samples]
    assert found["untrained"] == [None, None]
    model = river_okl.OKLClassifier()
    model.learn_stream(samples)
    assert found["trained"] == [[model.predict_proba_one(x)[y] for y in (0, 1)] for x, _ in samples]

    stream = [({str(i): v for i, v in enumerate(x)}, y) for x, y in zip(*found["samples"], strict=True)]
    regressor, classifier = river_okl.OKLRegressor(), preprocessing.StandardScaler() | river_okl.AhpatronClassifier()
    targets, labels = [], []
    for x, y in stream:
        targets.append(regressor.predict_one(x))
        labels.append(int(classifier.predict_one(x) or 0))
        regressor.learn_one(x, y)
        classifier.learn_one(x, int(y > 0))
    assert found["targets"] == targets
    assert [y or 0 for y in found["labels"]] == labels


def test_the_page_shows_the_program():
    head, main = PROGRAM.read_text(encoding="utf-8").split('if __name__ == "__main__":\n')
    shown = re.findall(r"(?:^    .*\n(?:\n(?=\n*    ))*)+", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(shown) == 4
    for block in shown:
        assert textwrap.dedent(block).strip() in head + textwrap.dedent(main)
