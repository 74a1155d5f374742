"""The numbers on disk: JSON, one file per part, with NaN as null."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).resolve().parent / "results"


def save(data: dict[str, Any], folder: Path, name: str) -> Path:
    """Writes a part, and returns where."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps(_plain(data), indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    return path


def save_lines(data: dict[str, Any], folder: Path, name: str) -> Path:
    """Writes a part that is a list of many small runs: one per line, numbers of four digits."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    head, runs = {key: item for key, item in data.items() if key != "runs"}, data["runs"]
    lines = [json.dumps(_plain(run, 4), ensure_ascii=False, allow_nan=False) for run in runs]
    start = json.dumps(_plain(head), ensure_ascii=False)[:-1]
    path.write_text(start + ', "runs": [\n' + ",\n".join(lines) + "\n]}\n", encoding="utf-8")
    return path


def load(folder: Path, name: str) -> dict[str, Any] | None:
    """Reads a part, if it was ever written."""
    path = folder / f"{name}.json"
    if not path.exists():
        return None
    loaded: dict[str, Any] = _restored(json.loads(path.read_text(encoding="utf-8")))
    return loaded


def _plain(value: Any, digits: int = 6) -> Any:
    """JSON knows neither NaN nor infinity, nor NumPy's numbers."""
    if isinstance(value, dict):
        return {str(key): _plain(item, digits) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, digits) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return float(f"{value:.{digits}g}")
    return value


# A number that was no number: everything read from a file is prepared for it.
_NUMBERS = {"gap", "marginal_error", "certified", "median", "seconds", "budget", "beside", "value"}


def _restored(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _restored(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_restored(item) for item in value]
    return math.nan if value is None and key in _NUMBERS else value
