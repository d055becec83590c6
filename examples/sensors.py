"""A sensor's temperature with 90 % intervals, while the machine wears out.

    python examples/sensors.py [picture.png]

The temperature grows with the cube of the load, and rises with wear in the second half of the stream.
"""

import math
import random
import sys

from matplotlib.figure import Figure
from river import metrics

import river_okl

N = 4_000


def readings(seed=1):
    rng = random.Random(seed)
    load = 0.5
    for t in range(N):
        load = min(1.0, max(0.0, 0.9 * load + 0.1 * (0.5 + 0.5 * math.sin(t / 40)) + rng.gauss(0, 0.05)))
        wear = max(0.0, t / N - 0.5) * 20
        temperature = 40 + 30 * load**3 + wear + rng.gauss(0, 1)
        yield {"load": load, "daytime": math.sin(t / 40)}, temperature


model = river_okl.OKLRegressor()
mae, inside, rows = metrics.MAE(), 0, []
for x, y in readings():
    predicted = model.predict_one(x)
    low, high = model.predict_interval_one(x, coverage=0.9)
    mae.update(y, predicted)
    inside += low <= y <= high
    rows.append((y, predicted, low, high))
    model.learn_one(x, y)

print(f"{mae}; {inside / N:.1%} of the readings are within their interval")
first = N - 400
truth, center, low, high = zip(*rows[first:], strict=True)
axes = Figure(figsize=(8, 3.5), layout="constrained").add_subplot()
axes.fill_between(range(first, N), low, high, alpha=0.3, label="90 % interval")
axes.plot(range(first, N), center, label="prediction")
axes.plot(range(first, N), truth, ".", markersize=3, color="black", label="reading")
axes.set(xlabel="readings", ylabel="°C")
axes.legend(loc="upper left")
axes.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "sensors.png", dpi=110)
