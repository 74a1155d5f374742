"""Continuous domain adaptation."""

from driftway.adaptation.classifier import ContinuousTransportClassifier
from driftway.adaptation.domains import DomainTransportClassifier, DomainTransportRegressor
from driftway.adaptation.estimator import AdaptationWarning
from driftway.adaptation.regressor import ContinuousTransportRegressor
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
