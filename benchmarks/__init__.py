"""Benchmarks of river_okl: the papers' tables, the choice of defaults, speed."""

import os

# One thread per run, set before NumPy is imported: runs are executed in parallel.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
