"""Every constant of the adaptation and of the solver stands in docs/tuning.md, with the value that it has."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import driftway

SOURCE = Path(driftway.__file__).parent
ROOMS = ("solvers", "plan", "engines", "regularizers")
PAGE = Path(__file__).parent.parent / "docs" / "tuning.md"
# The form of files, and names that choose objects: nothing that anything is decided by.
PASSED_OVER = {
    "persistence.py",
    "saved.py",
    "tracker_arrays.py",
    "parameters.py",
    "resolution.py",
    "tracks.py",
    "shapes.py",
    "permitted.py",
    "cells.py",
}
NO_NUMBERS = {"COLUMNS", "RARER", "MISSING"}
# Polynomials and bits of floating-point numbers.
COEFFICIENTS = {"exp2.py"}


def constants(path: Path) -> list[str]:
    """The names in capitals that a module assigns at its top level."""
    found = []
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        names = [node.id for target in targets if target for node in ast.walk(target) if isinstance(node, ast.Name)]
        found += [name for name in names if name.isupper() and name not in NO_NUMBERS]
    return found


def rows() -> dict[str, dict[str, str]]:
    """What the page says the values are: by file and name."""
    found: dict[str, dict[str, str]] = {}
    files: list[str] = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            files = [f"adaptation/{file}" for file in line.removeprefix("## ").split(", ")]
        elif line.startswith("### "):
            files = [line.removeprefix("### ")]
        elif line.startswith("| `"):
            name, value = (cell.strip(" `") for cell in line.split("|")[1:3])
            file = f"adaptation/{name.partition('.')[0]}.py" if "." in name else files[0]
            assert file in files, f"{name} stands under {files}"
            found.setdefault(file, {})[name.rpartition(".")[2]] = value
    return found


def numbers(path: Path) -> list[str]:
    """The constants of a module that are numbers of Python: coefficients for compiled code and records are not."""
    module = import_module(module_of(path))
    return [name for name in constants(path) if _is_number(getattr(module, name))]


def _is_number(value: object) -> bool:
    return type(value) in (int, float) or (type(value) is tuple and all(map(_is_number, value)))


def module_of(path: Path) -> str:
    return ".".join(("driftway", *path.relative_to(SOURCE).with_suffix("").parts))


ADAPTATION = [path for path in sorted((SOURCE / "adaptation").rglob("*.py")) if path.name not in PASSED_OVER]
SOLVER = [path for room in ROOMS for path in sorted((SOURCE / room).rglob("*.py")) if path.name not in COEFFICIENTS]
FILES = {path.relative_to(SOURCE).as_posix(): path for path in (*ADAPTATION, *SOLVER)}


@pytest.mark.parametrize("name", [name for name, path in FILES.items() if path in ADAPTATION and constants(path)])
def test_every_constant_stands_on_the_page_with_its_value(name: str) -> None:
    assert_told(name, constants(FILES[name]))


@pytest.mark.parametrize("name", [name for name, path in FILES.items() if path in SOLVER and constants(path)])
def test_every_number_of_the_solver_stands_on_the_page_with_its_value(name: str) -> None:
    if "compiled" in name or "kernels" in name or "plans" in name:
        pytest.importorskip("numba")
    assert_told(name, numbers(FILES[name]))


def assert_told(name: str, wanted: list[str]) -> None:
    """Whether a file's constants stand on the page with the values that they have."""
    module, told, missing = import_module(module_of(FILES[name])), rows().get(name, {}), []
    for constant in wanted:
        value = getattr(module, constant)
        number = isinstance(value, int | float | tuple)
        if constant not in told or (number and ast.literal_eval(told[constant]) != value):
            missing.append(f"| `{constant}` | `{value}` |")
    assert not missing, f"docs/tuning.md, under {name}: {' '.join(missing)}"


def test_the_page_names_nothing_that_is_gone() -> None:
    for name, told in rows().items():
        assert name in FILES, name
        assert set(told) <= set(constants(FILES[name])), name


def test_the_page_counts_the_numbers_of_the_solver() -> None:
    """The numbers of each kind that it tells add up to how many there are."""
    pytest.importorskip("numba")
    page = " ".join(PAGE.read_text(encoding="utf-8").split())
    pattern = (
        r"Of these (\d+) numbers (\d+) follow .*?, (\d+) are sizes .*?, and (\d+) are guards\. The other (\d+) were"
    )
    found = re.search(pattern + r" chosen: (\d+) are measured below, (\d+) were measured once, and (\d+) stand", page)
    assert found is not None
    count, *kinds, chosen, measured, once, argued = map(int, found.groups())
    assert count == sum(kinds) + chosen == sum(len(numbers(path)) for path in SOLVER)
    assert chosen == measured + once + argued
