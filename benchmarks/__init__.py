"""What river_okl is measured by: the papers' tables, the choice of its defaults, its speed."""

import os

# One thread to a run, before NumPy is imported: it is the runs that are done side by side.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
