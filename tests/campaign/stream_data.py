"""Labelled sources, streams that drift, and what may go wrong with a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Spec = dict[str, Any]
Double = NDArray[np.float64]

DRIFTS = ("none", "shift", "gain", "turn", "mix", "offset")
# Faults that make a batch one that cannot be used, and faults that do not.
UNUSABLE = ("empty", "one row", "constant", "infinite", "columns", "text", "flat", "all missing")
USABLE = ("garbage", "outlier", "missing", "single", "integers", "twice", "one class", "swapped", "far away", "large")
PROBES = 12


class Batch(NamedTuple):
    """What is given to the library, and the true targets of its rows, if they have any."""

    X: Any
    y: NDArray[Any] | None
    fault: str


class Stream(NamedTuple):
    X: Double
    y: NDArray[Any]
    batches: list[Batch]
    probes: Double


def draw_stream(rng: np.random.Generator) -> Spec:
    """A stream as plain numbers; a tenth are calm ones of classes that are far apart, with one batch of garbage."""
    spec = _drawn(rng)
    if rng.random() < 0.1:
        calm = {"regression": False, "apart": 7.0, "m": 30, "n": 48, "code": False, "weighted": False, "steps": 5}
        spec |= {
            **calm,
            "d": 2,
            "classes": 2,
            "drift": "shift",
            "rate": 0.1,
            "faults": {"2": "garbage"},
            "saved after": 1,
        }
        spec["model"] = {name: spec["model"][name] for name in ("estimator", "hypotheses", "on_bad_batch")}
    return spec


def _drawn(rng: np.random.Generator) -> Spec:
    steps = int(rng.integers(3, 7))
    faults = {}
    if rng.random() < 0.75:
        pool = UNUSABLE if rng.random() < 0.4 else USABLE
        faults[str(int(rng.integers(1, steps)))] = str(rng.choice(pool if rng.random() < 0.7 else ("garbage",)))
    return {
        "seed": int(rng.integers(2**31)),
        "regression": bool(rng.random() < 0.2),
        "n": int(rng.integers(12, 61)),
        "m": int(rng.integers(6, 41)),
        "d": int(rng.integers(1, 5)),
        "classes": int(rng.integers(2, 5)),
        "apart": round(float(rng.uniform(1.0, 8.0)), 2),
        "unit": round(float(rng.uniform(-8, 8)), 2) if rng.random() < 0.3 else 0.0,
        "code": bool(rng.random() < 0.15),
        "labels": str(rng.choice(["numbers", "texts", "far numbers", "booleans"])),
        "drift": str(rng.choice(DRIFTS)),
        "rate": round(float(rng.uniform(0.0, 0.4)), 3),
        "steps": steps,
        "faults": faults,
        "weighted": bool(rng.random() < 0.1),
        "saved after": int(rng.integers(0, steps)),
        "model": draw_model(rng),
    }


def draw_model(rng: np.random.Generator) -> Spec:
    """The estimator's parameters; most are the defaults."""
    chosen: Spec = {
        "estimator": str(rng.choice(["logistic", "nearest", "tree", "paper", "auto"], p=[0.4, 0.25, 0.15, 0.17, 0.03])),
        "hypotheses": str(rng.choice(["auto", "sensors", "transport"], p=[0.5, 0.25, 0.25])),
        "on_bad_batch": str(rng.choice(["raise", "skip"])),
    }
    others: dict[str, list[Any]] = {
        "map": ["barycentric", "affine", "auto"],
        "motion": [None, "affine", "auto"],
        "labels": ["plan", "classifier"],
        "source": ["renewed"],
        "marginals": ["estimated"],
        "clusters": [False],
        "scale": [None],
        "stay": [False],
        "cost": ["static"],
        "metric": ["euclidean"],
        "epsilon": [0.02, 1.0],
        "time_weight": [0.3],
        "label_weight": [0.5],
    }
    for name, values in others.items():
        if rng.random() < 0.1:
            value = values[rng.integers(len(values))]
            chosen[name] = value
    if "map" in chosen or "motion" in chosen:  # they are chosen together
        chosen |= (
            {"map": "affine", "motion": "affine"} if rng.random() < 0.5 else {"map": "barycentric", "motion": None}
        )
    return chosen


def stream_of(spec: Spec) -> Stream:
    """The arrays of a stream."""
    rng = np.random.default_rng(spec["seed"])
    d, unit = spec["d"], 10.0 ** spec["unit"]
    centres = rng.normal(size=(spec["classes"], d))
    centres *= spec["apart"] / max(np.linalg.norm(centres, axis=1).mean(), 1e-3)
    groups = np.arange(spec["n"]) % spec["classes"]
    X = _points(rng, centres, groups, spec)
    batches = []
    for t in range(1, spec["steps"] + 1):
        share = min(0.9, 1.0 / spec["classes"] + (spec["rate"] * t if spec["drift"] == "mix" else 0.0))
        truth = np.where(rng.random(spec["m"]) < share, 0, rng.integers(0, spec["classes"], spec["m"]))
        points = moved(_points(rng, centres, truth, spec), spec["drift"], spec["rate"] * t)
        fault = spec["faults"].get(str(t), "")
        batches.append(_faulty(rng, unit * points, _targets(spec, truth, points), fault))
    return Stream(
        unit * X, _targets(spec, groups, X), batches, unit * (centres.mean(axis=0) + rng.normal(size=(PROBES, d)))
    )


def _points(rng: np.random.Generator, centres: Double, groups: NDArray[np.intp], spec: Spec) -> Double:
    X = centres[groups] + rng.normal(size=(len(groups), centres.shape[1]))
    if spec["code"]:
        X[:, -1] = rng.integers(0, 2, len(X))
    return X


def moved(X: Double, drift: str, amount: float) -> Double:
    """Points after so much drift."""
    X = X.copy()
    if drift == "shift":
        X += amount
    elif drift == "gain":
        X *= 1.0 + amount
    elif drift == "offset":
        X[:, 0] += 2.0 * amount
    elif drift == "turn" and X.shape[1] > 1:
        c, s = np.cos(amount), np.sin(amount)
        X[:, :2] = X[:, :2] @ np.array([[c, s], [-s, c]])
    return X


def _targets(spec: Spec, groups: NDArray[np.intp], X: Double) -> NDArray[Any]:
    if spec["regression"]:
        return X[:, 0] + 3.0 * groups
    names = {
        "numbers": np.arange(4),
        "texts": np.array(["a", "=b", "ç d", ""]),
        "far numbers": np.array([-7, 10**12, 3, 5]),
        "booleans": np.array([False, True]),
    }[spec["labels"]]
    return names[groups % len(names)]


def _faulty(rng: np.random.Generator, X: Double, y: NDArray[Any], fault: str) -> Batch:
    """The batch with a fault; targets only where rows still mean what they meant."""
    n, d = X.shape
    spread = max(float(np.ptp(X)), 1e-30)
    if fault == "garbage":
        return Batch(X.mean() + spread * rng.uniform(-20, 20, size=(n, d)), None, fault)
    if fault == "outlier":
        X[0] += 1e3 * spread
    elif fault == "missing":
        X[rng.random(X.shape) < 0.2] = np.nan
    elif fault == "one class":
        X, y = X[y == y[0]], y[y == y[0]]
    elif fault == "infinite":
        X[rng.integers(n), rng.integers(d)] = np.inf
    elif fault == "all missing":
        X[:, rng.integers(d)] = np.nan
    elif fault == "swapped":
        return Batch(X[:, ::-1].copy(), None, fault)
    elif fault == "far away":
        return Batch(X + 1e6 * spread, None, fault)
    given: Any = {
        "empty": lambda: X[:0],
        "one row": lambda: X[:1],
        "constant": lambda: np.repeat(X[:1], n, axis=0),
        "columns": lambda: np.hstack([X, X[:, :1]]),
        "text": lambda: np.full((n, d), "x"),
        "flat": lambda: X[:, 0],
        "single": lambda: X.astype(np.float32),
        "integers": lambda: np.round(X / spread * 100).astype(np.int64),
        "twice": lambda: np.vstack([X, X]),
        "large": lambda: 1e150 * X,
    }.get(fault, lambda: X)()
    if fault == "twice":
        return Batch(given, np.concatenate([y, y]), fault)
    return Batch(given, y if len(given) == len(y) and fault in ("", "outlier", "single", "one class") else None, fault)


def usable(X: Any, d: int) -> bool | None:
    """Whether a batch can be used: finite numbers in so many columns, two different rows of which are whole.

    `None` where either answer is right: numbers so large that their squares are none.
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] != d or X.dtype.kind not in "fiu":
        return False
    X = X.astype(np.longdouble)
    if np.isinf(X).any():
        return False
    whole = X[~np.isnan(X).any(axis=1)]
    if len(whole) < 2 or not (whole != whole[0]).any():
        return False
    return None if np.abs(whole).max() > 1e140 else True
