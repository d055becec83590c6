"""Faults that the tests must notice: each is seeded in a copy of the checkout, which is built and tested.

    python -m tests.faults                  # all faults, two at a time: ten minutes
    python -m tests.faults pool stack       # those whose name or file contains one of these
    python -m tests.faults --check          # only whether the text of each fault is still there, once

A fault is a few lines of a file and what replaces them; faults are in one file per group of folders.
``killed_by.json`` has a test that fails with each of them.  It is tried first, and stays; if it is gone or passes, all
tests are tried, after those marked fast the ones that the file of the fault names.  A fault whose text is gone has to
be written anew for the code that took its place, unless that was deleted.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = HERE / "killed_by.json"
JOBS = 2
LONGEST = 900  # seconds of one run of tests
SLOW = ["tests/checkpoint/test_altered.py"]  # tests that a fault is not tried on
SLOW += [f"tests/test_{name}.py" for name in ("benchmarks", "datasets", "distributed", "docs", "figures", "hostile")]
SLOW += [f"tests/test_{name}.py" for name in ("interrupts", "outputs", "packaging", "papers", "threads")]

Fault = dict[str, Any]


def faults(parts: list[str]) -> list[Fault]:
    found = []
    for path in sorted(HERE.glob("*.toml")):
        group = tomllib.loads(path.read_text(encoding="utf-8"))
        found += [fault | {"tests": group.get("tests", [])} for fault in group["fault"]]
    return [each for each in found if not parts or any(p in each["name"] or p in each["file"] for p in parts)]


def misplaced(fault: Fault) -> str:
    text = (ROOT / fault["file"]).read_text(encoding="utf-8") if (ROOT / fault["file"]).exists() else ""
    count = text.count(fault["old"])
    return "" if count == 1 else f"{fault['name']}: its text is {count} times in {fault['file']}"


def copy_of_checkout(folder: Path) -> Path:
    """With what is built, so that only what a fault changes is built anew."""
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "results", "__pycache__")
    return Path(shutil.copytree(ROOT, folder, ignore=ignored))


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    options = {"cwd": folder, "env": environment, "timeout": LONGEST}
    return subprocess.run([sys.executable, *command], **options, capture_output=True, text=True, check=False)


def killer(folder: Path, first: list[str], listed: str) -> str:
    """The first test that fails, or what happens instead; "" if all pass."""
    options = ["-p", "no:cacheprovider", "-rfE", "--tb=no", "--maxfail=1"]
    others = [f"--ignore={path}" for path in (*SLOW, *first)]
    all_tests = [["-m", "fast", "tests"], ["-m", "not fast", *first], ["-m", "not fast", *others, "tests"]]
    for selection in ([[listed]] if listed else []) + all_tests:
        try:
            done = run(folder, "-m", "pytest", *options, *selection)
        except subprocess.TimeoutExpired:
            return "the tests do not end"
        if done.returncode < 0:
            return f"signal {-done.returncode}"
        if done.returncode == 4:  # such as a file that is gone: no test has run
            raise RuntimeError(f"pytest {' '.join(selection)}: {done.stderr.strip()}")
        tests = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", done.stdout, re.M)
        if tests:
            return tests[0]
    return ""


def tried(fault: Fault, folder: Path, listed: str) -> str:
    path = folder / fault["file"]
    text = path.read_text(encoding="utf-8")
    module = path.with_suffix("").relative_to(folder)
    built = [*path.parent.glob(f"{path.stem}.*.so"), *folder.glob(f"build/*/{'.'.join(module.parts)}.sha256")]
    kept = {each: each.read_bytes() for each in built}
    path.write_text(text.replace(fault["old"], fault["new"]), encoding="utf-8")
    try:
        if not fault["file"].endswith(".py"):
            done = run(folder, "setup.py", "-q", "build_ext", "--inplace")
            if done.returncode:
                return "does not compile"
        return killer(folder, fault["tests"], listed)
    finally:
        path.write_text(text, encoding="utf-8")
        for each, content in kept.items():
            each.unlink(missing_ok=True)  # the old one may still be mapped
            each.write_bytes(content)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="parts of the names or files of faults")
    parser.add_argument("--check", action="store_true", help="only look whether their text is there")
    options = parser.parse_args()
    chosen = faults(options.parts)
    wrong = [message for fault in chosen if (message := misplaced(fault))]
    print(*wrong, sep="\n", end="\n" if wrong else "")
    if options.check:
        return len(wrong) > 0
    results = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(JOBS) as pool:
        folders: SimpleQueue[Path] = SimpleQueue()
        for job in range(JOBS):
            folders.put(copy_of_checkout(Path(scratch, str(job))))

        def in_some_folder(fault: Fault) -> str:
            folder = folders.get()
            try:
                return tried(fault, folder, results.get(fault["name"], ""))
            finally:
                folders.put(folder)

        placed = [fault for fault in chosen if not misplaced(fault)]
        for fault, found in zip(placed, pool.map(in_some_folder, placed), strict=True):
            print(f"{fault['name']}: {found or 'SURVIVES'}", flush=True)
            results[fault["name"]] = found
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
