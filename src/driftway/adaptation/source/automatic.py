"""`estimator="auto"`: a soft vote of the usual learners that the labelled source prefers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from driftway.adaptation.silence import quiet
from driftway.adaptation.source.calibration import fit_power, tempered
from driftway.adaptation.source.stacking import stacked
from driftway.adaptation.source.thinning import chosen_rows

Double = npt.NDArray[np.float64]
Learner = Callable[[], Any]

CLASSIFIERS: dict[str, Learner] = {
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "logistic": lambda: LogisticRegression(max_iter=300),
    "neighbours": lambda: KNeighborsClassifier(5, weights="distance"),
    "discriminant": lambda: LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
}
REGRESSORS: dict[str, Learner] = {
    "forest": lambda: RandomForestRegressor(100, random_state=0),
    "ridge": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 3, 13))),
    "neighbours": lambda: KNeighborsRegressor(5, weights="distance"),
}
# Learners are compared on features that are off by random gains and offsets of these sizes, in deviations, one draw
# each: that is where they answer once a drift has been followed. On clean data many are equally good, and some are
# brittle.
ERRORS = (0.1, 0.2, 0.3, 0.4)
# Regressors are compared on features that are hardly off: what is left of a drift is smaller where no class moves, and
# only the brittle ones need to be found. Each size is drawn twice: a single draw may spare columns that cancel.
SMALL_ERRORS = (0.05, 0.1, 0.05, 0.1)
# A learner with a smaller share of the vote is left out, which saves its time.
LEAST_SHARE = 0.05
EMPTY: Double = np.empty(0)
# Folds of the cross-validation, and points that it looks at: more would tell the same.
FOLDS, POINTS = 3, 2000
# Regressors with an R² this near to the best are averaged.
NEAR = 0.02


class AutomaticClassifier(ClassifierMixin, BaseEstimator):
    """Random forest, logistic regression, 5 nearest neighbours and shrunk discriminant analysis vote.

    Each is cross-validated on the labelled data with features that are off by random gains and offsets, as they are
    after a drift has been followed as well as can be. There its probabilities are calibrated by a temperature, and
    there the shares of the vote are those with the largest likelihood (stacking). Features are expected in comparable
    units, as the continuous estimators give them.

    Parameters
    ----------
    shares : mapping from names of learners ("forest", "logistic", "neighbours", "discriminant") to shares, optional
        Of the vote, where they are known; then nothing is cross-validated or calibrated.

    Attributes
    ----------
    shares_ : of the vote, by name of the learner
    likelihoods_ : the probabilities that the vote gave to the labels of points held out, with those errors
    scores_ : cross-validated accuracies by name, with those errors
    classes_ : the class labels

    """

    def __init__(self, shares: Mapping[str, float] | None = None) -> None:
        self.shares = shares

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Weighs the learners and fits those that have a share of the vote."""
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        part = _even_part(codes)
        folds = min(FOLDS, int(np.bincount(codes[part]).min()))
        unseen = {}
        if folds > 1 and len(self.classes_) > 1 and self.shares is None:
            for name, learner in CLASSIFIERS.items():
                found = _unseen(learner, X[part], codes[part], folds)
                if found is not None:
                    unseen[name] = found
        told = np.tile(codes[part], len(ERRORS))
        self.scores_ = {name: float(np.mean(proba.argmax(axis=1) == told)) for name, proba in unseen.items()}
        self._powers = {name: fit_power(proba, told, np.ones(len(told))) for name, proba in unseen.items()}
        right = {
            name: tempered(proba, self._powers[name])[np.arange(len(told)), told] for name, proba in unseen.items()
        }
        self.shares_ = _vote(right) if self.shares is None else dict(self.shares)
        self.likelihoods_ = (
            np.sum([share * right[name] for name, share in self.shares_.items()], axis=0) if right else EMPTY
        )
        self._learners = {name: _fitted(CLASSIFIERS[name](), X, codes, sample_weight) for name in self.shares_}
        return self

    def predict_proba(self, X: Any) -> Double:
        """The vote of the calibrated learners."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        total = np.zeros((len(X), len(self.classes_)))
        for name, learner in self._learners.items():
            total += self.shares_[name] * tempered(_probabilities(learner, X), self._powers.get(name, 1.0))
        return total

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable classes."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class AutomaticRegressor(RegressorMixin, BaseEstimator):
    """The mean of random forest, ridge regression and 5 nearest neighbours, those that do best.

    Every learner is cross-validated; all whose R² is within 0.02 of the best are averaged.

    Attributes
    ----------
    scores_ : cross-validated R² by name
    chosen_ : names of the learners that are averaged
    residuals_ : errors of their mean on points held out; none where nothing could be

    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Chooses the learners and fits them."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        part = chosen_rows(len(y), POINTS)
        folds = min(FOLDS, len(part) // 2)
        found = {name: _residuals(learner, X[part], y[part], folds) for name, learner in REGRESSORS.items()}
        variance = max(float(y[part].var()), 1e-300)
        self.scores_ = {name: float(1.0 - np.mean(rest**2) / variance) for name, rest in found.items() if rest.size}
        self.chosen_ = _near_best(self.scores_) or ["ridge"]
        self.residuals_: Double = np.mean([found[name] for name in self.chosen_], axis=0)
        self.estimators_ = [_fitted(REGRESSORS[name](), X, y, sample_weight) for name in self.chosen_]
        return self

    def predict(self, X: Any) -> Double:
        """The mean of the learners' predictions."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        total: Double = sum(each.predict(X) for each in self.estimators_)
        return total / len(self.estimators_)


def _probabilities(learner: Any, X: Double) -> Double:
    """As `predict_proba`; a forest's trees are asked directly, for batches are small and its dispatch is not."""
    if isinstance(learner, RandomForestClassifier):
        rows = X.astype(np.float32)
        total: Double = sum(tree.tree_.predict(rows) for tree in learner.estimators_)
        return total / len(learner.estimators_)
    return learner.predict_proba(X)


def _even_part(codes: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    """At most about `POINTS` rows, with an even part of every class."""
    counts = np.bincount(codes)
    shares = np.ceil(counts * min(1.0, POINTS / len(codes))).astype(np.intp)
    return np.sort(
        np.concatenate([np.flatnonzero(codes == k)[chosen_rows(counts[k], shares[k])] for k in range(len(counts))])
    )


def _near_best(scores: dict[str, float]) -> list[str]:
    best = max(scores.values(), default=0.0)
    return [name for name, score in scores.items() if score >= best - NEAR]


class _Off(NamedTuple):
    """Gains and offsets by which features may be off: one of each per feature, draw after draw."""

    centre: Double
    gains: Double
    offsets: Double

    @classmethod
    def drawn(cls, X: Double, sizes: tuple[float, ...]) -> Self:
        """Random ones, in deviations of the features."""
        draw, spread = np.random.default_rng(0), X.std(axis=0)
        drawn = [
            (np.exp(size * draw.normal(size=len(spread))), size * spread * draw.normal(size=len(spread)))
            for size in sizes
        ]
        gains, offsets = (np.stack(part) for part in zip(*drawn, strict=True))
        return cls(X.mean(axis=0), gains, offsets)

    def __call__(self, X: Double) -> Double:
        """The rows, draw after draw."""
        off = self.centre + (X - self.centre) * self.gains[:, None] + self.offsets[:, None]
        return off.reshape(-1, X.shape[1])


def _unseen(learner: Learner, X: Double, y: npt.NDArray[np.intp], folds: int) -> Double | None:
    """Cross-validated probabilities where the features are off, draw after draw; None for a learner that fails."""
    off = _Off.drawn(X, ERRORS)
    proba = np.zeros((len(ERRORS), len(y), int(y.max()) + 1))
    try:
        with quiet():
            for train, test in StratifiedKFold(folds, shuffle=True, random_state=0).split(X, y):
                fitted = learner().fit(X[train], y[train])
                proba[:, test] = _probabilities(fitted, off(X[test])).reshape(len(ERRORS), len(test), -1)
    except ValueError:
        return None
    return proba.reshape(-1, proba.shape[2])


def _vote(right: dict[str, Double]) -> dict[str, float]:
    """The shares of learners, without the smallest; nearest neighbours alone where nothing could be held out."""
    if not right:
        return {"neighbours": 1.0}
    shares = stacked(np.stack(list(right.values()), axis=1))
    shares = np.where(shares >= LEAST_SHARE, shares, 0.0)
    shares /= shares.sum()
    return {name: float(share) for name, share in zip(right, shares, strict=True) if share > 0}


def _residuals(learner: Learner, X: Double, y: Double, folds: int) -> Double:
    """Errors on points held out where the features are off, draw after draw.

    Some learners have large coefficients that cancel each other where columns are nearly collinear. They do well on
    points of the same table, and badly where the columns have errors of their own.

    There are none for a learner that fails on these data, or where there are too few.
    """
    if folds < 2:
        return EMPTY
    off, rest = _Off.drawn(X, SMALL_ERRORS), np.zeros((len(SMALL_ERRORS), len(y)))
    try:
        with quiet():
            for train, test in KFold(folds, shuffle=True, random_state=0).split(X):
                fitted = learner().fit(X[train], y[train])
                rest[:, test] = y[test] - fitted.predict(off(X[test])).reshape(len(SMALL_ERRORS), len(test))
    except ValueError:
        return EMPTY
    return rest.ravel()


def _fitted(learner: Any, X: Double, y: npt.NDArray[Any], sample_weight: Any) -> Any:
    weighted = sample_weight is not None and has_fit_parameter(learner, "sample_weight")
    with quiet():
        return learner.fit(X, y, sample_weight=sample_weight) if weighted else learner.fit(X, y)
