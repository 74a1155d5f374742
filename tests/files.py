"""A small stream of files, and a way to call the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons

from driftway.files import write_table

Columns = dict[str, np.ndarray]


def moons(steps: int, *, n: int = 60, m: int = 30) -> tuple[Columns, list[Columns]]:
    """A labelled source and turning batches, as columns; every second batch has labels that nobody needs."""
    source, *batches = (_columns(t, n if t == 0 else m) for t in range(steps + 1))
    for batch in batches[::2]:
        del batch["kind"]
    return source, batches


def _columns(t: int, size: int) -> Columns:
    X, y = make_moons(size, noise=0.05, random_state=t)
    angle = np.deg2rad(18 * t)
    X = X @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    names = np.array([f"{t:03d}-{k:03d}" for k in range(size)])
    return {"name": names, "east": X[:, 0], "north": X[:, 1], "kind": np.where(y, "upper", "lower")}


def write_stream(folder: Path, steps: int, ending: str = "csv") -> tuple[Path, list[Path]]:
    """The stream as files."""
    folder.mkdir(parents=True, exist_ok=True)
    source, batches = moons(steps)
    paths = [folder / f"source.{ending}", *(folder / f"batch{t + 1:02d}.{ending}" for t in range(steps))]
    for path, columns in zip(paths, [source, *batches], strict=True):
        write_table(path, columns)
    return paths[0], paths[1:]


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder and those in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
