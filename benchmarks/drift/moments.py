"""Reference methods that match moments, and none at all."""

from __future__ import annotations

import numpy as np

from benchmarks.drift.protocol import Make, Predict, Score, accuracy, scores, source_units, standardiser
from benchmarks.streams import Double, Stream


def static(stream: Stream, make: Make, score: Score = accuracy) -> list[float]:
    """No adaptation."""
    scale = source_units(stream)
    model = make().fit(scale(stream.X), stream.y)
    return scores(stream, lambda batch: lambda X: model.predict(scale(X)), score)


def standardised(stream: Stream, make: Make, score: Score = accuracy) -> list[float]:
    """The source is standardised by itself and every batch by itself.

    A test sample is standardised by its batch: what has been seen when it is predicted.
    """
    model = make().fit(standardiser(stream.X)(stream.X), stream.y)

    def adapt(batch: Double) -> Predict:
        scale = standardiser(batch)
        return lambda X: model.predict(scale(X))

    return scores(stream, adapt, score)


def told_the_mix(stream: Stream, make: Make, corrected: bool = False) -> list[float]:
    """Standardised, but told the true shares w of the classes in every batch, which nobody is in earnest.

    The batch is given mean and deviation of the source's classes mixed by w,

        m_w = Σ w_k M_k,    s_w² = Σ w_k (V_k + M_k²) − m_w²,

    and if `corrected` posteriors go from the source's shares π to w as well: p_k w_k/π_k.
    """
    scale = standardiser(stream.X)
    Z = scale(stream.X)
    model = make().fit(Z, stream.y)
    classes, counts = np.unique(stream.y, return_counts=True)
    means = np.array([Z[stream.y == label].mean(axis=0) for label in classes])
    squares = np.array([(Z[stream.y == label] ** 2).mean(axis=0) for label in classes])
    shares = iter(stream.shares)

    def adapt(batch: Double) -> Predict:
        w = next(shares)
        mean = w @ means
        deviation = np.sqrt(np.maximum(w @ squares - mean**2, 0.0))
        own = standardiser(batch)
        correction = w * counts.sum() / counts if corrected else np.ones(len(w))
        return lambda X: classes[(model.predict_proba(own(X) * deviation + mean) * correction).argmax(axis=1)]

    return scores(stream, adapt)


def coral(stream: Stream, make: Make, score: Score = accuracy) -> list[float]:
    """CORAL (Sun, Feng and Saenko, AAAI 2016): means and covariances are matched.

    As in the paper, either domain is standardised by itself and the identity is added to both covariances. The batch
    is mapped to the source rather than the source to the batch, so that nothing is fitted anew.
    """
    Z = standardiser(stream.X)(stream.X)
    model = make().fit(Z, stream.y)
    colour = _power(_covariance(Z), 0.5)

    def adapt(batch: Double) -> Predict:
        scale = standardiser(batch)
        align = _power(_covariance(scale(batch)), -0.5) @ colour
        return lambda X: model.predict(scale(X) @ align)

    return scores(stream, adapt, score)


def _covariance(Z: Double) -> Double:
    return Z.T @ (Z - Z.mean(axis=0)) / len(Z) + np.eye(Z.shape[1])


def _power(matrix: Double, exponent: float) -> Double:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2.0)
    return (vectors * values**exponent) @ vectors.T
