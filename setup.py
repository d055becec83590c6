"""The compiled core; everything else about the package is in pyproject.toml."""

import os
import pathlib
import re
import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = [
    "bayes",
    "calibration",
    "choice",
    "coefficients",
    "driver",
    "estimates",
    "expansion",
    "forest",
    "fourier",
    "gram",
    "kernel",
    "linalg",
    "linears",
    "merging",
    "metrics",
    "mixture",
    "neighbours",
    "norms",
    "points",
    "pool",
    "posterior",
    "process",
    "processes",
    "rows",
    "sample",
    "scaler",
    "stack",
    "sums",
    "triangle",
]
# Not -ffast-math, which breaks the exponential's argument reduction, and not -march=native: simd.h compiles the
# vector loops for each instruction set, and one is picked when they are imported.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-fno-math-errno", "-Wno-unused-function"]
# Bounds checks stay on: the hot loops are C on pointers, so they would gain nothing from turning them off.
DIRECTIVES = {
    "language_level": 3,
    "cdivision": True,
    "embedsignature": True,
    "embedsignature.format": "python",
}
LINK = []
# For whoever looks for a bug in the core, as benchmarks/README.md shows: checks of every access to memory.
if os.environ.get("RIVER_OKL_BUILD") == "sanitize":
    FLAGS = ["-O1", "-g", "-fno-omit-frame-pointer", "-fsanitize=address,undefined", "-Wno-unused-function"]
    LINK = ["-fsanitize=address,undefined"]
elif os.environ.get("RIVER_OKL_BUILD") == "debug":
    FLAGS = ["-O0", "-g", "-UNDEBUG", "-Wno-unused-function"]
    DIRECTIVES |= {"boundscheck": True, "wraparound": False, "initializedcheck": True}


def with_included(header):
    """A header, and what it includes in the end."""
    path = pathlib.Path(header)
    names = re.findall(r'^#(?:include|define LOOPS) "(.+)"', path.read_text(encoding="utf-8"), re.M)
    return {header}.union(*(with_included(str(path.with_name(name))) for name in names))


modules = cythonize(
    [
        Extension(
            f"river_okl._core.{name}",
            [f"river_okl/_core/{name}.pyx"],
            extra_compile_args=FLAGS,
            extra_link_args=LINK,
        )
        for name in MODULES
    ],
    compiler_directives=DIRECTIVES,
)
for module in modules:  # Cython has found the headers that a module names
    module.depends = sorted(set(module.depends).union(*(with_included(h) for h in module.depends if h.endswith(".h"))))
setup(ext_modules=modules, options={"build_ext": {"parallel": os.cpu_count()}})
