"""Random transport problems as plain numbers: what is drawn, what is printed and what is solved again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

Spec = dict[str, Any]

LARGEST = 24  # rows or columns: what breaks in a large problem and not in a small one is looked for by benchmarks
COSTS = ("matrix", "euclidean", "sqeuclidean")
TERMS = (
    "lasso",
    "time-mean",
    "time-sum",
    "time-coupling",
    "laplacian-source",
    "laplacian-target",
    "wasserstein",
    "square",
)
SOLVERS = (
    "Sinkhorn",
    "ForwardBackward",
    "Accelerated",
    "ConditionalGradient",
    "FrankWolfe",
    "DualAscent",
    "DualNewton",
)
# Frank–Wolfe takes longer than all other solvers together, and so does WassersteinTime among the terms.
SHARES = (0.1, 0.18, 0.18, 0.18, 0.02, 0.17, 0.17)
TERM_SHARES = (0.2, 0.15, 0.15, 0.12, 0.12, 0.12, 0.02, 0.12)


def draw(rng: np.random.Generator, engines: tuple[str, ...]) -> Spec:
    """A problem; half of its features are ordinary and the others at the ends of what is allowed."""

    def exponent(ordinary: float, extreme: float, share: float) -> float:
        reach = extreme if rng.random() < share else ordinary
        return round(float(rng.uniform(-reach, reach)), 3)

    n, m = (1 if rng.random() < 0.07 else int(np.exp(rng.uniform(np.log(2), np.log(LARGEST + 1)))) for _ in "nm")
    single = bool(rng.random() < 0.1)
    count = int(rng.choice([0, 1, 2, 3], p=[0.15, 0.55, 0.25, 0.05]))
    strengths = [10 ** exponent(1.5, 11.0, 0.12) for _ in range(count)]
    return {
        "seed": int(rng.integers(2**31)),
        "n": n,
        "m": m,
        "cost": str(rng.choice(COSTS)),
        "cost_exponent": exponent(2.0, 30.0 if single else 100.0, 0.3),
        "epsilon": 0.0 if rng.random() < 0.04 else float(f"{10 ** rng.uniform(-3, 1):.3g}"),
        # Most solves that take long are of problems whose plan is stiff: to look at few of them to the end is enough.
        "iterations": 1000 if rng.random() < 0.15 else 200,
        "single": single,
        "mass_exponent": exponent(0.0 if rng.random() < 0.5 else 2.0, 50.0 if single else 12.0, 0.3),
        "tiny_row": round(float(rng.uniform(5, 100)), 1) if rng.random() < 0.12 else 0.0,
        "tiny_column": round(float(rng.uniform(5, 100)), 1) if rng.random() < 0.12 else 0.0,
        "zeros": bool(rng.random() < 0.1),
        "terms": [[str(rng.choice(TERMS, p=TERM_SHARES)), float(f"{strength:.3g}")] for strength in strengths],
        "runs": sorted({(str(rng.choice(SOLVERS, p=SHARES)), str(rng.choice(engines))) for _ in range(2)}),
    }


def is_ordinary(spec: Spec) -> bool:
    """Whether none of a problem's features is at the ends of what is allowed, so that no solve of it may be refused."""
    plain = not (spec["tiny_row"] or spec["tiny_column"] or spec["single"])
    near = max(abs(spec["cost_exponent"]), abs(spec["mass_exponent"])) <= 2.0
    return plain and near and all(abs(np.log10(strength)) <= 1.5 for _, strength in spec["terms"])


def simpler(spec: Spec) -> Iterator[Spec]:
    """Problems that are a little simpler than this one, the greatest simplifications first."""
    for run in spec["runs"] if len(spec["runs"]) > 1 else []:
        yield {**spec, "runs": [run]}
    if spec["runs"]:
        yield {**spec, "runs": []}
    for k in range(len(spec["terms"])):
        yield {**spec, "terms": spec["terms"][:k] + spec["terms"][k + 1 :]}
    plain = {"tiny_row": 0.0, "tiny_column": 0.0, "zeros": False, "single": False, "cost": "matrix"}
    plain |= {"cost_exponent": 0.0, "mass_exponent": 0.0, "epsilon": 0.1}
    for name, value in plain.items():
        if spec[name] != value:
            yield {**spec, name: value}
    for name in ("n", "m"):
        yield from ({**spec, name: size} for size in {1, 2, spec[name] // 2, spec[name] - 1} if 0 < size < spec[name])
    for k, (name, strength) in enumerate(spec["terms"]):
        if strength != 1.0:
            yield {**spec, "terms": [*spec["terms"][:k], [name, 1.0], *spec["terms"][k + 1 :]]}
