"""The package: names, types, cost of imports."""

from __future__ import annotations

import importlib
import inspect
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tomllib

import pytest

import river_okl
from river_okl import algorithms
from river_okl.model import CompiledModel
from tests.core.expansions import run_python

HERE = pathlib.Path(__file__).parent
PYPROJECT = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
RECIPE = HERE.parent / "conda" / "recipe.yaml"
PACKAGE = pathlib.Path(river_okl.__file__).parent
CORE = PACKAGE / "_core"


def test_every_public_name_exists_and_is_documented():
    assert sorted(set(river_okl.__all__)) == sorted(river_okl.__all__)
    for name in river_okl.__all__:
        thing = getattr(river_okl, name)
        assert inspect.getdoc(thing), name
        if inspect.isclass(thing):
            assert "Parameters" in thing.__doc__ and ">>>" in thing.__doc__, name
            assert "References" in thing.__doc__ or not is_model(thing), name


def test_the_map_of_the_package_is_complete():
    folders = {f"{path.name}/" for path in PACKAGE.iterdir() if path.is_dir()}
    rooms = {path.name for path in PACKAGE.glob("*.py")} | folders
    shown = set(re.findall(r"^    (\w+(?:\.py|/)) ", river_okl.__doc__, re.M))
    assert rooms - {"__init__.py", "__main__.py", "__pycache__/"} == shown


def is_model(thing):
    """Whether this is a class from a paper, and not a transformer for series, for example."""
    return inspect.isclass(thing) and issubclass(thing, CompiledModel)


def imports(statement, before="pass"):
    """The modules that a statement imports, beyond those that another one has imported."""
    code = f"import sys\n{before}\ntheirs = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - theirs)"
    return set(run_python(code).split())


def test_a_public_name_is_imported_without_the_others():
    ours = imports("from river_okl import OKLClassifier", "import river.linear_model")
    assert "river_okl.predictive" in ours
    others = {name for name in ours if not name.startswith(("river_okl", "_cython"))}  # Cython keeps its types there
    assert others == set()
    assert not {"river_okl.api", "river_okl.checkpoint", "river_okl.datasets", "river_okl.merging"} & ours


def test_names_are_imported_from_the_declared_modules():
    api = importlib.import_module("river_okl.api")
    assert set(river_okl.__all__) == {name for name in vars(api) if not name.startswith("_")}
    for name in river_okl.__all__:
        assert getattr(river_okl, name) is getattr(api, name), name
    assert {*dir(river_okl)} == {*river_okl.__all__, "__version__"}
    with pytest.raises(AttributeError, match="no attribute 'OKLClasifier'"):
        river_okl.OKLClasifier  # noqa: B018


def test_the_optional_packages_are_not_imported():
    ours = imports("from river_okl import *", "import river.datasets, river.optim, scipy.linalg, scipy.special")
    assert "river_okl" in ours
    assert not {"matplotlib", "rich", "pandas", "polars", "sklearn", "ray", "duckdb"} & ours


def test_no_module_imports_from_a_higher_layer():
    """Modules do not import api or the command, which are built on them."""
    low = "from river_okl import algorithms, checkpoint, datasets, distributed, merging"
    lower = imports(f"{low}; checkpoint.models.classes()")
    assert "river_okl.merging" in lower
    assert not [name for name in lower if name.startswith(("river_okl.api", "river_okl.cli"))]
    listed = {name: getattr(river_okl, name) for name in river_okl.__all__}
    assert algorithms.classes().keys() == {name for name, cls in listed.items() if is_model(cls)}


@pytest.mark.parametrize("statement", ["from river_okl import RBPClassifier", "import river_okl.kernels"])
def test_an_uncompiled_checkout_gives_instructions(statement, tmp_path):
    compiled = shutil.ignore_patterns("*.so", "*.pyd", "*.c", "__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "river_okl", ignore=compiled)
    command = [sys.executable, "-c", statement]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: river_okl is not compiled") and "build_ext --inplace" in last


def test_the_table_of_classes_has_every_class_and_its_tasks():
    table = (HERE.parent / "docs" / "classes.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.*?) \| \[.*?\| ([2MR ]+) \|", table, re.M)
    listed = {(name, task) for names, tasks in rows for name in re.findall(r"`(\w+)`", names) for task in tasks.split()}
    there = set()
    for name in river_okl.__all__:
        if name.endswith("Classifier"):
            there.add((name.removesuffix("Classifier"), "M" if getattr(river_okl, name)()._multiclass else "2"))
        elif name.endswith("Regressor"):
            there.add((name.removesuffix("Regressor"), "R"))
    assert listed == there


def test_a_users_program_is_typed():
    """For mypy .ci/run checks it with the package."""
    assert (PACKAGE / "py.typed").is_file()
    pytest.importorskip("pyright", reason="pyright is not installed: pip install 'river_okl[lint]'")
    command = [sys.executable, "-m", "pyright", "--pythonpath", sys.executable, str(HERE / "typed_user.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_users_program_runs():
    runpy.run_path(str(HERE / "typed_user.py"), run_name="__main__")


def test_every_module_that_is_optimised_more_or_less_than_the_others_exists():
    setup = HERE.parent / "setup.py"
    if not setup.exists():
        pytest.skip("not a clone")
    pytest.importorskip("Cython")
    settings = runpy.run_path(str(setup))
    named = [name for names in settings["LEVELS"].values() for name in names]
    assert len(named) == len(set(named))
    assert set(named) <= {path.stem for path in CORE.rglob("*.pyx")} | {settings["SHARED"]}


def test_river_is_not_capped():
    for requirement in PROJECT["dependencies"]:
        assert not re.search(r"<|==|~=|!=", requirement), requirement


def test_the_recipe_for_conda_forge_matches_the_project():
    if not RECIPE.exists():
        pytest.skip("not a clone")
    recipe = RECIPE.read_text(encoding="utf-8")

    def value(key):
        (found,) = re.findall(rf"^  {key}: (.*)$", recipe, re.M)
        return found.strip('"')

    def required(section):
        (lines,) = re.findall(rf"^  {section}:\n((?:    .*\n)+)", recipe, re.M)
        return {line.strip(" -").replace(" ", "") for line in lines.splitlines()}

    names = {"name": PROJECT["name"], "summary": PROJECT["description"], "license": PROJECT["license"]}
    assert {key: value(key) for key in names} == names
    assert re.findall(r'^  version: "(.*)"$', recipe, re.M) == [river_okl.__version__]
    assert [value("license_file")] == PROJECT["license-files"]
    assert value("skip") == f'match(python, "{PROJECT["requires-python"].replace(">=", "<")}")'
    assert required("run") == {"python", *PROJECT["dependencies"]}
    build = PYPROJECT["build-system"]["requires"]
    assert required("host") == {"python", "pip", *build}
    assert {name for name in build if name.startswith("cython")} <= required("build")
