"""Every constant of the adaptation stands in docs/tuning.md, with the value that it has."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import driftway.adaptation

ROOM = Path(driftway.adaptation.__file__).parent
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
}
NO_NUMBERS = {"COLUMNS"}


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
            files = line.removeprefix("## ").split(", ")
        elif line.startswith("| `"):
            name, value = (cell.strip(" `") for cell in line.split("|")[1:3])
            file = f"{name.partition('.')[0]}.py" if "." in name else files[0]
            assert file in files, f"{name} stands under {files}"
            found.setdefault(file, {})[name.rpartition(".")[2]] = value
    return found


FILES = {path.relative_to(ROOM).as_posix(): path for path in sorted(ROOM.rglob("*.py"))}
WITH_CONSTANTS = [name for name, path in FILES.items() if name not in PASSED_OVER and constants(path)]


@pytest.mark.parametrize("name", WITH_CONSTANTS)
def test_every_constant_stands_on_the_page_with_its_value(name: str) -> None:
    module = import_module("driftway.adaptation." + name.removesuffix(".py").replace("/", "."))
    told, missing = rows().get(name, {}), []
    for constant in constants(FILES[name]):
        value = getattr(module, constant)
        number = isinstance(value, int | float | tuple)
        if constant not in told or (number and ast.literal_eval(told[constant]) != value):
            missing.append(f"| `{constant}` | `{value}` |")
    assert not missing, f"docs/tuning.md, under {name}: {' '.join(missing)}"


def test_the_page_names_nothing_that_is_gone() -> None:
    for name, told in rows().items():
        assert name in FILES, name
        assert set(told) <= set(constants(FILES[name])), name
