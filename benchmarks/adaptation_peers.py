"""Reference methods for following a drift without labels, each in a few lines.

Every function takes a stream and returns the accuracy in every step. The protocol is the same for all: adapt to the
unlabelled batch, then predict it, or the step's test sample where the stream has tests.

All but `standardised` see features in units of the source: every feature standardised on it where the stream says that
units are mixed, otherwise all divided by one number, so that a rotation stays a rotation.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from benchmarks.streams import Double, Labels, Sample, Stream

Map = Callable[[Double], Double]
Predict = Callable[[Double], Labels]


def static(stream: Stream) -> list[float]:
    """No adaptation: 1-NN on the source."""
    predict = _nearest_neighbour(stream.X, stream.y, _source_units(stream))
    return _accuracies(stream, lambda batch: predict)


def standardised(stream: Stream) -> list[float]:
    """1-NN on the source after standardising the source by itself and every batch by itself.

    A test sample is standardised by its batch: what has been seen when it is predicted.
    """
    predict = _nearest_neighbour(_standardiser(stream.X)(stream.X), stream.y)

    def adapt(batch: Double) -> Predict:
        scale = _standardiser(batch)
        return lambda X: predict(scale(X))

    return _accuracies(stream, adapt)


def self_training(stream: Stream, dropped: float = 0.1) -> list[float]:
    """Gradual self-training (Kumar, Ma and Liang, ICML 2020) with logistic regression of scikit-learn's defaults.

    Every batch is labelled by the present model; the next is fitted to it without the least confident part. A class
    that gets no labels is lost for good, and when one class gets them all, the model stays.
    """
    from sklearn.linear_model import LogisticRegression

    scale = _source_units(stream)
    model = LogisticRegression(max_iter=1000).fit(scale(stream.X), stream.y)

    def adapt(batch: Double) -> Predict:
        nonlocal model
        X = scale(batch)
        probabilities = model.predict_proba(X)
        confidence = probabilities.max(axis=1)
        kept = confidence >= np.quantile(confidence, dropped)
        pseudo = model.classes_[probabilities.argmax(axis=1)][kept]
        if len(np.unique(pseudo)) > 1:
            model = LogisticRegression(max_iter=1000).fit(X[kept], pseudo)
        current = model
        return lambda Z: current.predict(scale(Z))

    return _accuracies(stream, adapt)


def scargc(stream: Stream, clusters: int | None = None) -> list[float]:
    """SCARGC (Souza et al., SDM 2015) with 1-NN, told the number of classes, or of `clusters`.

    k-means on every batch starts from the centroids of the one before; a new centroid gets the label of the nearest
    old one, and a point that of its centroid. Two simplifications: the original relabels by centroids halfway between
    old and new as well, and predicts a pool before it has clustered it.
    """
    from sklearn.cluster import KMeans

    scale = _source_units(stream)
    centroids, labels = _labelled_centroids(scale(stream.X), stream.y, clusters)

    def adapt(batch: Double) -> Predict:
        nonlocal centroids, labels
        found = KMeans(len(centroids), init=centroids, n_init=1).fit(scale(batch))
        labels = _nearest_neighbour(centroids, labels)(found.cluster_centers_)
        centroids = found.cluster_centers_
        return _nearest_neighbour(batch, labels[found.labels_], scale)

    return _accuracies(stream, adapt)


def pot_stepwise(stream: Stream, strength: float = 0.05) -> list[float]:
    """POT's `SinkhornTransport` step by step: squared distances, uniform marginals, 1-NN.

    The source is mapped to the batch (barycentric images), and what was mapped is the next step's source. ε is
    `strength` times the median cost of the step. No more than the 1000 iterations that POT allows by default, so
    that a column sum may be off by a percent; solved in earnest, a stream on which it was tried scored about the same.
    """
    import ot

    scale = _source_units(stream)
    source = scale(stream.X)

    def adapt(batch: Double) -> Predict:
        nonlocal source
        target = scale(batch)
        cost = ot.dist(source, target)
        epsilon = strength * float(np.median(cost))
        # The iterates are the same; the first is faster, and underflows where costs are large.
        method = "sinkhorn" if cost.max() < 500.0 * epsilon else "sinkhorn_log"
        # The default map, "continuous", takes exp of potentials as they are, which overflows.
        transport = ot.da.SinkhornTransport(epsilon, method=method, tol=1e-6, out_of_sample_map="ferradans")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sinkhorn did not converge")
            source = transport.fit(Xs=source, Xt=target).transform(Xs=source)
        predict = _nearest_neighbour(source, stream.y)
        return lambda X: predict(scale(X))

    return _accuracies(stream, adapt)


def oracle(stream: Stream) -> list[float]:
    """1-NN told the truth.

    Where there are tests: trained on the true labels of the step's batch. Otherwise on those of the batch before (of
    the source in the first step), because a batch cannot be both learned and scored.
    """
    scale = _source_units(stream)
    if stream.tests is None:
        pairs = list(pairwise([(stream.X, stream.y), *stream.batches]))
    else:
        pairs = list(zip(stream.batches, stream.tests, strict=True))
    return [_accuracy(_nearest_neighbour(*known, scale), new) for known, new in pairs]


PEERS: tuple[Callable[[Stream], list[float]], ...] = (static, standardised, self_training, scargc, pot_stepwise, oracle)


def _accuracies(stream: Stream, adapt: Callable[[Double], Predict]) -> list[float]:
    """The protocol: `adapt` sees every batch in turn and never a label; what it returns is scored."""
    samples = stream.batches if stream.tests is None else stream.tests
    return [_accuracy(adapt(batch), sample) for (batch, _), sample in zip(stream.batches, samples, strict=True)]


def _accuracy(predict: Predict, sample: Sample) -> float:
    """The share of a sample's labels that is predicted right."""
    X, y = sample
    return float(np.mean(predict(X) == y))


def _nearest_neighbour(X: Double, y: Labels, scale: Map = lambda X: X) -> Predict:
    """The 1-NN classifier, between scaled points."""
    from sklearn.neighbors import KNeighborsClassifier

    model = KNeighborsClassifier(1).fit(scale(X), y)
    return lambda Z: model.predict(scale(Z))


def _source_units(stream: Stream) -> Map:
    """Centre on the source and divide: every feature by its own deviation if units are mixed, else all by one."""
    if stream.mixed_units:
        return _standardiser(stream.X)
    mean, deviation = stream.X.mean(axis=0), float(np.sqrt(stream.X.var(axis=0).mean()))
    return lambda Z: (Z - mean) / deviation


def _standardiser(X: Double) -> Map:
    """Z ↦ (Z − mean of X) / deviation of X; a feature that is constant in X is centred only."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    # A constant feature has a deviation of a few roundings rather than of 0.
    constant = deviation <= 1e-12 * np.abs(X).max(axis=0)
    deviation = np.where(constant, 1.0, deviation)
    return lambda Z: (Z - mean) / deviation


def _labelled_centroids(X: Double, y: Labels, clusters: int | None) -> Sample:
    """The mean of every class; or, with another number of clusters, k-means centroids labelled by their majority."""
    from sklearn.cluster import KMeans

    classes = np.unique(y)
    if clusters is None or clusters == len(classes):
        return np.array([X[y == label].mean(axis=0) for label in classes]), classes
    found = KMeans(clusters, n_init=10, random_state=0).fit(X)
    counts = np.array([[np.sum(y[found.labels_ == group] == label) for label in classes] for group in range(clusters)])
    return found.cluster_centers_, classes[counts.argmax(axis=1)]
