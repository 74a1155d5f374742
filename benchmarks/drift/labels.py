"""Reference methods that guess labels, or are told them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.drift.protocol import Make, Predict, Score, accuracy, scored, scores, source_units
from benchmarks.drift.voting import same_again
from benchmarks.streams import Double, Sample, Stream

ROUNDS = 200  # of EM, which is cheap
SETTLED = 1e-7  # change of a share at which EM stops


def label_shift(stream: Stream, make: Make) -> list[float]:
    """Only the mix of the classes is taken to change, and is found by EM (Saerens, Latinne and Decaestecker, 2002).

    w ← mean over the batch of p_k w_k/π_k, normalised per point; posteriors are corrected by the last w.
    """
    scale = source_units(stream)
    model = make().fit(scale(stream.X), stream.y)
    classes, counts = np.unique(stream.y, return_counts=True)
    before = counts / counts.sum()

    def adapt(batch: Double) -> Predict:
        correction = mix_by_em(model.predict_proba(scale(batch)), before) / before
        return lambda X: classes[(model.predict_proba(scale(X)) * correction).argmax(axis=1)]

    return scores(stream, adapt)


def mix_by_em(posteriors: Double, before: Double) -> Double:
    """The shares of the classes that explain a batch best, from posteriors under the shares `before`."""
    w = before
    for _ in range(ROUNDS):
        joint = posteriors * (w / before)
        joint /= np.maximum(joint.sum(axis=1, keepdims=True), 1e-300)
        last, w = w, joint.mean(axis=0)
        if np.abs(w - last).max() < SETTLED:
            break
    return w


def self_training(stream: Stream, make: Make, dropped: float = 0.1) -> list[float]:
    """Gradual self-training (Kumar, Ma and Liang, ICML 2020).

    Every batch is labelled by the present model; the next is fitted to it without the least confident part. A class
    that gets no labels is lost for good, and when one class gets them all, the model stays.
    """
    scale = source_units(stream)
    model = make().fit(scale(stream.X), stream.y)

    def adapt(batch: Double) -> Predict:
        nonlocal model
        X = scale(batch)
        probabilities = model.predict_proba(X)
        confidence = probabilities.max(axis=1)
        kept = confidence >= np.quantile(confidence, dropped)
        pseudo = model.classes_[probabilities.argmax(axis=1)][kept]
        if len(np.unique(pseudo)) > 1:
            model = _fitted(model, X[kept], pseudo)
        current = model
        return lambda Z: current.predict(scale(Z))

    return scores(stream, adapt)


def scargc(stream: Stream, clusters: int | None = None) -> list[float]:
    """SCARGC (Souza et al., SDM 2015) with its own 1-NN, told the number of classes, or of `clusters`.

    k-means on every batch starts from the centroids of the one before; a new centroid gets the label of the nearest
    old one, and a point that of its centroid. Two simplifications: the original relabels by centroids halfway between
    old and new as well, and predicts a pool before it has clustered it.
    """
    from sklearn.cluster import KMeans

    scale = source_units(stream)
    centroids, labels = _labelled_centroids(scale(stream.X), stream.y, clusters)

    def adapt(batch: Double) -> Predict:
        nonlocal centroids, labels
        found = KMeans(len(centroids), init=centroids, n_init=1).fit(scale(batch))
        labels = _nearest(centroids, labels).predict(found.cluster_centers_)
        centroids = found.cluster_centers_
        near = _nearest(scale(batch), labels[found.labels_])
        return lambda X: near.predict(scale(X))

    return scores(stream, adapt)


def oracle(stream: Stream, make: Make, score: Score = accuracy) -> list[float]:
    """Told the truth: fitted to labelled points of the step's own distribution.

    They are another sample of it where the stream has one, the step's batch where something else is scored, and
    otherwise one half of the batch while the other half is scored, in turns. Who votes is chosen on the source.
    """
    scale = source_units(stream)
    model = make().fit(scale(stream.X), stream.y)
    told = stream.told if stream.told is not None else stream.batches if stream.tests is not None else None

    def half_and_half(X: Double, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        first = np.random.default_rng(0).permutation(len(y)) < len(y) // 2
        predicted = np.empty_like(y)
        for half in (first, ~first):
            predicted[half] = _fitted(model, scale(X[~half]), y[~half]).predict(scale(X[half]))
        return predicted

    if told is None:
        return [score(half_and_half(X, y), y) for X, y in stream.batches]
    found = []
    for known, (X, y) in zip(told, scored(stream), strict=True):
        found.append(score(_fitted(model, scale(known[0]), known[1]).predict(scale(X)), y))
    return found


def _fitted(model: Any, X: Double, y: npt.NDArray[Any]) -> Any:
    return same_again(model).fit(X, y)


def _nearest(X: Double, y: npt.NDArray[Any]) -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(1).fit(X, y)


def _labelled_centroids(X: Double, y: npt.NDArray[Any], clusters: int | None) -> Sample:
    """The mean of every class; or, with another number of clusters, k-means centroids labelled by their majority."""
    from sklearn.cluster import KMeans

    classes = np.unique(y)
    if clusters is None or clusters == len(classes):
        return np.array([X[y == label].mean(axis=0) for label in classes]), classes
    found = KMeans(clusters, n_init=10, random_state=0).fit(X)
    counts = np.array([[np.sum(y[found.labels_ == group] == label) for label in classes] for group in range(clusters)])
    return found.cluster_centers_, classes[counts.argmax(axis=1)]
