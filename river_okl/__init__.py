"""river_okl: budgeted online kernel learning for River.

The map of the house::

    river pipeline ──dict──▶ algorithms/*.py ──▶ _core.Expansion ──▶ rows.h (vector loops)
                    ◀─float─

    algorithms/     one paper, one file: ``learn_one`` is its pseudo-code over an expansion f = Σ α_i κ(z_i, ·)
    model.py        river's protocol: predictions, mini-batches, what a model shows
    labels.py       which label is positive, and what is no label
    checks.py       what parameters, weights and targets may be
    kernels.py      RBF, Laplacian, Polynomial, Linear, their sums and products
    losses.py       the ε-insensitive loss, and derivatives of river's losses
    rates.py        what a learning rate means
    checkpoint.py   save and load without pickle
    datasets.py     the papers' data sets
    _core/          the compiled expansion: support vectors, kernel rows, Gram matrices
"""

from river_okl import datasets, kernels, losses
from river_okl.algorithms.ahpatron import AhpatronClassifier, AVPClassifier
from river_okl.algorithms.alma import ALMAClassifier
from river_okl.algorithms.bogd import BOGDClassifier, BOGDRegressor
from river_okl.algorithms.bpa import BPAClassifier, BPARegressor
from river_okl.algorithms.budget_perceptron import BudgetPerceptronClassifier
from river_okl.algorithms.duol import BDUOLClassifier, DUOLClassifier
from river_okl.algorithms.forgetron import ForgetronClassifier
from river_okl.algorithms.lsokl import FOGDClassifier, FOGDRegressor, NOGDClassifier, NOGDRegressor
from river_okl.algorithms.nbsgd import (
    BSGDClassifier,
    BSGDRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    NBSGDClassifier,
    NBSGDRegressor,
)
from river_okl.algorithms.norma import OGDClassifier, OGDRegressor
from river_okl.algorithms.olk import (
    OLKClassifier,
    OLKRegressor,
    OLRDClassifier,
    OLRDRegressor,
    OLRUClassifier,
    OLRURegressor,
)
from river_okl.algorithms.oskl import OSKLClassifier
from river_okl.algorithms.pa import KernelPAClassifier, KernelPARegressor
from river_okl.algorithms.perceptron import KernelPerceptronClassifier, RBPClassifier
from river_okl.algorithms.pomdr import POMDRClassifier
from river_okl.algorithms.projectron import ProjectronClassifier, ProjectronPlusPlusClassifier
from river_okl.algorithms.spa import SPAClassifier, SPARegressor
from river_okl.checkpoint import load, save

__version__ = "0.1.0"

__all__ = [
    "ALMAClassifier",
    "AVPClassifier",
    "AhpatronClassifier",
    "BDUOLClassifier",
    "BOGDClassifier",
    "BOGDRegressor",
    "BPAClassifier",
    "BPARegressor",
    "BSGDClassifier",
    "BSGDRegressor",
    "BudgetPerceptronClassifier",
    "DUOLClassifier",
    "FOGDClassifier",
    "FOGDRegressor",
    "ForgetronClassifier",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPerceptronClassifier",
    "KernelSGDClassifier",
    "KernelSGDRegressor",
    "NBSGDClassifier",
    "NBSGDRegressor",
    "NOGDClassifier",
    "NOGDRegressor",
    "OGDClassifier",
    "OGDRegressor",
    "OLKClassifier",
    "OLKRegressor",
    "OLRDClassifier",
    "OLRDRegressor",
    "OLRUClassifier",
    "OLRURegressor",
    "OSKLClassifier",
    "POMDRClassifier",
    "ProjectronClassifier",
    "ProjectronPlusPlusClassifier",
    "RBPClassifier",
    "SPAClassifier",
    "SPARegressor",
    "datasets",
    "kernels",
    "load",
    "losses",
    "save",
]
