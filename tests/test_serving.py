"""examples/serve.py, and docs/serving.md, which shows it: a service that learns, is killed, and resumes."""

from __future__ import annotations

import ast
import concurrent.futures
import contextlib
import http.client
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys

import pytest

import river_okl

HERE = pathlib.Path(__file__).parent.parent
PROGRAM, PAGE = HERE / "examples" / "serve.py", HERE / "docs" / "serving.md"
WAIT = 120  # seconds after which a service that hangs is an error


class Running:
    """The program in a process of its own, on a free port."""

    def __init__(self, checkpoint, every):
        command = [sys.executable, str(PROGRAM), str(checkpoint), "--port", "0", "--every", str(every)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address, _, status = self.process.stdout.readline().partition(" ")  # it listens when it has printed this
        self.port, self.status = int(address.rpartition(":")[2]), ast.literal_eval(status)

    def send(self, path, content=None):
        """The status and the answer: of a POST if there is content, otherwise of a GET."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT)
        with contextlib.closing(connection):
            body = content if content is None or isinstance(content, str) else json.dumps(content)
            connection.request("GET" if body is None else "POST", path, body)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def ask(self, path, **content):
        status, answer = self.send(path, content)
        assert status == 200, answer
        return answer


@contextlib.contextmanager
def service(checkpoint, every=100):
    running = Running(checkpoint, every)
    try:
        yield running
    finally:
        running.process.kill()
        running.process.communicate()


def orders(n, seed=1):
    rng = random.Random(seed)
    for _ in range(n):
        x = {"amount": rng.gauss(20.0, 5.0), "shop": rng.choice("ABC"), "age": rng.choice([None, rng.random()])}
        yield x, "open" if x["amount"] > 22 or x["shop"] == "C" else "paid"


def probabilities(running, xs):
    return [running.ask("/predict", x=x)["probabilities"] for x in xs]


def test_a_killed_service_resumes_from_its_checkpoint(tmp_path):
    """Labels arrive ten samples late, with keys; 250 are learned, 200 of them are in the checkpoint."""
    stream, fresh = list(orders(250)), [x for x, _ in orders(20, seed=2)]
    model, learned = river_okl.OKLClassifier(), 0
    with service(tmp_path / "orders.okl") as running:
        assert running.status == {"learned": 0, "saved": 0}
        for t in range(len(stream) + 10):
            if t < len(stream):
                found = running.ask("/predict", x=stream[t][0], key=t)["probabilities"]
                assert found == model.predict_proba_one(stream[t][0], key=t)
            if t >= 10:
                x, y = stream[t - 10]
                found = running.ask("/learn", x=x, y=y, key=t - 10)
                model.learn_one(x, y, key=t - 10)
                learned += 1
                assert found == {"learned": learned, "saved": learned // 100 * 100}
                if learned == 200:
                    checkpoint = river_okl.dumps(model)
        assert probabilities(running, fresh) == [model.predict_proba_one(x) for x in fresh]
        running.process.kill()
        running.process.wait(WAIT)
    model = river_okl.loads(checkpoint)
    with service(tmp_path / "orders.okl") as running:
        assert running.status == {"learned": 200, "saved": 200}
        for t in range(200, 250):
            x, y = stream[t]
            running.ask("/learn", x=x, y=y, key=t)
            model.learn_one(x, y, key=t)
        assert probabilities(running, fresh) == [model.predict_proba_one(x) for x in fresh]
        assert running.send("/") == (200, {"learned": 250, "saved": 200})


@pytest.mark.skipif(os.name != "posix", reason="Windows ends a process without a signal")
def test_a_service_that_is_asked_to_end_saves_its_model(tmp_path):
    with service(tmp_path / "orders.okl") as running:
        for x, y in orders(30):
            running.ask("/learn", x=x, y=y)
        running.process.terminate()
        assert running.process.wait(WAIT) == 0
    with service(tmp_path / "orders.okl") as running:
        assert running.status == {"learned": 30, "saved": 30}


def test_clients_at_once(tmp_path):
    """Every label is counted, and the checkpoint has as many as it says."""

    def work(seed):
        for x, y in orders(25, seed):
            running.ask("/predict", x=x)
            running.ask("/learn", x=x, y=y)

    with service(tmp_path / "orders.okl", every=10) as running, concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
        assert running.send("/") == (200, {"learned": 100, "saved": 100})
    assert river_okl.load(tmp_path / "orders.okl")["learned"] == 100


@pytest.mark.parametrize(
    ("path", "content", "status", "error"),
    [
        ("/learn", {"x": {"amount": "many", "n": [1]}, "y": "paid"}, 400, "feature 'n' is"),
        ("/learn", {"x": {"amount": 1.0}, "y": None}, 400, "the label is None"),
        ("/learn", {"x": {"amount": 1.0}}, 400, "'y'"),
        ("/learn", {"x": {"amount": 1.0}, "y": "paid", "key": []}, 400, "key is"),
        ("/learn", '{"x": {"amount": 1e999}, "y": "paid"}', 400, "feature 'amount' is inf"),
        ("/learn", '{"x": ', 400, "Expecting value"),
        ("/learn", "", 404, "POST"),
        ("/predict", [], 400, "mapping"),
        ("/forget", {}, 404, "/predict or /learn"),
    ],
)
def test_an_invalid_request_changes_nothing(path, content, status, error, trained):
    running, before = trained
    found, answer = running.send(path, content)
    assert found == status and error in answer["error"]
    assert (running.send("/"), running.ask("/predict", x={"amount": 20.0})) == before


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    with service(tmp_path_factory.mktemp("service") / "orders.okl") as running:
        for x, y in orders(20):
            running.ask("/learn", x=x, y=y)
        yield running, (running.send("/"), running.ask("/predict", x={"amount": 20.0}))


def test_the_page_shows_the_program_and_its_answers(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    (shown,) = re.findall(r"(?:^    class Service.*\n)(?:^(?:    .*)?\n)*", page, re.M)
    assert re.sub(r"^    ", "", shown, flags=re.M).strip() in PROGRAM.read_text(encoding="utf-8")
    session = re.findall(r"^\$ curl localhost:8000(.*)\n(.*)$", page, re.M)
    assert len(session) >= 5
    with service(tmp_path / "model.okl") as running:
        assert f"\nhttp://127.0.0.1:8000 {running.status}\n" in page
        for command, expected in session:
            path, *content = shlex.split(command) or ["/"]
            _, answer = running.send(path, *content[1:])
            if "probabilities" in answer:
                answer["probabilities"] = {y: round(p, 3) for y, p in answer["probabilities"].items()}
            assert answer == json.loads(expected), command
