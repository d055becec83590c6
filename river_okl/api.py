"""The public names, which ``river_okl`` itself shows at their first use."""

from river_okl import datasets, kernels, losses
from river_okl.algorithms.ahpatron import AhpatronClassifier, AVPClassifier
from river_okl.algorithms.alma import ALMAClassifier
from river_okl.algorithms.bogd import BOGDClassifier, BOGDRegressor
from river_okl.algorithms.bpa import BPAClassifier, BPARegressor
from river_okl.algorithms.budget_perceptron import BudgetPerceptronClassifier
from river_okl.algorithms.detector import OKLDetector
from river_okl.algorithms.duol import BDUOLClassifier, DUOLClassifier
from river_okl.algorithms.features import NystroemFeatures, RandomFourierFeatures
from river_okl.algorithms.fogd_nogd import FOGDClassifier, FOGDRegressor, NOGDClassifier, NOGDRegressor
from river_okl.algorithms.forgetron import ForgetronClassifier
from river_okl.algorithms.nbsgd import (
    BSGDClassifier,
    BSGDRegressor,
    KernelSGDClassifier,
    KernelSGDRegressor,
    NBSGDClassifier,
    NBSGDRegressor,
)
from river_okl.algorithms.novelty import KernelOneClassSVM
from river_okl.algorithms.ogd import OGDClassifier, OGDRegressor
from river_okl.algorithms.okl import OKLClassifier, OKLRegressor
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
from river_okl.algorithms.skegd import SkeGDClassifier
from river_okl.algorithms.sogp import SOGPClassifier, SOGPRegressor
from river_okl.algorithms.spa import SPAClassifier, SPARegressor
from river_okl.algorithms.tvm import TVMClassifier
from river_okl.checkpoint import dumps, load, loads, save
from river_okl.checks import PerClass
from river_okl.late import LateLabels
from river_okl.merging import merge
from river_okl.series import Dates, Lags

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
    "Dates",
    "FOGDClassifier",
    "FOGDRegressor",
    "ForgetronClassifier",
    "KernelOneClassSVM",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPerceptronClassifier",
    "KernelSGDClassifier",
    "KernelSGDRegressor",
    "Lags",
    "LateLabels",
    "NBSGDClassifier",
    "NBSGDRegressor",
    "NOGDClassifier",
    "NOGDRegressor",
    "NystroemFeatures",
    "OGDClassifier",
    "OGDRegressor",
    "OKLClassifier",
    "OKLDetector",
    "OKLRegressor",
    "OLKClassifier",
    "OLKRegressor",
    "OLRDClassifier",
    "OLRDRegressor",
    "OLRUClassifier",
    "OLRURegressor",
    "OSKLClassifier",
    "POMDRClassifier",
    "PerClass",
    "ProjectronClassifier",
    "ProjectronPlusPlusClassifier",
    "RBPClassifier",
    "RandomFourierFeatures",
    "SOGPClassifier",
    "SOGPRegressor",
    "SPAClassifier",
    "SPARegressor",
    "SkeGDClassifier",
    "TVMClassifier",
    "datasets",
    "dumps",
    "kernels",
    "load",
    "loads",
    "losses",
    "merge",
    "save",
]
