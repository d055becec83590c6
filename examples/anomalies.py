"""A machine whose two sensors agree until one comes loose: anomaly scores along time, and the alarms.

    python examples/anomalies.py [picture.png]

During the fault each sensor stays within its usual range: only the relation between the two is broken.
"""

import math
import random
import sys

from matplotlib.figure import Figure

import river_okl

N, KNOWN, FAULT, THRESHOLD = 4_000, 500, range(3_400, 3_430), 0.99


def readings(seed=1):
    rng = random.Random(seed)
    for t in range(N):
        speed = 50 + 20 * math.sin(t / 60) + rng.gauss(0, 4)
        current, vibration = 2 + 0.1 * speed + rng.gauss(0, 0.1), 0.02 * speed + rng.gauss(0, 0.025)
        yield {"current": current, "vibration": vibration - 0.4 * (t in FAULT)}


model = river_okl.OKLDetector(seed=1)
samples, scores = list(readings()), []
for x in samples:
    scores.append(model.score_one(x))
    model.learn_one(x)

alarms = [t for t in range(KNOWN, N) if scores[t] > THRESHOLD]  # earlier scores say little
found, false = sum(t in FAULT for t in alarms), sum(t not in FAULT for t in alarms)
normal = N - KNOWN - len(FAULT)
print(f"alarms: {found} of the {len(FAULT)} readings of the fault, {false} of {normal:,} others ({false / normal:.1%})")

left, right = Figure(figsize=(9, 3.5), layout="constrained").subplots(1, 2, width_ratios=(3, 2))
shown = range(N - 1_500, N)
rates = [1 - scores[t] for t in shown]
left.semilogy(shown, rates, ".", markersize=2, color="gray")
left.axhline(1 - THRESHOLD, linestyle="--", color="red", label="threshold of alarms")
left.axvspan(FAULT.start, FAULT.stop, alpha=0.2, label="fault")
left.invert_yaxis()
left.set(xlabel="readings", ylabel="1 - score: rate of alarms")
for where, style, label in (
    ([t for t in range(KNOWN, N) if t not in FAULT], {"color": "gray", "markersize": 2}, "normal"),
    ([*FAULT], {"color": "red"}, "fault"),
):
    pairs = [(samples[t]["current"], samples[t]["vibration"]) for t in where]
    right.plot(*zip(*pairs, strict=True), ".", label=label, **style)
right.set(xlabel="current", ylabel="vibration")
left.legend(loc="upper left")
right.legend(loc="lower right")
left.figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "anomalies.png", dpi=110)
