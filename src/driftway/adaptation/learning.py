"""What the estimators learn from the labelled source, and how they take it up again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from driftway.adaptation.batches import source_rows
from driftway.adaptation.carried import Carried
from driftway.adaptation.heaps import Heaps
from driftway.adaptation.history import History
from driftway.adaptation.hypotheses.transport import TransportedSource
from driftway.adaptation.labels import Sample
from driftway.adaptation.resolution import (
    hypotheses_of,
    labels_of,
    may_follow_clusters,
    renewal_of,
    settings_of,
    tracks_of,
)
from driftway.adaptation.scaling import fit_scaling
from driftway.adaptation.source.answers import fitted_clone
from driftway.adaptation.source.columns import TableColumns
from driftway.adaptation.source.view import source_views
from driftway.adaptation.tracker import Panel, Tracker, TrackerState, Voice
from driftway.adaptation.tracker_arrays import unpacked
from driftway.adaptation.tracking import Settings
from driftway.arrays.parameters import Parameter
from driftway.engines.cores import single_blas

Double = npt.NDArray[np.float64]


class SourceLearner(BaseEstimator):
    """What is learned from the source: its scaling, the hypotheses of its drift, and the estimator that answers."""

    _parameters: ClassVar[tuple[Parameter, ...]]
    _groups_matter = False
    _tracker: Tracker
    _state: TrackerState
    _voices: tuple[Voice, ...]
    history_: History
    n_seen_: int
    columns_: TableColumns

    # What the two estimators do differently.

    _classes: int | None = None

    def _encode(self, y: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp]]:
        raise NotImplementedError

    def _decode(self, predicted: npt.NDArray[Any]) -> npt.NDArray[Any]:
        raise NotImplementedError

    def _default_estimator(self) -> Any:
        raise NotImplementedError

    def _chosen(self, told: Double) -> npt.NDArray[Any]:
        """Targets from probabilities, or the values themselves."""
        raise NotImplementedError

    def _automatic_estimator(self) -> Any:
        raise NotImplementedError

    def _bins(self, targets: npt.NDArray[Any], groups: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Groups of the source whose mix may change: the classes, or for a regression parts of the targets' range."""
        return groups

    # Details.

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Learns everything anew."""
        settings_of(self, heaps=None)
        kinds = hypotheses_of(self)
        X, y, weights, self.columns_ = source_rows(self, X, y, sample_weight)
        targets, groups = self._encode(y)
        with single_blas():  # as later steps have it, so that all bits are the same after a restart
            scaling = fit_scaling(self.scale, X, groups if self._groups_matter else None, weights)
            self._source, self._scaling = X, scaling
            carried = self._at_rest(targets, groups, weights / weights.sum(), kinds)
            self._sample = Sample(carried.source, targets, carried.weights)
            self._tracker = self._hypotheses(carried, kinds)
        self._state = self._tracker.start()
        self._voices = self._tracker.first_voices()
        self.history_, self.n_seen_ = History(), 0
        self.estimator_ = self._answering()

    def _at_rest(
        self, targets: npt.NDArray[Any], groups: npt.NDArray[np.intp], weights: Double, kinds: tuple[str, ...]
    ) -> Carried:
        """The source where it began."""
        places = self._scaling(self._source)
        may = self._groups_matter and may_follow_clusters(self) and "transport" in kinds
        heaps = Heaps.of(places, groups, weights, int(groups.max()) + 1) if may else None
        return Carried.first(places, targets, groups, heaps, weights, len(tracks_of(self, heaps)))

    def _hypotheses(self, carried: Carried, kinds: tuple[str, ...]) -> Tracker:
        """All hypotheses of the source; the transported one is trained as it is asked."""
        settings = settings_of(self, heaps=carried.heaps)
        panels: tuple[Panel, ...] = ()
        if "sensors" in kinds:
            groups = self._bins(carried.targets, carried.groups)
            estimator = self._automatic_estimator() if _is_auto(self.estimator) else self._own_estimator()
            views = source_views(self._source, carried.targets, groups, carried.weights, estimator, self._classes)
            panels = tuple(Panel.of(view, self.stay) for view in views)
        return Tracker(
            panels, self._transport(carried, settings) if "transport" in kinds else None, carried, self._scaling.unit
        )

    def _resume(self, carried: Carried, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Takes up the state of saved arrays; what was learned from the source is learned again, to the same bits."""
        kinds = hypotheses_of(self)
        with single_blas():
            if "sensors" in kinds:  # the source is kept, and a state to return to
                if len(carried.groups) != len(self._source) or np.unique(carried.groups).size != (self._classes or 1):
                    raise ValueError("what is carried is not of all points and classes of the source")
                carried = self._at_rest(carried.targets, carried.groups, carried.weights, kinds)
            self._tracker = self._hypotheses(carried, kinds)
        self._state, self._voices = unpacked(self._tracker, arrays, self._sample, self._classes)
        self.estimator_ = self._answering()

    def _transport(self, first: Carried, settings: Settings) -> TransportedSource:
        return TransportedSource(
            first, settings, labels_of(self), renewal_of(self), self._scaling, self._classes, self._trained
        )

    def _answering(self) -> Any:
        """The estimator that answers, loudest first."""
        if not self._voices:
            return self._trained(self._sample)
        return self._voices[0].fit.estimator

    def _own_estimator(self) -> Any:
        """The user's estimator, or the paper's."""
        return self._default_estimator() if self.estimator is None or _is_auto(self.estimator) else self.estimator

    def _carried_estimator(self, size: int) -> Any:
        """What is trained on so many carried points at every step, so never the automatic one."""
        return self._own_estimator()

    def _trained(self, sample: Sample) -> Any:
        """The estimator of the transported source."""
        with single_blas():
            estimator = self._carried_estimator(len(sample.points))
            return fitted_clone(estimator, sample.points, sample.targets, sample.weights)

    @property
    def _carried(self) -> Carried:
        """What the transported source carries, or the source alone where nothing is transported."""
        carried: Carried = self._state.carried
        return carried


def _is_auto(value: Any) -> bool:
    return isinstance(value, str) and value == "auto"
