"""The compiled core."""

import importlib.util

if importlib.util.find_spec(f"{__name__}.lock") is None:
    raise ImportError(
        "river_okl is not compiled: run `python -m pip install .` in its checkout, or, for development, "
        "`python setup.py build_ext --inplace`"
    )
