"""The compiled core; everything else about the package is in pyproject.toml."""

import sys

from Cython.Build import cythonize
from setuptools import Extension, setup

MODULES = ["calibration", "expansion", "gram", "kernel", "sample"]
# Not -ffast-math, which breaks the exponential's argument reduction, and not -march=native: rows.h holds a variant
# of the vector loops for each instruction set and picks one when it is imported.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-O3", "-fno-math-errno", "-Wno-unused-function"]
# Bounds checks stay on: the hot loops are C on pointers, so they would gain nothing from turning them off.
DIRECTIVES = {
    "language_level": 3,
    "cdivision": True,
    "embedsignature": True,
    "embedsignature.format": "python",
}

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"river_okl._core.{name}",
                [f"river_okl/_core/{name}.pyx"],
                depends=["river_okl/_core/rows.h", "river_okl/_core/rows_variant.h"],
                extra_compile_args=FLAGS,
            )
            for name in MODULES
        ],
        compiler_directives=DIRECTIVES,
    )
)
