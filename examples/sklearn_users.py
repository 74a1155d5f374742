"""For users of scikit-learn: pipelines, a search without target labels, and `sample_domain` by metadata routing.

The 8×8 digits, turned by 5° more from batch to batch; labels are known of the upright ones only. That images turn is
known here, and that their batches are small for 20 features, so transport is the only hypothesis.

Run:  python examples/sklearn_users.py
"""

from __future__ import annotations

import warnings

import numpy as np
import numpy.typing as npt
import sklearn
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from driftway import AdaptationWarning, CircularScore, ContinuousTransportClassifier
from driftway.adaptation import DomainTransportClassifier

STEPS, SIZE = 6, 120
Double = npt.NDArray[np.float64]


def drifting_digits() -> tuple[Double, npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Points, labels, and domains: 1 for the source, then −1, −2, …; the images turn by 5° more in each."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    domain = np.repeat([1, *range(-1, -STEPS - 1, -1)], [len(images) - STEPS * SIZE, *[SIZE] * STEPS])
    X, y = images[order].copy(), labels[order]
    for step in range(1, STEPS + 1):
        rows = domain == -step
        X[rows] = turned(X[rows], 5.0 * step)
    return X, y, domain


def turned(images: Double, degrees: float) -> Double:
    """8×8 images turned about their middle."""
    return rotate(images.reshape(-1, 8, 8), degrees, axes=(2, 1), reshape=False, order=1).reshape(len(images), -1)


def main() -> None:
    """Fits pipelines on source and targets at once, chooses a setting without target labels, and prints accuracies."""
    X, y, domain = drifting_digits()
    source, target = domain > 0, domain < 0
    still = make_pipeline(PCA(20), KNeighborsClassifier(1)).fit(X[source], y[source])

    warnings.simplefilter("ignore", AdaptationWarning)  # settings on trial may lose the classes: that is what is asked
    search = GridSearchCV(
        make_pipeline(PCA(20), ContinuousTransportClassifier(hypotheses="transport")),
        {"continuoustransportclassifier__epsilon": [0.03, 0.1]},
        scoring=CircularScore([X[domain == -step] for step in range(1, STEPS + 1)]),
        cv=[(np.flatnonzero(source), np.flatnonzero(source))],
        refit=False,
    ).fit(X[source], y[source])
    epsilon = search.cv_results_["param_continuoustransportclassifier__epsilon"][search.best_index_]
    print(f"chosen by circular validation: epsilon = {epsilon}")

    with sklearn.config_context(enable_metadata_routing=True):
        chosen = ContinuousTransportClassifier(hypotheses="transport", epsilon=epsilon)
        model = make_pipeline(PCA(20), DomainTransportClassifier(chosen))
        model.fit(X, np.where(target, -1, y), sample_domain=domain)
        found = model.predict(X, sample_domain=domain)
    print(f"{'turned by':>9} {'unadapted':>10} {'adapted':>8}")
    for step in range(1, STEPS + 1):
        rows = domain == -step
        print(f"{5 * step:>8}° {still.score(X[rows], y[rows]):>10.0%} {np.mean(found[rows] == y[rows]):>8.0%}")


if __name__ == "__main__":
    main()
