"""Who runs: driftway as it comes, the paper's own setting, and the peers."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.drift import peers
from benchmarks.drift.protocol import Make, accuracy, error, scored
from benchmarks.drift.voting import make_classifier, make_regressor
from benchmarks.streams import Stream
from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor

Entrant = Callable[[Stream], tuple[list[float], int]]  # scores per step, and how many steps warned

OURS = "driftway"
PAPER: dict[str, Any] = {
    "metric": "euclidean",
    "epsilon": 0.4,
    "relative_epsilon": False,
    "scale": None,
    "time_weight": 0.3,
    "map": "barycentric",
    "motion": None,
    "labels": "classifier",
    "stay": False,
}
LONGEST = 40  # steps of a stream on which those run that take a second or more per step
SLOW = ("the paper's", "POT step by step", "skada transport", "skada subspaces")
PAPERS_OWN = ("moons", "digits")  # the data that the paper's setting was made for


def ours(stream: Stream, **settings: Any) -> tuple[list[float], int]:
    """Accuracy per step, and how many steps warned."""
    return _followed(stream, ContinuousTransportClassifier(**settings), accuracy)


def ours_regression(stream: Stream) -> tuple[list[float], int]:
    """Error per step, and how many steps warned."""
    return _followed(stream, ContinuousTransportRegressor(), error)


def _followed(stream: Stream, model: Any, score: Callable[[Any, Any], float]) -> tuple[list[float], int]:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stream.X, stream.y)
        for (batch, _), (X, y) in zip(stream.batches, scored(stream), strict=True):
            model.partial_fit(batch)
            found.append(score(model.predict(X), y))
    return found, sum(bool(warning) for warning in model.history_["warning"])


def _peer(peer: peers.Peer, make: Make) -> Entrant:
    def run(stream: Stream) -> tuple[list[float], int]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return peer(stream, make), 0

    return run


CLASSIFIERS: dict[str, Entrant] = {
    OURS: ours,
    "the paper's": lambda stream: ours(stream, **PAPER),
    **{name: _peer(peer, make_classifier) for name, peer in peers.PEERS.items()},
}
REGRESSORS: dict[str, Entrant] = {
    OURS: ours_regression,
    **{name: _peer(peer, make_regressor) for name, peer in peers.OF_REGRESSION.items()},
}


def entrants_of(family: str, steps: int) -> dict[str, Entrant]:
    """Those who run on a stream of a family, with so many steps."""
    if family == "regression":
        return REGRESSORS
    return {
        name: entrant
        for name, entrant in CLASSIFIERS.items()
        if peers.installed(name)
        and not (name in SLOW and steps > LONGEST)
        and not (name == "the paper's" and family not in PAPERS_OWN)
    }
