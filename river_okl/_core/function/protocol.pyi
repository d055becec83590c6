"""Types of the functions that models update, and of the compiled loops over frames."""

from collections.abc import Callable
from typing import Any

from river_okl._core.calibration import Calibration
from river_okl._core.kernel.compiled import CompiledKernel
from river_okl._core.kernel.rows import Rows
from river_okl._core.lock import Lock
from river_okl._core.store.sample import Frame, Given

Sample = dict[Any, Any] | Frame | Given
Step = Callable[[Any, float, float, float], None]

class Function:
    @property
    def lock(self) -> Lock: ...
    @property
    def rows(self) -> Rows: ...
    @property
    def kernel(self) -> CompiledKernel: ...
    @property
    def given(self) -> Given: ...
    def observe(self, sample: Sample, target: int = -1) -> float: ...

def observe_label(f: Function, calibration: Calibration, sample: Sample, position: int) -> float: ...
def learn_targets(step: Step, f: Function, frame: Frame, targets: list[float], weights: list[float]) -> None: ...
def learn_labels(
    step: Step,
    f: Function,
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
