"""The first minute: what importing loads, what the first calls compile, and what is compiled once and for all."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import driftway
from driftway.arrays.exports import lazily

SOURCE = Path(driftway.__file__).parent
HEAVY = ("numpy", "scipy", "sklearn", "joblib", "numba", "pandas", "torch", "jax", "dask", "typer", "matplotlib")


def run(code: str, *arguments: str, **environment: str) -> str:
    """What a new process prints."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_driftway_loads_no_other_library() -> None:
    assert run(f"import sys, driftway; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_solving_loads_no_scikit_learn_and_estimators_do() -> None:
    code = """
import sys, driftway
driftway.sinkhorn([[0.0, 1.0], [1.0, 0.5]], epsilon=0.5)
print("sklearn" in sys.modules)
driftway.ContinuousTransportClassifier
print("sklearn" in sys.modules)
"""
    assert run(code).split() == ["False", "True"]


@pytest.mark.parametrize("package", ["driftway", "driftway.engines"])
def test_names_are_where_type_checkers_look_for_them(package: str) -> None:
    """The imports for type checkers and those of a run are two lists; both have what `__all__` has."""
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text())
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "typing"]
    there = {alias.name: str(node.module) for node in imported for alias in node.names if alias.name != "lazily"}
    assert sorted(there) == sorted(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name, home in there.items():
        assert getattr(module, name) is getattr(import_module(home), name)


def test_lists_of_names_are_complete_before_any_is_loaded() -> None:
    code = "import driftway; print(set(driftway.__all__) <= set(dir(driftway)), 'solve' in vars(driftway))"
    assert run(code).split() == ["True", "False"]
    code = "from driftway import *; print(sinkhorn.__module__, PointCloudCost.__module__)"
    assert run(code).split() == ["driftway.solvers.solve", "driftway.geometry.costs"]


def test_rooms_are_attributes_as_if_they_had_been_imported() -> None:
    assert run("import driftway; print(driftway.engines.Threads.__name__)") == "Threads"
    with pytest.raises(AttributeError, match="module 'driftway' has no attribute 'slove'"):
        _ = driftway.slove  # type: ignore[attr-defined]


def test_what_was_loaded_once_stays() -> None:
    get, listed = lazily("driftway.arrays", {"rowwise": ("is_remote",)}, modules=("validation",))
    package = import_module("driftway.arrays")
    try:
        assert get("is_remote") is vars(package)["is_remote"]
        assert get("validation") is import_module("driftway.arrays.validation")
        assert {"is_remote", "validation"} <= set(listed())
    finally:
        vars(package).pop("is_remote", None)


SOLVES = """
import numpy as np
import driftway
rng = np.random.default_rng(1)
X, Y = rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2)) + 0.5
driftway.sinkhorn(driftway.PointCloudCost(X, Y), epsilon=0.05)
smooth = driftway.TimeSmoothness(Y[:200], previous=X[:300], weight=0.2)
driftway.solve(driftway.Problem(driftway.PointCloudCost(X[:300], Y[:200]), epsilon=0.2, regularizer=smooth))
y = np.arange(500) % 2
source = X[:500] + 3.0 * y[:, None]
model = driftway.ContinuousTransportClassifier().fit(source, y)
model.partial_fit(source[:50] + 0.5).predict(source)
from driftway.engines.compiled.compiling import KERNELS
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS))
print(sum(sum(kernel.stats.cache_hits.values()) for kernel in KERNELS))
"""


@pytest.mark.slow
def test_after_a_warm_up_the_walks_compile_nothing(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    code = "import sys; from driftway.cli import main; sys.exit(main(['warm-up']))"
    folders = run(code, NUMBA_CACHE_DIR=str(tmp_path)).splitlines()
    assert all(Path(folder).parent == tmp_path for folder in folders)
    misses, hits = map(int, run(SOLVES, NUMBA_CACHE_DIR=str(tmp_path)).split())
    assert misses == 0
    assert hits > 5


def test_a_warm_up_needs_nothing_of_the_command_line_but_numba() -> None:
    code = """
import sys
from importlib import util
sys.modules["typer"] = None
found = util.find_spec
util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
from driftway.cli import main
sys.stderr = sys.stdout
print(main(["warm-up"]))
"""
    assert run(code).splitlines() == [
        "driftway: there is nothing to compile without Numba: pip install 'driftway[fast]'",
        "1",
    ]


def test_without_a_folder_to_write_to_kernels_are_compiled_and_not_kept() -> None:
    pytest.importorskip("numba")
    code = """
import numpy as np
from driftway.engines.compiled.squares import add_squares
squares = np.zeros((2, 3))
add_squares(np.full((4, 3), 2.0), np.array([0, 1, 1, 1]), squares)
print(squares[:, 0].tolist(), add_squares.stats.cache_path)
"""
    nowhere = {"NUMBA_CACHE_DIR": "/dev/null/driftway", "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator"}
    assert run(code, **nowhere) == "[4.0, 12.0] None"


def test_kernels_are_compiled_again_when_what_is_written_into_them_changes(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    from driftway.engines.compiled import compiling

    (tmp_path / "kernels.py").write_text("one = 1\n")
    before = compiling._digest(tmp_path)
    compiling._digest.cache_clear()
    assert compiling._digest(tmp_path) == before
    (tmp_path / "kernels.py").write_text("one = 2\n")
    compiling._digest.cache_clear()
    assert compiling._digest(tmp_path) != before
    sweep = import_module("driftway.engines.compiled.sweep")
    assert sweep.sweep_rows.py_func.__qualname__ == f"sweep_rows-{compiling._digest(SOURCE / 'engines' / 'compiled')}"
