"""The reference implementations: every algorithm again, in naive NumPy; the fast classes are compared with them.

Each is written from its paper, never from the fast code, and recomputes everything from the definition: norms from
the full Gram matrix, projections from a linear solve, averages from the list of all past models. It has the name and
the keyword parameters of the public class and

    learn(x, y)      x a dict, y = -1.0 / +1.0 or a real target
    decision(x)      the value the class predicts from
    support, alpha, birth    the points in position order, their coefficients, their birth numbers
    norm2()          ||f||^2

A new one goes into the file of its family, derives from ``expansion.Twin`` and is found here by its name.
A comment that starts with "Decision" marks a choice that the paper leaves open.
"""

# ruff: noqa: F403
from __future__ import annotations

from tests.reference.expansion import *
from tests.reference.functional import *
from tests.reference.gaussian_process import *
from tests.reference.gradient import *
from tests.reference.kernels import *
from tests.reference.losses import *
from tests.reference.passive_aggressive import *
from tests.reference.perceptron import *
from tests.reference.tools import *
from tests.reference.twin_vector import *
