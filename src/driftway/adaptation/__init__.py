"""Continuous domain adaptation."""

from driftway.adaptation.classifier import ContinuousTransportClassifier
from driftway.adaptation.domains import DomainTransportClassifier, DomainTransportRegressor
from driftway.adaptation.history import History, Record
from driftway.adaptation.labels import Labels
from driftway.adaptation.maps import AffineMap, BarycentricMap, KernelMap, MapModel
from driftway.adaptation.marginals import Marginals
from driftway.adaptation.motion import AffineMotion, MotionModel, Rest
from driftway.adaptation.present import PresentClassifier
from driftway.adaptation.regressor import ContinuousTransportRegressor
from driftway.adaptation.renewal import Renewal
from driftway.adaptation.selection import CircularScore
from driftway.adaptation.stream import Adapted, adapt_stream
from driftway.adaptation.warning import AdaptationWarning

__all__ = [
    "AdaptationWarning",
    "Adapted",
    "AffineMap",
    "AffineMotion",
    "BarycentricMap",
    "CircularScore",
    "ContinuousTransportClassifier",
    "ContinuousTransportRegressor",
    "DomainTransportClassifier",
    "DomainTransportRegressor",
    "History",
    "KernelMap",
    "Labels",
    "MapModel",
    "Marginals",
    "MotionModel",
    "PresentClassifier",
    "Record",
    "Renewal",
    "Rest",
    "adapt_stream",
]
