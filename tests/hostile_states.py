"""Saved states that are damaged in every way: bytes, members, arrays and JSON, by a seed."""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from tests.campaign.file_data import cut, flipped, header, members

Model = ContinuousTransportClassifier | ContinuousTransportRegressor


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
    ways = (flipped, cut, members, members, header)
    return ways[rng.integers(len(ways))](content, rng)


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
