"""A wheel in an environment of its own: every module is imported, and the tests that need no more are run."""

from __future__ import annotations

import os
import shutil
import subprocess
import venv
from collections.abc import Sequence
from pathlib import Path

from tests.distribution.building import ROOT

# Tests that need the core only, from problems to adaptation: a minute or two without Numba.
TESTS = (
    *("test_plan.py", "test_plan_rounding.py", "test_plan_zero_masses.py"),
    *("test_engines_threads.py", "test_bad_costs.py", "test_bad_regularizers.py", "test_extras.py", "test_files.py"),
    *("test_adaptation_judge.py", "test_adaptation_persistence.py", "test_adaptation_registration.py"),
)

# Prints the modules that cannot be imported, but for those that say that they lack a package which an extra brings.
IMPORTS = """
import importlib, pkgutil, re, sys
from importlib import metadata
import driftway

def missing(error):
    while error is not None:
        if isinstance(error, ModuleNotFoundError):
            return error.name.split(".")[0]
        error = error.__cause__ or error.__context__

known = {"llvmlite", "sklearn"}
for line in metadata.requires("driftway"):
    if "extra ==" in line:
        known.add(re.match(r"[A-Za-z0-9_.-]+", line)[0].lower())
assert "site-packages" in driftway.__file__, driftway.__file__
count = 0
for module in pkgutil.walk_packages(driftway.__path__, "driftway.", onerror=lambda name: None):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
        count += 1
    except Exception as error:
        if missing(error) not in known:
            sys.exit(f"{module.name}: {error!r}")
print(f"{driftway.__version__}: {count} modules imported")
"""


def environment(folder: Path, wheel: Path, extras: str, python: str | None) -> Path:
    """The interpreter of a new environment that has the wheel, with extras, and pytest."""
    if python is None:
        venv.create(folder, with_pip=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    own = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    wanted = f"{wheel}[{extras}]" if extras else str(wheel)
    subprocess.run([str(own), "-m", "pip", "install", "--quiet", wanted, "pytest", "hypothesis"], check=True)
    return own


def run(folder: Path, wheel: Path, extras: str = "", python: str | None = None, tests: Sequence[str] = TESTS) -> None:
    """Installs a wheel into a folder and tests it there, beside copies of the tests and without the checkout."""
    own = environment(folder / "environment", wheel, extras, python)
    place = folder / "place"
    shutil.copytree(ROOT / "tests", place / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    free = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(own), "-c", IMPORTS], cwd=place, env=free, check=True)
    command = [str(own), "-m", "pytest", "-o", "addopts=", "-q", *(f"tests/{name}" for name in tests)]
    subprocess.run(command, cwd=place, env=free, check=True)
