"""The classifier and the regressor that everybody shares, so that methods are compared and not their classifiers.

Both are driftway's automatic ones. Features come in units of the source (see `protocol`) and are not scaled again: to
standardise every pixel of an image, also those that hardly vary, costs a classifier that is not adapted up to 20 points
on rotated digits.

This is the one place to change them: `make_classifier` and `make_regressor` are what peers are given.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from driftway.adaptation.source.automatic import AutomaticClassifier, AutomaticRegressor


def make_classifier() -> Any:
    """The classifier of all peers."""
    return AutomaticClassifier()


def make_regressor() -> Any:
    """The regressor of all peers."""
    return AutomaticRegressor()


def same_again(model: Any) -> Any:
    """An unfitted copy in which what a fitted model chose stays chosen."""
    copy = clone(model)
    if isinstance(model, AutomaticClassifier) and hasattr(model, "shares_"):
        copy.set_params(shares=model.shares_)
    return copy
