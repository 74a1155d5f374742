"""The report of a run: a snapshot of every step is kept in a file, so that the page can be drawn at any time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.cli.estimators import Estimator
from driftway.cli.failures import UserError, as_error_of_file
from driftway.cli.places import Places
from driftway.files import Table
from driftway.files.atomic import replacing
from driftway.files.errors import in_short


class Pages:
    """Takes and saves a snapshot of every step; `source` are its points as numbers."""

    def __init__(self, places: Places, source: npt.NDArray[np.float64]) -> None:
        from driftway.report import Projection

        self._places = places
        self._projection = Projection.fit(source)

    def keep(self, estimator: Estimator, batch: Table, name: str, truth: Any, baseline: Estimator) -> None:
        """Saves what the report shows of the step just made, and the file of its batch.

        With labels (`truth`) the snapshot has the scores of the estimator and of the `baseline`, which never adapts.
        """
        from driftway.report import take_snapshot

        shot = take_snapshot(estimator, name, batch.X, self._projection, truth=truth, baseline=baseline)
        kept = {"batch": name, "sha256": batch.digest, "snapshot": shot.to_dict()}
        with replacing(self._places.step(estimator.n_steps_)) as part:
            part.write_text(json.dumps(kept), encoding="utf-8")


def draw(places: Places, estimator: Estimator, title: str) -> Path | None:
    """Writes the report of all saved steps and returns its path; None if there are no steps."""
    from driftway.report import Snapshot, write_report

    paths = [places.step(number + 1) for number in range(estimator.n_steps_)]
    shots = []
    for path in paths:
        if path.exists():
            with as_error_of_file(f"{path}: damaged, or not written by driftway adapt"):
                shots.append(Snapshot.from_dict(kept(path)["snapshot"]))
    if not shots:
        return None
    with as_error_of_file(f"{places.steps}: damaged, or not written by driftway adapt"):
        write_report(places.report, shots, estimator=estimator, title=title)
    return places.report


def kept(path: Path) -> dict[str, Any]:
    """The saved content of a step's file."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["batch"], str) or not isinstance(found["snapshot"], dict):
            raise ValueError("it must have the name of a batch and a snapshot")
    except Exception as error:
        raise UserError(f"{path}: damaged, or not written by driftway adapt ({in_short(error)})") from None
    return found
