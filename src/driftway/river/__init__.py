"""Adapter for river: continuous adaptation of streams whose labels end. Needs the extra `driftway[river]`.

Call `learn_many(X, y)` while there are labels, and `learn_many(X)` for every batch after that. Single rows are
collected into batches.
"""

try:
    import river.utils.dataframe  # noqa: F401 - the extra that all files here need
except ImportError as error:
    raise ImportError("driftway.river needs river ≥ 0.26: pip install 'driftway[river]'") from error

from driftway.river.classifier import ContinuousTransportClassifier
from driftway.river.regressor import ContinuousTransportRegressor

__all__ = ["ContinuousTransportClassifier", "ContinuousTransportRegressor"]
