"""The architecture: imports run one way, the public names are few, types ship."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from importlib import import_module
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import driftway

SOURCE = Path(driftway.__file__).parent
PAGE = Path(__file__).parent.parent / "docs" / "architecture.md"
# What there may be at the top of the repository.
TOP = {".ci", ".github", "benchmarks", "docs", "examples", "recipe", "src", "tests"}
TOP |= {
    ".gitattributes",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CITATION.cff",
    "LICENSE",
    "Makefile",
    "pyproject.toml",
}
TOP |= {"CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "README.md", "RELEASING.md"}
# The package itself comes after all rooms but `cli`, the only one that may import from it.
LAST = ["__init__", "cli", "__main__"]
# Files that import what somebody else names: a user's estimator, or a name of a package that is loaded when asked for,
# which the package's imports for type checkers have, too.
NAMED_ELSEWHERE = {"adaptation/permitted.py", "arrays/exports.py"}


def module_name(path: Path) -> str:
    """`driftway.plan.sinkhorn` for plan/sinkhorn.py, `driftway.plan.__init__` for what a room exports."""
    return ".".join(("driftway", *path.relative_to(SOURCE).with_suffix("").parts))


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def order_on_the_page() -> dict[str, list[str]]:
    """What the tables of the page list, in their order: rooms ("" are all of them), and the files of each folder."""
    listed: dict[str, list[str]] = {"": []}
    for line in PAGE.read_text().partition("## Where names are")[0].splitlines():
        if row := re.fullmatch(r"\| `([\w/]+)` \|(?:.*\|)? ?(.*?) ?\|", line):
            folder, files = row[1], re.sub(r"\(.*?\)|`", "", row[2]).replace(" and ", ", ")
            listed[folder] = [name.strip() for name in files.split(",") if name.strip()]
            if "/" not in folder:
                listed[""].append(folder)
    return listed


def entries(folder: Path) -> set[str]:
    """The modules and packages in a folder; what a clone of another age left behind is neither."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


def resolved(name: str, *, module: bool) -> str:
    """The module that a dotted name leads to: itself, what a folder exports, or where a name in it comes from."""
    for candidate in (name, f"{name}.__init__"):
        if candidate in MODULES:
            return candidate
    assert not module, f"there is no module {name}"
    return resolved(name.rpartition(".")[0], module=True)


def imports_of(source: str) -> set[str]:
    """Every module of driftway that this source imports, at the top, in functions, for types only, or by name.

    What is imported by a name that only a run knows is told as "?".
    """
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert not node.level, "imports name the whole path"
            assert not (node.module == "importlib" and any(alias.asname for alias in node.names)), "under its own name"
            if (node.module or "").split(".")[0] == "driftway":
                found |= {resolved(f"{node.module}.{alias.name}", module=False) for alias in node.names}
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.split(".")[0] == "driftway"]
            found |= {resolved(name, module=True) for name in names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("import_module", "__import__"):
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            name = given[0].value if len(given) == 1 and isinstance(given[0], ast.Constant) else "?"
            if name == "?" or name.split(".")[0] == "driftway":
                found.add(name if name == "?" else resolved(name, module=True))
    return found


def imports() -> dict[str, set[str]]:
    """What every module imports."""
    found = {name: imports_of(path.read_text()) for name, path in MODULES.items()}
    unknown = {MODULES[name].relative_to(SOURCE).as_posix() for name, others in found.items() if "?" in others}
    assert unknown == NAMED_ELSEWHERE
    return {name: others - {"?"} for name, others in found.items()}


def test_imports_run_from_mathematics_to_application() -> None:
    rooms = [room for room in order_on_the_page()[""] if room not in LAST] + LAST
    upward = []
    for name, others in imports().items():
        room = name.split(".")[1]
        upward += [
            f"{name} imports {other}" for other in others if rooms.index(other.split(".")[1]) > rooms.index(room)
        ]
    assert upward == []


def test_imports_run_one_way_inside_rooms() -> None:
    """In the order of the page, where a folder counts as one; what a folder exports may come from all of it."""
    order, upward = order_on_the_page(), []
    for name, others in imports().items():
        path = name.split(".")[1:]
        for other in others:
            target = other.split(".")[1:]
            depth = next((k for k, (own, its) in enumerate(zip(path, target, strict=False)) if own != its), 0)
            if depth == 0 or path[depth] == "__init__":  # other rooms, or the same module
                continue
            files = order["/".join(path[:depth])]
            if target[depth] not in files[: files.index(path[depth])]:
                upward.append(f"{name} imports {other}")
    assert upward == []


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
    assert imports_of("import_module('.plan', package='driftway')") == {"?"}
    for refused in ("import_module('driftway.plan.swing')", "from importlib import import_module as load"):
        with pytest.raises(AssertionError):
            imports_of(refused)


def test_ls_is_the_architecture() -> None:
    order = order_on_the_page()
    assert len(order[""]) <= 18
    for folder, listed in order.items():
        if (SOURCE / folder).is_dir():
            assert sorted(listed) == sorted(entries(SOURCE / folder)), folder or "src/driftway"
    folders = {path.parent.relative_to(SOURCE).as_posix() for path in SOURCE.rglob("*/__init__.py")}
    assert folders <= set(order) | {"."}


def test_the_picture_has_the_imports_between_rooms() -> None:
    """Every arrow but those that others imply."""
    below: dict[str, set[str]] = {}
    for name, others in imports().items():
        below.setdefault(name.split(".")[1], set()).update(other.split(".")[1] for other in others)
    below = {room: others - {room, *LAST} for room, others in below.items() if room not in {"__init__", "__main__"}}

    def reached(room: str) -> set[str]:
        return below[room].union(*map(reached, below[room]))

    arrows = {(room, other) for room in below for other in below[room].difference(*map(reached, below[room]))}
    drawn: set[tuple[str, str]] = set()
    for line in PAGE.read_text().partition("```mermaid")[2].partition("```")[0].splitlines():
        drawn |= set(pairwise(line.strip().split(" --> ")))
    assert drawn == arrows


def walks_on_the_page() -> list[list[tuple[str, str]]]:
    """The numbered lists of the walks: files, and the functions that the data enters them by."""
    walks: list[list[tuple[str, str]]] = []
    text = PAGE.read_text().partition("## Two walks")[2].partition("## Where names are")[0]
    for number, file, function in re.findall(r"^(\d+)\. `([\w/]+\.py)`, `([\w.]+)`: ", text, re.M):
        walks += [[]] if number == "1" else []
        assert len(walks[-1]) == int(number) - 1
        walks[-1].append((file, function))
    return walks


def traced(call: Callable[[], object]) -> list[tuple[str, str]]:
    """The functions that a call enters, each once, as (file, name)."""
    entered: dict[tuple[str, str], None] = {}

    def enter(frame: FrameType, event: str, argument: object) -> None:
        file = Path(frame.f_code.co_filename)
        if SOURCE in file.parents:
            entered.setdefault((file.relative_to(SOURCE).as_posix(), frame.f_code.co_qualname))

    before = sys.gettrace()
    sys.settrace(enter)
    try:
        call()
    finally:
        sys.settrace(before)
    return list(entered)


def test_the_walks_are_those_that_calls_take() -> None:
    """Every function of the page is entered, after those that stand before it."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(200, 2)) + 0.5

    def solved() -> driftway.Solution:
        cost, smooth = driftway.PointCloudCost(X, Y), driftway.TimeSmoothness(Y, previous=X, weight=0.2)
        return driftway.solve(driftway.Problem(cost, epsilon=0.2, regularizer=smooth))

    y = np.arange(300) % 2
    source = X + 4.0 * y[:, None]
    model = driftway.ContinuousTransportClassifier().fit(source, y)
    solved()  # what is compiled now is not traced, which would take minutes
    deepcopy(model).partial_fit(source[:100] + 0.5)
    calls = solved, lambda: model.partial_fit(source[:100] + 0.5), lambda: model.predict(source)
    for walk, call in zip(walks_on_the_page(), calls, strict=True):
        assert len(walk) <= 15
        entered = traced(call)
        assert [step for step in entered if step in walk] == walk


def test_the_top_of_the_repository_has_nothing_that_was_left_there() -> None:
    """A trial run once left its tables in the working directory, and they were committed."""
    top = PAGE.parent.parent
    if not (top / ".git").exists():
        pytest.skip("this is no clone")
    told = subprocess.run(["git", "ls-files", "-z"], cwd=top, check=True, capture_output=True, text=True).stdout
    assert {name.partition("/")[0] for name in told.split("\0") if name} <= TOP


def test_nothing_is_named_after_nothing() -> None:
    vague = {"utils", "helpers", "common", "misc", "base"}
    assert not [path for path in SOURCE.rglob("*.py") if vague & {path.stem, path.parent.name}]


def test_the_public_names_are_those_listed() -> None:
    public = {name for name in dir(driftway) if not name.startswith("_")}
    modules = {path.stem for path in SOURCE.iterdir()} | {"TYPE_CHECKING", "lazily"}
    assert public - modules == set(driftway.__all__) - modules


EXPORTING = [name for name, path in MODULES.items() if path.name == "__init__.py" and "__all__" in path.read_text()]


@pytest.mark.parametrize("name", EXPORTING)
def test_what_a_room_exports_is_there_and_documented(name: str) -> None:
    if name == "driftway.river.__init__":
        pytest.importorskip("river")
    module = import_module(name.removesuffix(".__init__"))
    exported = {each: getattr(module, each) for each in module.__all__}
    undocumented = [
        each
        for each, kind in exported.items()
        if callable(kind) and (not kind.__doc__ or kind.__doc__.startswith((f"{each}(", "Alias for field")))
    ]
    assert undocumented == []
    assert set(exported) <= set(dir(module))


def test_few_pay_for_engines_that_few_use() -> None:
    rooms = "driftway.engines.dask", "driftway.engines.torch"
    code = f"import sys, driftway; print([name for name in {rooms} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
    with pytest.raises(AttributeError, match=r"module 'driftway\.engines' has no attribute 'Thread'"):
        _ = import_module("driftway.engines").Thread


def test_types_ship() -> None:
    assert files("driftway").joinpath("py.typed").is_file()


def test_importing_loads_no_optional_dependency() -> None:
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
