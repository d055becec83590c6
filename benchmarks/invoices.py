"""Labels that come back in a biased order: ``python -m benchmarks.invoices``.

2,466 invoices (`streams/invoices.csv` in `RIVER_DATA`), in the order of their dates; the label, whether it was paid
late, is known on the day when it was settled. Log-loss of all predictions, clipped at 1e-4 (log 2 until both labels
have been seen), with the labels at once, as they come, and in cohorts (`LateLabels`) of 60 days. Logistic regression is
behind a StandardScaler and a one-hot encoder.
"""

from __future__ import annotations

import csv
import datetime
import math
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from river import compose, linear_model, preprocessing

import river_okl
from benchmarks import runner
from river_okl import Dates, LateLabels

DATES = "InvoiceDate", "DueDate", "PaperlessDate"
AGE = datetime.timedelta(days=60)
Sample = dict[str, Any]


def day(text: str) -> datetime.date:
    return datetime.datetime.strptime(text, "%m/%d/%Y").date()


def invoices(path: pathlib.Path) -> Iterator[tuple[datetime.date, datetime.date, Sample, bool]]:
    """Date, day of the label, sample and label, in the order of the dates."""
    with path.open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: day(row["InvoiceDate"]))
    for row in rows:
        x: Sample = {name: row[name] for name in ("countryCode", "customerID", "Disputed", "PaperlessBill")}
        x |= {"InvoiceAmount": float(row["InvoiceAmount"])} | {name: day(row[name]) for name in DATES}
        yield x["InvoiceDate"], day(row["SettledDate"]), x, float(row["DaysLate"]) > 0.0


def without_dates(x: Sample) -> Sample:
    return {name: value for name, value in x.items() if name not in DATES}


def days(x: Sample) -> Sample:
    """Each date as the days since 1970 alone."""
    return {name: value for name, value in Dates().transform_one(x).items() if name.endswith("_days") or name in x}


def loss(
    model: Any, stream: Sequence[tuple[datetime.date, datetime.date, Sample, bool]], queue: LateLabels | None
) -> float:
    """Without a queue every label comes at once."""
    events = [(time, 0, i) for i, (time, *_) in enumerate(stream)]
    events += [(settled, 1, i) for i, (_, settled, *_) in enumerate(stream)]
    total = 0.0
    for time, answered, i in sorted(events):
        x, y = stream[i][2:]
        if answered and queue is not None:
            queue.label(i, y)
        if not answered:
            p = model.predict_proba_one(x)
            total -= math.log(max(p[y], 1e-4) if len(p) == 2 else 0.5)
            if queue is None:
                model.learn_one(x, y)
            else:
                queue.ask(i, x, time)
        for _, *pair in queue.due(time) if queue is not None else ():
            model.learn_one(*pair)
    return total / len(stream)


def logistic() -> Any:
    numbers = compose.SelectType(float, int) | preprocessing.StandardScaler()
    return (numbers + (compose.SelectType(str) | preprocessing.OneHotEncoder())) | linear_model.LogisticRegression()


def main(argv: Sequence[str] | None = None) -> None:
    options = runner.parser("invoices", __doc__.splitlines()[0]).parse_args(argv)
    path = pathlib.Path(os.environ.get("RIVER_DATA", ".")) / "streams" / "invoices.csv"
    if not path.is_file():
        print(f"invoices: {path} is not there")
        return
    stream, rows = [*invoices(path)], []
    features: dict[str, Callable[[Sample], Sample]] = {
        "without dates": without_dates, "each date as `t_days`": days,
        "`Dates(categories=False)`": Dates(categories=False).transform_one, "`Dates()`": Dates().transform_one,
    }  # fmt: skip
    models: dict[str, Callable[[], Any]] = {
        "OKL": river_okl.OKLClassifier, "OKL, pending=0": lambda: river_okl.OKLClassifier(pending=0),
        "LogisticRegression": logistic,
    }  # fmt: skip
    for name, made in models.items():
        for shown, encode in features.items():
            encoded = [(time, settled, encode(x), y) for time, settled, x, y in stream]
            losses = [loss(made(), encoded, queue) for queue in (None, LateLabels(), LateLabels(AGE))]
            rows.append([name, shown, *(f"{each:.3f}" for each in losses)])
    report = runner.Report.of(__doc__, options.output / "invoices.md")
    head = ["model", "features", "at once", "as labels come", "in cohorts"]
    report.write("Log-loss", f"{runner.table(head, rows)}\n\nMeasured at {runner.commit()}, {runner.machine()}")


if __name__ == "__main__":
    main()
