"""The estimator of the source, fitted once, with probabilities that mean something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

from driftway.adaptation.silence import quiet
from driftway.adaptation.source.automatic import AutomaticClassifier, AutomaticRegressor
from driftway.adaptation.source.calibration import fit_power, tempered
from driftway.adaptation.source.thinning import chosen_rows

Double = npt.NDArray[np.float64]
Groups = npt.NDArray[np.intp]

# Folds of the cross-validation, and points that it looks at.
FOLDS, POINTS = 3, 2000


@dataclass(frozen=True, eq=False)
class SourceAnswers:
    """An estimator fitted on the source, and the power that calibrates it; `classes` is None for a regression.

    `held_out` is how it did on points that it had not seen: the probabilities that it gave to their labels, or for a
    regression its errors.
    """

    estimator: Any
    power: float
    classes: int | None
    held_out: Double

    def __call__(self, Z: Double) -> Double:
        """Calibrated probabilities of the classes (m×K), or values (m)."""
        if self.classes is None:
            return np.asarray(self.estimator.predict(Z), dtype=np.float64)
        return tempered(probabilities(self.estimator, Z, self.classes), self.power)


def fit_answers(
    estimator: Any, Z: Double, targets: npt.NDArray[Any], weights: Double, classes: int | None
) -> SourceAnswers:
    """Fits a clone on the whole source, and its temperature on folds that clones of it have not seen."""
    fitted = fitted_clone(estimator, Z, targets, weights)
    if classes is None:
        if isinstance(fitted, AutomaticRegressor):  # which has held out points already
            return SourceAnswers(fitted, 1.0, None, fitted.residuals_)
        return SourceAnswers(fitted, 1.0, None, _errors(estimator, Z, targets, weights))
    if classes == 1:
        return SourceAnswers(fitted, 1.0, classes, np.empty(0))
    if isinstance(fitted, AutomaticClassifier):  # which is calibrated already
        return SourceAnswers(fitted, 1.0, classes, fitted.likelihoods_)
    rows, proba = _held_out(estimator, Z, targets, weights, classes)
    power = fit_power(proba, targets[rows], weights[rows]) if len(rows) else 1.0
    return SourceAnswers(fitted, power, classes, tempered(proba, power)[np.arange(len(rows)), targets[rows]])


def fitted_clone(estimator: Any, Z: Double, targets: npt.NDArray[Any], weights: Double) -> Any:
    """A clone fitted on points with targets, and with weights where they differ and it takes them."""
    learner = clone(estimator)
    extra = {}
    if has_fit_parameter(learner, "sample_weight") and np.ptp(weights) > 0:
        extra["sample_weight"] = weights * (len(weights) / weights.sum())
    with quiet():
        fitted = learner.fit(Z, targets, **extra)
    fitted.predict(Z[:1])  # some find only now that they have too few points
    return fitted


def probabilities(estimator: Any, Z: Double, classes: int) -> Double:
    """Of all classes, those that the estimator has not seen with zero; certainty for one that only predicts."""
    out = np.zeros((len(Z), classes))
    if hasattr(estimator, "predict_proba"):
        out[:, np.asarray(estimator.classes_, dtype=np.intp)] = estimator.predict_proba(Z)
    else:
        out[np.arange(len(Z)), np.asarray(estimator.predict(Z), dtype=np.intp)] = 1.0
    return out


def _errors(estimator: Any, Z: Double, targets: npt.NDArray[Any], weights: Double) -> Double:
    """Errors on points of the source by clones that have not seen them; none where there are too few."""
    rows = chosen_rows(len(Z), POINTS)
    found = np.zeros(len(rows))
    if len(rows) < 2 * FOLDS:
        return found[:0]
    try:
        for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(rows):
            seen, unseen = rows[train], rows[test]
            learner = fitted_clone(estimator, Z[seen], targets[seen], weights[seen])
            found[test] = targets[unseen] - learner.predict(Z[unseen])
    except ValueError:  # a fold may be too small for it
        return found[:0]
    return found


def _held_out(
    estimator: Any, Z: Double, groups: Groups, weights: Double, classes: int
) -> tuple[npt.NDArray[np.intp], Double]:
    """Rows of the source, and their probabilities by clones that have not seen them; none where there are too few."""
    rows = chosen_rows(len(Z), POINTS)
    folds = min(FOLDS, int(np.bincount(groups[rows], minlength=classes).min()))
    proba = np.zeros((len(rows), classes))
    if folds < 2:
        return rows[:0], proba[:0]
    try:
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(rows, groups[rows]):
            seen, unseen = rows[train], rows[test]
            learner = fitted_clone(estimator, Z[seen], groups[seen], weights[seen])
            proba[test] = probabilities(learner, Z[unseen], classes)
    except ValueError:  # a fold may be too small for it
        return rows[:0], proba[:0]
    return rows, proba
