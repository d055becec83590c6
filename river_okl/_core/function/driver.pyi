"""Types of the compiled loops over frames."""

from collections.abc import Callable
from typing import Any

from river_okl._core.calibration import Calibration
from river_okl._core.function.expansion import Expansion
from river_okl._core.sample import Frame

Step = Callable[[Any, float, float, float], None]

def learn_targets(step: Step, f: Expansion, frame: Frame, targets: list[float], weights: list[float]) -> None: ...
def learn_labels(
    step: Step,
    f: Expansion,
    frame: Frame,
    targets: list[Any],
    weights: list[float],
    labels: Any,
    place: Callable[[Frame, Any], int],
    calibration: Calibration,
) -> None: ...
def learn_new_label(
    labels: Any, names: list[Any], positions: dict[Any, int], f: Any, sample: Any, label: Any, w: float
) -> None: ...
def set_labels(labels: Any, names: list[Any], positions: dict[Any, int], f: Any) -> None: ...
