"""The labelled source in one space of features: its classes and the estimator that answers there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.source.answers import SourceAnswers, fit_answers
from driftway.adaptation.source.classes import SourceClasses, source_classes
from driftway.adaptation.source.spaces import FeatureSpace, feature_spaces
from driftway.adaptation.source.stacking import averaged, stacked

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class SourceView:
    """A space of features, the classes in units of the source there, the estimator that learned them, and its share."""

    space: FeatureSpace
    classes: SourceClasses
    answers: SourceAnswers
    share: float

    def __call__(self, X: Double) -> Double:
        """Features as given, in units of the source in this space."""
        return self.classes.standardised(self.space(X))

    def inverse(self, Z: Double) -> Double:
        """From units of the source in this space back to features as given."""
        return self.space.inverse(Z * self.classes.unit + self.classes.centre)


def source_views(
    X: Double, targets: npt.NDArray[Any], groups: Groups, weights: Double, estimator: Any, classes: int | None
) -> tuple[SourceView, ...]:
    """The views of a labelled source; `groups` stand for the classes where `classes` is None, for a regression."""
    spaces = feature_spaces(X, regression=classes is None)
    found = [source_classes(space(X), groups, weights, int(groups.max()) + 1) for space in spaces]
    answers = [fit_answers(estimator, each.points, targets, weights, classes) for each in found]
    held_out = np.stack([each.held_out for each in answers], axis=1)
    shares = averaged(held_out) if classes is None else stacked(held_out)
    views = map(SourceView, spaces, found, answers, map(float, shares))
    return tuple(view for view in views if view.share > 0)
