"""The architecture: imports run one way, the public names are few, types ship."""

from __future__ import annotations

import ast
import pickle
import sys
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import driftway

SOURCE = Path(driftway.__file__).parent
# From mathematics to application: a room imports from the rooms before it only. docs/architecture.md says what each is.
ROOMS = [
    *("arrays", "geometry", "engines", "plan", "regularizers", "problem", "solvers", "derivatives"),
    *("files", "adaptation", "report", "experiments"),
    *("torch", "jax", "pot", "skada", "river"),  # doors to other libraries
    *("__init__", "cli", "__main__"),
]
# Files that import what somebody else names: a user's estimator, and the benchmarks of a checkout.
NAMED_ELSEWHERE = {"adaptation/persistence.py", "cli/benchmarks.py"}


def module_name(path: Path) -> str:
    """`driftway.plan.sinkhorn` for plan/sinkhorn.py, `driftway.plan.__init__` for the door of a room."""
    return ".".join(("driftway", *path.relative_to(SOURCE).with_suffix("").parts))


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def resolved(name: str) -> str:
    """The module that a dotted name leads to: itself, the door of a folder, or where a name in a module comes from."""
    for candidate in (name, f"{name}.__init__"):
        if candidate in MODULES:
            return candidate
    return resolved(name.rpartition(".")[0])


def imports_of(source: str) -> set[str]:
    """Every module of driftway that this source imports, at the top, in functions, for types only, or by name.

    What is imported by a name that only a run knows is told as "?".
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            name = node.args[0]
            found.add(name.value if isinstance(name, ast.Constant) else "?")
    return {"?" if name == "?" else resolved(name) for name in found if name.split(".")[0] in ("driftway", "?")}


def imports() -> dict[str, set[str]]:
    """What every module imports."""
    found = {name: imports_of(path.read_text()) for name, path in MODULES.items()}
    unknown = {MODULES[name].relative_to(SOURCE).as_posix() for name, others in found.items() if "?" in others}
    assert unknown <= NAMED_ELSEWHERE
    return {name: others - {"?"} for name, others in found.items()}


def place(module: str, depth: int) -> str:
    """The room of a module (depth 1), or the file or folder in it (depth 2), and so on."""
    return ".".join(module.split(".")[1 : depth + 1])


def test_imports_run_from_mathematics_to_application() -> None:
    assert {place(name, 1) for name in MODULES} == set(ROOMS)
    upward = [
        f"{name} imports {other}"
        for name, others in imports().items()
        for other in others
        if ROOMS.index(place(other, 1)) > ROOMS.index(place(name, 1))
    ]
    assert upward == []


@pytest.mark.parametrize("depth", [2, 3])
def test_imports_run_one_way_inside_a_room(depth: int) -> None:
    """Files of a room, and of a folder in it, can be put in an order, too; a folder counts as one where it stands."""
    order: TopologicalSorter[str] = TopologicalSorter()
    for name, others in imports().items():
        own = place(name, depth)
        order.add(own, *({place(other, depth) for other in others if place(other, 1) == place(name, 1)} - {own}))
    try:
        order.prepare()
    except CycleError as cycle:
        pytest.fail(" imports ".join(reversed(cycle.args[1])))


def test_no_import_is_hidden_from_these_tests() -> None:
    source = """
import driftway.plan.newton
from driftway import regularizers, solve
from driftway.solvers import dual_newton, Sinkhorn
def later():
    from driftway.cli.run import Run
    return import_module("driftway.solvers.dual_newton.kernels"), importlib.import_module(f"driftway.{room}")
"""
    names = ("plan.newton", "regularizers.__init__", "__init__", "solvers.dual_newton.__init__", "solvers.__init__")
    assert imports_of(source) == {"?"} | {
        f"driftway.{name}" for name in (*names, "cli.run", "solvers.dual_newton.kernels")
    }


def test_ls_is_the_architecture() -> None:
    entries = {path.name for path in SOURCE.iterdir() if not path.name.startswith("__") and path.name != "py.typed"}
    assert len(entries) <= 18, sorted(entries)
    page = Path(__file__).parent.parent.joinpath("docs/architecture.md").read_text()
    assert [entry for entry in sorted(entries) if f"`{entry.removesuffix('.py')}`" not in page] == []


def test_nothing_is_named_after_nothing() -> None:
    vague = {"utils", "helpers", "common", "misc", "base"}
    assert not [path for path in SOURCE.rglob("*.py") if path.stem in vague]


def test_the_public_names_are_those_listed() -> None:
    public = {name for name in vars(driftway) if not name.startswith("_")}
    modules = {path.stem for path in SOURCE.iterdir()}
    assert public - modules == set(driftway.__all__) - modules


@pytest.mark.parametrize(
    "room", ["", ".adaptation", ".engines", ".files", ".geometry", ".plan", ".problem", ".regularizers", ".solvers"]
)
def test_what_a_room_exports_is_there_and_documented(room: str) -> None:
    module = import_module(f"driftway{room}")
    assert [name for name in module.__all__ if not hasattr(module, name)] == []
    own = [kind for name in module.__all__ if callable(kind := getattr(module, name))]
    assert [kind for kind in own if not kind.__doc__] == []


def test_types_ship() -> None:
    assert files("driftway").joinpath("py.typed").is_file()


def test_importing_loads_no_optional_dependency() -> None:
    import subprocess

    code = (
        "import sys, driftway, driftway.cli, driftway.engines, driftway.experiments, driftway.report, driftway.files; "
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
