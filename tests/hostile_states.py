"""Saved states that are damaged in every way: bytes, members, arrays and JSON, by a seed."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor

Model = ContinuousTransportClassifier | ContinuousTransportRegressor
FOREIGN = [None, True, -1, 0, 10**30, -0.5, float("nan"), "", "=x", [], [1], {}, {"given": "f"}, [[[]]], "auto"]
FOREIGN += [{"estimator": name, "module": "sklearn.x", "parameters": {}} for name in ("Pipeline", "system", "Ridge")]


def states(folder: Path, *, short: bool = False) -> dict[Path, type[Model]]:
    """States of several kinds, each after two or three batches."""
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    draws = [(rng.normal(size=(24, 2)) + 3.0 * y[:, None]) * (1 + 0.1 * t) + 0.2 * t for t in range(4)]
    quick = {"hypotheses": "sensors"}
    models: dict[str, Model] = {
        "transport": ContinuousTransportClassifier(map="barycentric", motion=None),
        "sensors": ContinuousTransportClassifier(KNeighborsClassifier(3), **quick),
        "both": ContinuousTransportClassifier(LogisticRegression()),
        "regression": ContinuousTransportRegressor(Ridge()),
        "renewed": ContinuousTransportClassifier(source="renewed"),
        "affine": ContinuousTransportRegressor(map="affine", motion="affine"),
    }
    found = {}
    for name, model in list(models.items())[: 2 if short else None]:
        targets = np.where(y, "b", "a") if isinstance(model, ContinuousTransportClassifier) else draws[0][:, 0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(draws[0], targets)
            for draw in draws[1 : 2 if short else 4]:
                model.partial_fit(draw)
        path = folder / f"{name}.npz"
        model.save(path, notes={"batches": [{"name": "a.csv", "score": None}]})
        found[path] = type(model)
    return found


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content of a state, damaged in one of several ways."""
    way = rng.integers(5)
    if way == 0:
        return _flipped(content, rng)
    if way == 1:
        return content[: rng.integers(len(content))]
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    names = [name for name in arrays if name != "header"]
    name = names[rng.integers(len(names))]
    if way == 2:
        arrays.pop(name if rng.random() < 0.9 else "header")
    elif way == 3:
        arrays[name] = _other(arrays[name], rng)
    else:
        header = json.loads(arrays["header"].tobytes())
        _change(header, rng)
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for key, array in arrays.items():
            with archive.open(f"{key}.npy", "w") as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
    return out.getvalue()


def _flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes are others, half of the time in the directory at the end, where sizes and methods are declared."""
    changed = bytearray(content)
    first = 0 if rng.random() < 0.5 else max(0, len(content) - 4000)
    for at in rng.integers(first, len(content), size=rng.integers(1, 4)):
        changed[at] = rng.integers(256)
    return bytes(changed)


def _other(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """An array of another shape, type or content."""
    numbers = array.dtype.kind in "fiu"
    ways = [
        lambda: array[None],
        lambda: array.ravel()[:-1] if array.size else np.zeros(3),
        lambda: array.astype(np.float32) if numbers else array.astype("U9"),
        lambda: array.astype("U30"),
        lambda: np.zeros((0,) * array.ndim),
        lambda: np.full(array.shape, np.nan),
        lambda: np.full(array.shape, np.inf),
        lambda: np.full_like(array, -1 if array.dtype.kind in "fi" else 0),
        lambda: np.full_like(array, 10**6 if numbers else 0),
        lambda: array * 1e200 if array.dtype.kind == "f" else np.ones(array.shape, dtype=np.complex128),
        lambda: np.zeros_like(array),
        lambda: np.repeat(array, 2, axis=-1) if array.ndim else np.zeros(2),
        lambda: array.T[..., ::-1] if array.ndim else np.ones(1),
    ]
    return ways[rng.integers(len(ways))]()


def _change(header: dict[str, Any], rng: np.random.Generator) -> None:
    """Some value at some depth is another one, or gone."""
    place: Any = header
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = keys[rng.integers(len(keys))]
        below = place[key]
        if isinstance(below, dict | list) and below and rng.random() < 0.8:
            place = below
            continue
        if rng.random() < 0.2:
            place.pop(key)
        else:
            place[key] = FOREIGN[rng.integers(len(FOREIGN))]
        return


def outcomes(folder: Path, rounds: int, seed: int, *, short: bool = False) -> Counter[str]:
    """How many damaged states were refused, and how many went on; everything else by the kind of error.

    What was taken up must predict and go on, or refuse to with a ValueError.
    """
    rng, found = np.random.default_rng(seed), Counter[str]()
    whole = states(folder, short=short)
    contents = {path: path.read_bytes() for path in whole}
    batch = np.random.default_rng(1).normal(size=(12, 2)) + 1.0
    for number in range(rounds):
        path, kind = list(whole.items())[number % len(whole)]
        other = folder / "damaged.npz"
        other.write_bytes(damaged(contents[path], rng))
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                model = kind.load(other)
            except ValueError as error:
                told = str(error)
                good = "damaged.npz" in told and "\n" not in told
                found["refused" if good else f"refused without its name: {told}"] += 1
                continue
            except Exception as error:
                found[f"{path.stem} {number}: {type(error).__name__}: {error}"] += 1
                continue
            try:
                model.predict(batch)
                model.partial_fit(batch)
                found["went on"] += 1
            except Exception as error:
                found[f"after load, {path.stem} {number}: {type(error).__name__}: {error}"] += 1
    return found


if __name__ == "__main__":
    import sys
    import tempfile

    with tempfile.TemporaryDirectory() as temporary:
        for what, count in outcomes(Path(temporary), int(sys.argv[1]), int(sys.argv[2])).most_common():
            sys.stdout.write(f"{count} {what}\n")
