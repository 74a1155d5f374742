"""The main job, on two moons that turn: a labelled source once, then unlabelled batches, and a report to look at.

500 source points; every step the moons turn by 18° and 50 unlabelled points arrive, as in the paper's experiments.
The labels of the batches are kept aside, and only tell how well it went.

Needs: driftway[report,progress]
Run:  python examples/rotating_moons.py [FILE.html]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, adapt_stream
from driftway.report import Projection, Snapshot, take_snapshot, write_report

Double = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]


def rotating_moons(count: int, degrees: float, seed: int) -> tuple[Double, Labels]:
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


def adapt_to_moons(steps: int = 20, size: int = 50) -> tuple[ContinuousTransportClassifier, list[Snapshot]]:
    """The adapted classifier, and what it looked like at every step."""
    X, y = rotating_moons(500, 0.0, seed=0)
    model, unadapted = ContinuousTransportClassifier().fit(X, y), KNeighborsClassifier(1).fit(X, y)
    degrees = [18 * step for step in range(1, steps + 1)]
    batches = [rotating_moons(size, angle, seed=step) for step, angle in enumerate(degrees, start=1)]
    stream = [(f"{angle}°", points) for angle, (points, _) in zip(degrees, batches, strict=True)]
    projection, shots = Projection.fit(X), []
    for adapted, (points, truth) in zip(adapt_stream(model, stream, progress=True), batches, strict=True):
        shots.append(take_snapshot(model, adapted.key, points, projection, truth, baseline=unadapted))
    return model, shots


def table(shots: Sequence[Snapshot]) -> str:
    """A line per step."""
    header = (
        f"{'step':>4} {'turned':>7} {'accuracy':>9} {'unadapted':>10} {'confidence':>11} "
        f"{'signal':>7} {'transport':>10} {'gap':>9}  track"
    )
    lines = [
        f"{shot.record['step']:>4} {shot.key:>7} {shot.score:>9.1%} {shot.baseline:>10.1%} {shot.confidence:>11.1%} "
        f"{number(shot.record['signal'], '.1f'):>7} {shot.record['transport']:>10.4f} "
        f"{number(shot.record['gap'], '.1e'):>9}  {shot.record['track']}"
        for shot in shots
    ]
    return "\n".join([header, *lines])


def number(value: float | None, form: str) -> str:
    """A number, or a dash where there is none: no signal at first, no gap where no plan answered."""
    return "–" if value is None else format(value, form)


def main() -> None:
    """Adapts, prints the table, and writes the report."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "demo/report.html")
    print("500 labelled points; then 20 batches of 50 unlabelled ones, turned by 18° each. The first step compiles.")
    model, shots = adapt_to_moons()
    print(table(shots))
    path.parent.mkdir(parents=True, exist_ok=True)
    write_report(path, shots, estimator=model, title="Two moons that turn by 18° per step")
    print(f"\nThe report is at {path}: open it in a browser.")


if __name__ == "__main__":
    main()
