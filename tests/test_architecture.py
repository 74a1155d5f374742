"""The architecture: imports run one way, the public names are few, types ship."""

from __future__ import annotations

import ast
import pickle
import sys
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import driftway

SOURCE = Path(driftway.__file__).parent
# From mathematics to application; a module imports only from its own line or above.
LAYERS = [
    ["rowwise", "interchange", "rounding", "pool"],
    ["validation", "whole"],
    ["costs"],
    ["matrices"],
    ["parallel", "elementary", "wright", "path"],
    ["compiled", "group_kernels", "group_plans", "moment_kernels"],
    ["compiled_form"],
    ["stored"],
    ["engine"],
    ["blockwise"],
    ["threads"],
    ["engines"],
    ["plan", "newton", "quasi_newton", "exact"],
    ["balancing"],
    ["regularizers"],
    ["problem"],
    ["model"],
    ["solution", "iteration"],
    ["certificate", "progress", "quiet"],
    ["solvers"],
    ["loop", "choice"],
    ["solve"],
    ["deferred", "clouds"],
    ["sensitivity"],
    ["adaptation", "torch", "jax", "pot"],
    ["skada", "river", "tables", "report", "plotting"],
    ["experiments"],
    ["__init__"],
    ["cli"],
    ["__main__"],
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def rooms(path: Path) -> set[str]:
    """The rooms of driftway that a file imports from."""
    imported = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("driftway."):
            imported.add(node.module.split(".")[1])
    return imported


def test_imports_run_from_mathematics_to_application() -> None:
    upward = []
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).with_suffix("").parts[0]
        assert own in RANK, f"{own} has no place in the architecture"
        upward += [f"{path.name} imports {room}" for room in rooms(path) if RANK[room] > RANK[own]]
    assert upward == []


def test_nothing_is_named_after_nothing() -> None:
    vague = {"utils", "helpers", "common", "misc", "base"}
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in vague]


def test_the_public_names_are_those_listed() -> None:
    public = {name for name in vars(driftway) if not name.startswith("_")}
    modules = {path.stem for path in SOURCE.iterdir()}
    assert public - modules == set(driftway.__all__) - modules
    assert all(getattr(driftway, name).__doc__ for name in driftway.__all__)


def test_types_ship() -> None:
    assert files("driftway").joinpath("py.typed").is_file()


def test_importing_loads_no_optional_dependency() -> None:
    import subprocess

    code = (
        "import sys, driftway, driftway.cli, driftway.engines, driftway.experiments, driftway.report, driftway.tables; "
        "optional = ('torch', 'jax', 'ot', 'tqdm', 'cvxpy', 'numba', 'typer', 'plotly', 'skada', 'river'); "
        "optional += ('matplotlib', 'dask', 'distributed'); "
        "print([m for m in optional if m in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_bridge_whose_library_is_missing_names_its_extra(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"driftway.{name}", raising=False)
    with pytest.raises(ImportError, match=rf"pip install 'driftway\[{name}\]'"):
        import_module(f"driftway.{name}")


def test_problems_and_solutions_pickle() -> None:
    X, Y = np.random.default_rng(0).random((6, 2)), np.random.default_rng(1).random((5, 2))
    smooth = driftway.TimeSmoothness(Y, X, 1.0)
    problem = driftway.Problem(driftway.PointCloudCost(X, Y), epsilon=0.1, regularizer=smooth)
    again = pickle.loads(pickle.dumps(problem))
    solution = driftway.solve(again)
    copy = pickle.loads(pickle.dumps(solution))
    assert copy.value == solution.value == driftway.solve(problem).value
    np.testing.assert_array_equal(copy.plan.dense(), solution.plan.dense())
