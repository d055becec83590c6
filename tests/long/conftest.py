"""Tests that take hours: ``python -m pytest tests/long [--samples N] [--seconds S] [-k MODEL]``.

``pytest`` alone does not collect them.  What they find is written into benchmarks/results by a run over all models.
"""

from __future__ import annotations

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from benchmarks import runner


def pytest_addoption(parser):
    parser.addoption("--samples", type=int, default=10_000_000, help="through each model")
    parser.addoption("--seconds", type=float, default=100.0, help="of the processor for a model at most")


@pytest.fixture(scope="module")
def rows(request):
    """The rows of the module's table, written if no model was left out."""
    found = []
    yield found
    if found and not request.config.getoption("-k") and not request.session.testsfailed:
        module, options = request.module, request.config.option
        limits = f"`python -m pytest tests/long --samples {options.samples} --seconds {options.seconds:g}`"
        about = module.__doc__.partition("\n\n")[2].strip()
        measured = f"Measured by {limits} at {runner.commit()}, {runner.machine()}"
        parts = [f"# {module.TITLE}", about, measured, runner.table(module.HEAD, found)]
        (runner.RESULTS / f"{module.__name__.rpartition('_')[2]}.md").write_text("\n\n".join(parts) + "\n")
