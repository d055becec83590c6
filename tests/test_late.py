"""Labels that come late: an expert is judged by what it said when it was asked."""

from __future__ import annotations

import copy
import datetime
import fractions
import itertools
import math
import pickle
import random

import numpy as np
import pandas as pd
import pytest
from river import dummy, evaluate, metrics, preprocessing

import river_okl
from river_okl._core.mixture.change import Change
from tests import streams
from tests.core.expansions import run_python
from tests.discovery import knowledge, learn, snapshot, task, without_predictions

HOUR = datetime.timedelta(hours=1)
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)

each_class = pytest.mark.parametrize("cls", [river_okl.OKLClassifier, river_okl.OKLRegressor])


def ask(model, x, key=None):
    predict = model.predict_proba_one if hasattr(model, "predict_proba_one") else model.predict_interval_one
    return predict(x, key=key)


def with_late(stream, delay):
    """Each sample, and the one whose label comes with it: ``delay`` samples after it, or None."""
    return zip(stream, itertools.chain([None] * delay, stream), strict=False)


def delayed(model, stream, delay, ask=ask):
    """Every prediction, and its label, which comes ``delay`` samples after it."""
    pairs = []
    for (x, y), late in with_late(stream, delay):
        pairs.append((ask(model, x), y))
        if late:
            model.learn_one(*late)
    return pairs


def small(cls, **options):
    return cls(budget=30 if cls is river_okl.OKLClassifier else 12, **options)


def taught(cls):
    """A model that knows two labels."""
    return learn(small(cls), [({"a": y, 0: 2.0}, y) for y in (0.0, 1.0, 1.0)])


# What it is for -------------------------------------------------------------------------------------------------------


def bursts(n, seed):
    """One sample in twenty is positive, in bursts of 50 to 200; the features say little."""
    rng, left = random.Random(seed), 0
    for _ in range(n):
        if left == 0 and rng.random() < 0.05 / 125 / 0.95:
            left = rng.randint(50, 200)
        y, left = left > 0, max(0, left - 1)
        yield {f"f{j}": rng.gauss(0.6 * y * (j < 3), 1) for j in range(5)}, y


def test_bursts_of_rare_labels_a_thousand_samples_late():
    """On the day of the labels those experts look best that follow the last labels, which say nothing of today's."""

    def log_loss(model):
        """Once the first opinions have been judged."""
        pairs = delayed(model, stream, 1000, lambda model, x: dict(model.predict_proba_one(x)))
        return -np.mean([math.log(max(p.get(y, 0.0), 1e-6)) for p, y in pairs[3000:]])

    losses = []
    for seed in range(1, 5):
        stream = [*bursts(9000, seed)]
        models = river_okl.OKLClassifier(), dummy.PriorClassifier(), river_okl.OKLClassifier(pending=0)
        losses.append([log_loss(model) for model in models])
    judged_then, base_rate, judged_today = np.mean(losses, axis=0)
    assert judged_then < 1.01 * base_rate < 0.7 * judged_today


def after_a_change(cls, change, delay, seed, **options):
    """Accuracies, or absolute errors, of blocks of 250 from the first new label on."""
    rng, stream = random.Random(seed), []
    for t in range(4000 + delay + 1500):
        x = {f"x{j}": rng.gauss(0, 1) for j in range(5)}
        y = x["x0"] * x["x1"] + x["x2"] / 2
        if t >= 4000 and change == "sign":
            y = -y
        elif t >= 4000 and change == "features":
            x = {"x0": x["x3"], "x1": x["x4"], "x2": x["x0"], "x3": x["x1"], "x4": x["x2"]}
        elif t >= 4000:
            x = {name: 10.0 * value + 50.0 for name, value in x.items()}
        stream.append((x, y > 0.0 if cls is river_okl.OKLClassifier else y + rng.gauss(0, 0.1)))
    pairs = delayed(cls(**options), stream, delay, lambda model, x: model.predict_one(x))[4000 + delay :]
    each = [p == y if cls is river_okl.OKLClassifier else abs(p - y) for p, y in pairs]
    return np.reshape(each, (-1, 250)).mean(axis=1)


@pytest.mark.parametrize(("change", "delay"), [("sign", 500), ("features", 100), ("units", 100)])
@each_class
def test_a_change_is_followed_as_soon_as_its_labels_come(cls, delay, change):
    """What was said is of the old concept for a whole delay."""

    def blocks(**options):
        return np.mean([after_a_change(cls, change, delay, seed, **options) for seed in (1, 2)], axis=0)

    found, today = blocks(), blocks(pending=0)
    if cls is river_okl.OKLClassifier:
        assert (found > today - 0.05).all()
    else:
        assert (found < 1.2 * today).all()


@pytest.mark.parametrize("delay", [100, 500])
@pytest.mark.parametrize("memory", [0.99, 0.9])
def test_intervals_of_late_targets_are_not_much_wider_than_the_targets(memory, delay):
    rng, model, known, late = np.random.default_rng(1), river_okl.OKLRegressor(), [], []
    errors, baseline, inside, ratios, y = 0.0, 0.0, [], [], 0.0
    for t in range(6000):
        y, x = memory * y + rng.normal(), dict(enumerate(rng.normal(size=3).tolist()))
        mean, (low, high) = model.predict_one(x, key=t), model.predict_interval_one(x, key=t)
        if len(known) > 200:
            errors, baseline = errors + abs(y - mean), baseline + abs(y - np.mean(known))
            inside.append(low <= y <= high)
            if t % 10 == 0:
                ratios.append((high - low) / np.subtract(*np.quantile(known, [0.95, 0.05])))
        late.append((x, y))
        if t >= delay:
            x, target = late[t - delay]
            model.learn_one(x, target, key=t - delay)
            known.append(target)
    assert max(ratios) < 2.5 and 0.8 < np.mean(inside) < 0.96
    assert errors < 1.11 * baseline


@each_class
def test_a_mini_batch_is_as_accurate_as_if_nobody_asked(cls):
    """Its rows are asked together, and learned one after the other."""
    pandas = pytest.importorskip("pandas")
    losses = []
    for options in ({}, {"pending": 0}):
        loss = 0.0
        for seed in range(4):
            rng, model = np.random.default_rng(seed), cls(**options)
            for _ in range(40):
                X = pandas.DataFrame(rng.normal(size=(100, 4)), columns=[*"abcd"])
                truth = X["a"] * X["b"] + X["c"]
                y = truth > 0.0 if cls is river_okl.OKLClassifier else truth
                found = model.predict_many(X)
                loss += float((found != y).sum() if cls is river_okl.OKLClassifier else (found - y).abs().sum())
                model.learn_many(X, y)
        losses.append(loss)
    assert losses[0] < 1.03 * losses[1]


@each_class
def test_labels_at_once_change_no_bit(cls):
    models = cls(), cls(pending=0)
    for x, y in streams.dense(task(cls), 400):
        assert ask(models[0], x) == ask(models[1], x)
        for model in models:
            model.learn_one(x, y)


@pytest.mark.parametrize("delay", [30, lambda x, y: 20 + (y > 0) * 15])
@each_class
def test_rivers_delays_need_no_setting(cls, delay):
    """It hands over copies, and may hand them over in another order."""
    model, metric = cls(), metrics.LogLoss() if cls is river_okl.OKLClassifier else metrics.MAE()
    stream = streams.dense(task(cls), 200)
    seen, learn_one = [], model.learn_one
    model.learn_one = lambda x, y: (learn_one(x, y), seen.append(model._f.pending.waiting))
    evaluate.progressive_val_score(stream, model, metric, delay=delay)
    assert max(seen) >= 19 and seen[-1] == 0, "all labels have found their opinions"


# What identifies a sample ---------------------------------------------------------------------------------------------


class Unwritten:
    def __repr__(self):
        raise KeyError("no repr")


SAME = {
    "names of strings": ({"a": 1.0, "b": 2.0}, {np.str_("a"): 1.0, "b": 2.0}),
    "names of numbers": ({0: 1.0, True: 2.0}, {np.int64(0): 1.0, 1.0: 2.0}),
    "names in tuples": ({("a", 1): 1.0, "b": 2.0}, {(np.str_("a"), 1.0): 1.0, "b": 2.0}),
    "names of large numbers": ({2**63: 1.0, 2**70: 2.0}, {float(2**63): 1.0, float(2**70): 2.0}),
    "zeros": ({"a": 0.0, "b": 2}, {"a": -0.0, "b": 2.0}),
    "strings": ({"a": "x", "b": 2.0}, {"a": np.str_("x"), "b": 2.0}),
    "gaps": ({"a": None, "b": 2.0}, {"a": math.nan, "b": 2.0}),
}
DIFFERENT = {
    "characters of two bytes": ({"a": "ab"}, {"a": "\u6261"}),
    "names of two bytes": ({"ab": 1.0}, {"\u6261": 1.0}),
    "a number as a name": ({1: 5.0}, {"1": 5.0}),
    "large numbers": ({np.int64(2**60 + 1): 5.0}, {np.int64(2**60 + 2): 5.0}),
    "numbers of one hash": ({-1: 5.0}, {-2: 5.0}),
    "a long name": ({"a": 1.0, 10**5000: 1.0}, {"a": 3.0}),
    "a name without a repr": ({"a": 1.0, Unwritten(): 1.0}, {"a": 3.0}),
}


@pytest.mark.parametrize("kind", SAME | DIFFERENT)
@each_class
def test_samples_are_the_same_if_the_model_takes_them_for_equal(cls, kind):
    asked, other = (SAME | DIFFERENT)[kind]
    for x, z in ((asked, other), (other, asked)):
        model = taught(cls)
        ask(model, x)
        for sample, left in (({"a": 5.0, 0: 5.0}, 1), (z, int(kind in DIFFERENT))):
            model.learn_one(sample, 1.0)
            assert model._f.pending.waiting == left


def odd_samples(n, seed=1):
    rng = random.Random(seed)
    for t in range(n):
        x = {"a": rng.gauss(0, 1), 7: rng.random(), ("t", 1): float(t % 3)}
        x |= {"color": rng.choice(["red", "blue", f"{t}"]), "size": None if rng.random() < 0.2 else "large"}
        x |= {"b": math.nan if rng.random() < 0.2 else rng.random()}
        yield x, rng.random() < 0.5


@each_class
def test_frames_and_dicts_are_the_same_samples(cls):
    pandas = pytest.importorskip("pandas")
    stream = streams.dense(task(cls), 120)
    one, many = small(cls), small(cls)
    for start in range(0, 120, 40):
        batch = stream[start : start + 40]
        X = pandas.DataFrame([x for x, _ in batch])
        for x, _ in batch:
            one.predict_one(x)
        many.predict_many(X)
        one.learn_stream(batch)
        many.learn_many(X, pandas.Series([y for _, y in batch]))
        assert snapshot(one) == snapshot(many)
        silent = learn(small(cls), stream[: start + 40])
        assert (knowledge(silent) == knowledge(one)) == (start == 0), "nothing was known when the first ones were asked"
    assert one._f.pending.n == 0


# Keys -----------------------------------------------------------------------------------------------------------------


@each_class
def test_keys_of_distinct_samples_change_nothing(cls):
    one, other = small(cls), small(cls)
    stream = [({**x, "t": float(t)}, y) for t, (x, y) in enumerate(streams.emerging(task(cls), 200))]
    for t, ((x, _), late) in enumerate(with_late(stream, 20)):
        assert ask(one, x) == ask(other, x, key=("row", t))
        if late:
            one.learn_one(*late)
            other.learn_one(*late, key=("row", float(t - 20)))  # which is equal
    assert other._f.pending.waiting == one._f.pending.waiting == 20


def test_progressive_validation_passes_keys():
    stream = [(x, y, {"key": t}) for t, (x, y) in enumerate(streams.dense(streams.CLASSIFICATION, 150))]
    model = preprocessing.StandardScaler() | river_okl.OKLClassifier(budget=30)
    evaluate.progressive_val_score(stream, model, metrics.LogLoss(), delay=20)
    assert model["OKLClassifier"]._f.pending.waiting == 0


class Order:
    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return self.number == other.number

    def __hash__(self):
        return hash(self.number)


@pytest.mark.parametrize(
    ("asked", "learned"),
    [
        *((Order, Order), (START.fromordinal, START.fromordinal), (float, int), (np.float64, fractions.Fraction)),
        (lambda t: START + t * HOUR, lambda t: pd.Timestamp(START + t * HOUR)),
        (lambda t: START + t * HOUR, lambda t: (START + t * HOUR).astimezone(datetime.timezone(HOUR))),
        (
            lambda t: ("row", START + t * HOUR),
            lambda t: ("row", (START + t * HOUR).astimezone(datetime.timezone(HOUR))),
        ),
    ],
)
def test_equal_keys_are_the_same(asked, learned):
    model = small(river_okl.OKLRegressor)
    model.learn_one({"a": 0.0}, 1.0)
    for t in range(1, 30):
        assert asked(t) == learned(t)
        ask(model, {"a": 1.0}, key=asked(t))
        ask(model, {"a": 2.0}, key=asked(100 + t))
        model.learn_one({"a": 1.0}, 1.0, key=learned(t))
        assert model._f.pending.waiting == t


@each_class
def test_a_key_is_hashable(cls):
    model = small(cls)
    with pytest.raises(TypeError, match=r"key is \['a'\]"):
        ask(model, {"x": 1.0}, key=["a"])
    with pytest.raises(TypeError, match="key is"):
        model.learn_one({"x": 1.0}, 1.0, key={})
    assert model._f.seen == 0


# Without delay --------------------------------------------------------------------------------------------------------


@each_class
def test_labels_at_once_need_no_memory(cls):
    model = small(cls)
    for x, y in streams.emerging(task(cls), 300):
        ask(model, x)
        model.predict_one(dict(x))
        model.learn_one(x, y)
    assert model._f.pending.room == 0


@each_class
def test_other_questions_do_not_make_a_label_late(cls):
    """What is learned right after it was asked is judged as if nothing else had been asked; nor do equal samples that
    were asked long ago matter, as labels come at once."""
    stream = streams.duplicates(task(cls), 300)
    model, silent = small(cls), small(cls)
    rng = random.Random(1)
    for t, (x, y) in enumerate(stream):
        if t > 2 and rng.random() < 0.3:
            ask(model, stream[rng.randrange(300)][0])
        ask(model, x)
        if rng.random() < 0.5:
            ask(model, {"new": 1.0 * t})
        model.learn_one(x, y)
        silent.learn_one(x, y)
    assert knowledge(model) == knowledge(silent)


def test_a_row_is_at_the_leaves_of_the_answer_that_it_was_given():
    """Of all trees that see the answer: late targets have another one than today's."""
    rng, model, waiting, compared = random.Random(5), river_okl.OKLRegressor(), [], 0
    for t in range(700):
        x = {"a": rng.gauss(0.0, 1.0)}
        model.predict_one(x)
        waiting.append((x, math.sin(3.0 * x["a"]) + 0.01 * t + rng.gauss(0.0, 0.3 + (x["a"] > 0.0))))
        if len(waiting) > 30:
            model.learn_one(*waiting.pop(0))
        if t < 660:
            continue
        memory = model._f.state()["memory"]
        values = memory["rows"]["values"][:, -1]  # of the last row: there is room for more
        for name in ("trees_of_answer", "trees_of_errors"):
            trees = memory[name]
            for k in range(len(trees["columns"])):
                if k == trees["grown"] % len(trees["columns"]):
                    continue  # it is being replaced
                leaf = 0
                for level in range(6):
                    node = 2**level - 1 + leaf
                    leaf = 2 * leaf + (values[trees["columns"][k, node]] > trees["thresholds"][k, node])
                assert trees["leaf"][k, -1] == leaf, (t, name, k)
                compared += trees["columns"][k].any() or leaf > 0
    assert compared > 100


# Room -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("pending", [0, 1, 100, 1024])
@each_class
def test_opinions_are_bounded_and_expire(cls, pending):
    stream = streams.dense(task(cls), 40)
    model = learn(small(cls, pending=pending), stream)
    before, most = model._raw_memory_usage, 0
    for t in range(3000):
        ask(model, {"a": float(t)})
        most = max(most, model._f.pending.n)
    assert most == pending and model._f.pending.room <= pending
    held = (4 * model._f.pending.length + 36 + 7) // 8 * 8 + 8  # in the hash table
    assert before + pending * held <= model._raw_memory_usage + (pending == 0) * held <= before + pending * held + 2500
    for t in range(pending + 2):
        model.learn_one(*stream[t % 40])
    assert model._f.pending.n == 0 and model._f.pending.room <= 8
    model._f._check()


def test_opinions_of_many_classes_are_bounded_in_bytes():
    model = river_okl.OKLClassifier(budget=40)
    for c in range(150):
        model.learn_one({"a": float(c)}, c)
    length = model._f.pending.length
    for t in range(1100):
        ask(model, {"a": 0.5 + t})
    assert model._f.pending.n == 4096 * 1024 // (4 * length) < 450
    model.learn_one({"a": -1.0}, 150)
    assert model._f.pending.n == 4096 * 1024 // (4 * model._f.pending.length)
    model._f._check()


# Saved, copied, merged, changed ---------------------------------------------------------------------------------------


@each_class
def test_opinions_are_saved_and_copied(cls, tmp_path):
    stream = streams.dense(task(cls), 160)
    model = small(cls)
    delayed(model, stream[:80], 20)
    river_okl.save(model, tmp_path / "model.okl")
    others = river_okl.load(tmp_path / "model.okl"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)
    assert model.clone()._f.pending.n == 0 < model._f.pending.waiting == 20
    for other in (model, *others):
        other.learn_stream(stream[60:80])
        assert other._f.pending.waiting == 0
    assert all(snapshot(other) == snapshot(model) for other in others)


def test_a_question_of_one_process_is_answered_in_another(tmp_path):
    """Hashes of strings differ between processes; those of samples do not."""
    path = tmp_path / "model.okl"
    program = f"""
        import river_okl
        from tests.test_late import odd_samples
        model = river_okl.OKLClassifier(budget=30)
        for t, (x, y) in enumerate(odd_samples(60)):
            if t < 40:
                model.learn_one(x, y)
            else:
                model.predict_one(x)
        river_okl.save(model, {str(path)!r})
    """
    run_python(program, PYTHONHASHSEED="1")
    model = river_okl.load(path)
    for left, (x, y) in zip(range(19, -1, -1), [*odd_samples(60)][40:], strict=True):
        model.learn_one(dict(reversed(x.items())), y)
        assert model._f.pending.waiting == left


@pytest.mark.parametrize("seed", range(4))
@each_class
def test_that_a_model_was_saved_changes_nothing(cls, seed):
    """Of few distinct samples, so that a label may belong to several questions; of which some are never answered."""
    rng, most = random.Random(seed), (1, 5, 40, 1024)[seed]
    model, saved, resumed = (small(cls, pending=most) for _ in range(3))
    xs = [{"a": 1.55}, {"b": -1.0, "c": 2.0}, {}]
    for t in range(180):
        x, y, action = xs[rng.randrange(len(xs)) if t % 60 < 20 else t // 60 % 3], int(rng.random() < 0.7), rng.random()
        assert ask(saved, {"a": 0.5}) == ask(resumed, {"a": 0.5}) == ask(model, {"a": 0.5}), t
        for each in (model, saved, resumed):
            if action < 0.8:
                ask(each, x)
        pickle.dumps(saved)
        resumed = pickle.loads(pickle.dumps(resumed))
        for each in (model, saved, resumed):
            if action < 0.4:
                each.learn_one(x, y)
            elif action > 0.7:
                each.learn_many(pd.DataFrame([x] * 5), pd.Series([y, 1, 1, y, 0]))
    assert snapshot(copy.deepcopy(model)) == snapshot(copy.deepcopy(saved)) == snapshot(copy.deepcopy(resumed))


@each_class
def test_a_merged_model_keeps_what_the_one_that_learns_has_said(cls):
    shards = [small(cls), small(cls)]
    for seed, shard in enumerate(shards):
        delayed(shard, streams.dense(task(cls), 100, seed=seed), 10)
    merged = river_okl.merge(shards)
    waiting = [each._f.pending.state()["identities"].tolist() for each in (merged, *shards)]
    assert waiting[0] and waiting[0] in waiting[1:]
    delayed(merged, streams.dense(task(cls), 30, seed=3), 10)
    merged._f._check()


@each_class
def test_damaged_opinions_are_rejected(cls):
    model = small(cls)
    delayed(model, streams.dense(task(cls), 60), 10)
    make, options, state = model._f.__reduce__()
    make(*options).restore(state)
    pending = state["pending"]
    n, length = pending["predictions"].shape

    def changed(name, at, value):
        part = pending[name].copy()
        part[at] = value
        return {name: part}

    bad = [
        changed("predictions", (0, 0), np.nan),
        changed("predictions", (0, 0), np.inf),
        changed("predictions", (1, length - 1), -np.inf),
        changed("seen", 0, -1),
        changed("seen", n - 1, 10_000),
        changed("units", (0, 0), np.nan),
        {"predictions": pending["predictions"].astype(float)},
        {"predictions": pending["predictions"][:, 1:]},
        {"predictions": pending["predictions"][1:]},
        {"identities": pending["identities"][1:]},
        {"identities": pending["identities"].astype(float)},
        {"taken": pending["taken"].astype(int)},
        {"late": 1},
        {name: np.repeat(part[:1], 2000, axis=0) for name, part in pending.items() if name != "late"},
    ]
    for change in bad:
        with pytest.raises(ValueError):
            make(*options).restore(state | {"pending": pending | change})
    make(*options).restore(state | {"pending": without_predictions(pending)})


# Random actions -------------------------------------------------------------------------------------------------------


class Questions:
    """The rule, written down as simply as possible: what was asked, when, and whether its label has come."""

    def __init__(self, most):
        self.most, self.seen, self.asked, self.last, self.content, self.late = most, 0, [], None, None, True
        self.keyed = False

    def look(self, content, identity=None):
        """Another sample is evaluated, or the same one under another key."""
        if self.last is not None and (self.content != content or identity not in (None, self.last)):
            self.put_aside()

    def put_aside(self):
        new = [self.last, self.seen] not in [each[:2] for each in self.asked]
        waits = not self.keyed or isinstance(self.last, str)  # once keys are used, only samples with a key
        if self.last is not None and self.seen and new and waits:
            self.asked = [*self.asked, [self.last, self.seen, False]][-self.most :]
        self.last = None

    def ask(self, content, key=None):
        identity = content if key is None else f"key {key}"
        self.look(content, identity)
        self.last, self.content = identity, content

    def learn(self, content, key=None):
        """The seen count of the opinions that judge it, or None: as today."""
        identity = content if key is None else f"key {key}"
        self.look(content, identity)
        current = self.last is not None
        if self.asked:
            self.put_aside()
        own = [each for each in self.asked if each[0] == identity]
        waiting = [each for each in own if each[1] < self.seen and not each[2]]
        today = [each for each in own if each[1] == self.seen]
        current = current or bool(today)
        taken = used = None
        if waiting and (self.late or not current):
            taken = used = waiting[0]
        elif current:
            taken = today[0] if today else None
        elif any(each[2] for each in own):
            taken = used = [each for each in own if each[2]][-1]
        self.keyed = self.keyed or (key is not None and (used is not None or not current))
        if used and not current:
            self.late = True
        elif current and not used:
            self.late = False
        if taken and not used and taken is self.asked[-1]:
            self.asked.pop()
        elif taken:
            taken[2] = True
            asked = self.asked
            while asked and asked[0][2] and (asked[0][1] < taken[1] or all(each[2] for each in asked)):
                asked.pop(0)
        self.seen += 1
        while self.asked and self.asked[0][1] < self.seen - self.most:
            self.asked.pop(0)
        self.last = None
        return used[1] if used else None


@pytest.mark.parametrize("seed", range(2))
@each_class
def test_random_actions(cls, seed):
    rng = random.Random(seed)
    most = rng.choice([1, 5, 40])
    model, rule = small(cls, pending=most), Questions(most)
    xs = [x for x, _ in streams.dense(task(cls), 12, seed=seed)] + [x for x, _ in odd_samples(12, seed)]
    xs += [{}, {"a": None}, {"a": 0.0}]
    labels, of_two = [0, 1], True
    model.learn_one(xs[0], 0), model.learn_one(xs[1], 1)
    rule.learn(0), rule.learn(1)
    waiting = []
    for t in range(120):
        i = rng.randrange(len(xs))
        key = rng.choice([None, None, 0, 1, 2, ("a", 1.0)])
        action = rng.random()
        if action < 0.5:
            ask(model, dict(reversed(xs[i].items())) if rng.random() < 0.3 else xs[i], key)
            rule.ask(i, key)
            waiting.append((i, key))
        elif action < 0.9:
            if waiting and rng.random() < 0.8:
                i, key = waiting.pop(0 if rng.random() < 0.7 else rng.randrange(len(waiting)))
            if key is not None and rng.random() < 0.5:
                i = rng.randrange(len(xs))  # the sample has changed since
            y = rng.choice(labels)
            if cls is river_okl.OKLClassifier and rng.random() < 0.02:
                y = len(labels)
                labels.append(y)
                rule.put_aside()
                if of_two:
                    of_two, rule.asked = False, []
            model.learn_one(xs[i], y, rng.choice([1.0, 0.5, 0.0, 8.0]), key=key)
            rule.learn(i, key)
        elif action < 0.95:
            model.contributions_one(xs[i], samples=2)
            rule.put_aside()
        else:
            model = pickle.loads(pickle.dumps(model))
            rule.put_aside()
        model._f._check()
        state = copy.deepcopy(model)._f.pending.state()  # which asks for the state, as pickling does
        rule.put_aside()
        found = [*zip(state["seen"].tolist(), state["taken"].tolist(), strict=True)]
        assert found == [(s, gone) for _, s, gone in rule.asked], t
        if cls is river_okl.OKLClassifier:
            assert np.isfinite([*ask(copy.deepcopy(model), xs[i]).values()]).all()


def test_the_losses_of_a_change_follow_the_unit_of_the_target():
    change = Change(5.0, 0.02)
    state = {"fast": 1.0, "mean": 2.0, "variance": 3.0, "bar": 4.0, "seen": 300, "left": 7}
    change.restore(state)
    change.change_unit(10.0)
    assert change.state() == {**state, "fast": 10.0, "mean": 20.0, "variance": 300.0, "bar": 40.0}
