"""Passengers of a tram for every hour, counted a day late: forecasts with 90 % intervals from dates and lags.

    python examples/series.py [picture.png]

The hours of a day follow a pattern of their own on working days; the level wanders, and rain adds passengers.
"""

import datetime
import math
import random
import sys

from matplotlib.figure import Figure

from river_okl import Dates, Lags, LateLabels, OKLRegressor

DAYS, SHOWN, START = 70, 7, datetime.datetime(2026, 3, 2)
DAY, HOUR = datetime.timedelta(days=1), datetime.timedelta(hours=1)


def tram(seed=1):
    rng, level = random.Random(seed), 0.0
    for h in range(24 * DAYS):
        time = START + h * HOUR
        rain = max(0.0, rng.gauss(0, 1))
        level = 0.99 * level + rng.gauss(0, 1)
        peaks = sum(math.exp(-((time.hour - peak) ** 2) / 4) for peak in (8, 17))
        people = 120 * peaks if time.weekday() < 5 else 60 * math.exp(-((time.hour - 14) ** 2) / 20)
        yield {"time": time, "rain": rain}, 20 + people + 10 * rain + level + rng.gauss(0, 4)


model = Lags((1, 145)) | Dates() | OKLRegressor()  # at this hour: yesterday, and a week ago (24 + 144 hours)
queue, counted, rows = LateLabels(), {}, []
for x, y in tram():
    time = x["time"]
    forecast = model.predict_one(x, with_dist=True, key=time)
    rows.append((time, y, forecast.mu, 1.645 * forecast.sigma))
    queue.ask(time, x)
    counted[time] = y
    if time - DAY in counted:  # which is known now
        queue.label(time - DAY, counted[time - DAY])
    for key, asked, target in queue.due():
        model.learn_one(asked, target, key=key)

late = [row for row in rows if row[0] - START >= DAYS // 2 * DAY]
error = sum(abs(y - mean) for _, y, mean, _ in late) / len(late)
of_last_week = sum(abs(y - counted[time - 7 * DAY]) for time, y, *_ in late) / len(late)
inside = sum(abs(y - mean) <= half for _, y, mean, half in late) / len(late)
print(f"second half: MAE {error:.1f} (last week's count: {of_last_week:.1f}), {inside:.1%} within their interval")

times, truth, means, halves = zip(*rows[-24 * SHOWN :], strict=True)
lower, upper = zip(*((mean - half, mean + half) for mean, half in zip(means, halves, strict=True)), strict=True)
axes = Figure(figsize=(9, 3.5), layout="constrained").add_subplot()
axes.fill_between(times, lower, upper, alpha=0.3, label="90 % interval")
axes.plot(times, means, label="forecast")
axes.plot(times, truth, ".", markersize=3, color="black", label="count")
axes.set(ylabel="passengers")
axes.legend(loc="upper right")
axes.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "series.png", dpi=110)
