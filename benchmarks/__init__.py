"""What river_okl is measured by: the papers' tables, the choice of its defaults, its speed."""

import os

# One thread to a run, before NumPy is imported: it is the runs that are done side by side.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
