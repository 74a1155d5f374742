"""The run as a page: what is shown of each step is kept as data, so that the page can be drawn at any time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from driftway.cli.estimators import Estimator
from driftway.cli.failures import UserError, blamed_on
from driftway.cli.places import Places
from driftway.files import Table, in_short
from driftway.files.atomic import replacing


class Pages:
    """Takes a snapshot of every step, and draws them."""

    def __init__(self, places: Places, source: Table) -> None:
        from driftway.report import Projection

        self._places = places
        self._projection = Projection.fit(source.X)

    def keep(self, estimator: Estimator, batch: Table, name: str, truth: Any, baseline: Estimator) -> None:
        """Keeps what the report shows of the step just made, and which file it was.

        With labels (`truth`) it shows beside the score that of the `baseline`, which was never adapted.
        """
        from driftway.report import take_snapshot

        shot = take_snapshot(estimator, name, batch.X, self._projection, truth=truth, baseline=baseline)
        kept = {"batch": name, "sha256": batch.digest, "snapshot": shot.to_dict()}
        with replacing(self._places.step(estimator.n_steps_)) as part:
            part.write_text(json.dumps(kept), encoding="utf-8")


def draw(places: Places, estimator: Estimator, title: str) -> Path | None:
    """Draws the steps that the estimator has made, as far as they are kept in this folder; None if there are none."""
    from driftway.report import Snapshot, write_report

    paths = [places.step(number + 1) for number in range(estimator.n_steps_)]
    shots = []
    for path in paths:
        if path.exists():
            with blamed_on(f"{path}: damaged, or not written by driftway adapt"):
                shots.append(Snapshot.from_dict(kept(path)["snapshot"]))
    if not shots:
        return None
    with blamed_on(f"{places.steps}: damaged, or not written by driftway adapt"):
        write_report(places.report, shots, estimator=estimator, title=title)
    return places.report


def kept(path: Path) -> dict[str, Any]:
    """What was kept of a step."""
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found["batch"], str) or not isinstance(found["snapshot"], dict):
            raise ValueError("the name of a batch and its snapshot are wanted")
    except Exception as error:
        raise UserError(f"{path}: damaged, or not written by driftway adapt ({in_short(error)})") from None
    return found
