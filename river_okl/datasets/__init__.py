"""The data sets of the papers, and your own tables, as River data sets.

papers.py   `LIBSVM`, `Spambase` and `GaussianMixture`
table.py    `Table`: CSV, Parquet and JSON files
"""

from river_okl.datasets.papers import LIBSVM, SETS, GaussianMixture, LIBSVMSet, Spambase
from river_okl.datasets.table import Table

__all__ = ["LIBSVM", "SETS", "GaussianMixture", "LIBSVMSet", "Spambase", "Table"]
