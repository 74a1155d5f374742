"""Continuous domain adaptation."""

from driftway.adaptation.domains import DomainTransportClassifier, DomainTransportRegressor
from driftway.adaptation.estimator import (
    AdaptationWarning,
    ContinuousTransportClassifier,
    ContinuousTransportRegressor,
)
from driftway.adaptation.selection import CircularScore
from driftway.adaptation.stream import Adapted, adapt_stream

__all__ = [
    "AdaptationWarning",
    "Adapted",
    "CircularScore",
    "ContinuousTransportClassifier",
    "ContinuousTransportRegressor",
    "DomainTransportClassifier",
    "DomainTransportRegressor",
    "adapt_stream",
]
