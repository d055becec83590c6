"""River's classes around our models, one row each: parameters, state, and how they merge.

    kinds.py          what a row is, and the kinds of values in parameters and attributes
    statistics.py     River's statistics: as values, and how they merge
    transformers.py   scalers, encoders, imputers, aggregates, and the transformers of river_okl
    models.py         pipelines, models around models, filters, drift detectors and metrics

checkpoint/ and merging/ read the rows, and nothing here imports them.  A class without a row is rejected by both.
"""

from __future__ import annotations

from river_okl.wrappers import models, transformers
from river_okl.wrappers.kinds import Row

ROWS: dict[type, Row] = models.ROWS | transformers.ROWS
