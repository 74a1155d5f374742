"""For users of river: a stream whose labels cease.

Needs: driftway[river]

The first batch is labelled and nothing after it is, while two moons turn by 18° from batch to batch. A model of river
learns as long as there are labels; driftway's learns on without.

Run:  python examples/river_users.py
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from river import naive_bayes
from sklearn.datasets import make_moons

from driftway.river import ContinuousTransportClassifier


def batch(step: int) -> tuple[pd.DataFrame, pd.Series]:
    """The moons at a time, and the labels that are known of the first batch only."""
    points, labels = make_moons(300 if step == 0 else 80, noise=0.05, random_state=step)
    angle = np.deg2rad(18 * step)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return pd.DataFrame((points - [0.5, 0.25]) @ turn, columns=["east", "north"]), pd.Series(labels)


def main() -> None:
    """Learns, adapts, predicts, and prints the accuracies."""
    model, still = ContinuousTransportClassifier(), naive_bayes.GaussianNB()
    model.learn_many(*batch(0))
    still.learn_many(*batch(0))
    print(f"{'batch':>6} {'GaussianNB':>11} {'ContinuousTransport':>20} {'drift':>6}")
    for step in range(1, 11):
        X, y = batch(step)
        model.learn_many(X)  # no labels
        scores = [(each.predict_many(X).to_numpy() == y.to_numpy()).mean() for each in (still, model)]
        print(f"{step:>6} {scores[0]:>11.0%} {scores[1]:>20.0%} {model.transport_.history_[-1].drift:>6.1f}")


if __name__ == "__main__":
    main()
