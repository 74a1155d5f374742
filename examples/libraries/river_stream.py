"""river: a stream whose labels cease
==================================

The first batch is labelled and nothing after it is, while two moons turn by 18° from batch to batch. A model of river
learns as long as there are labels; driftway's learns on without.

Needs: driftway[river]
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from river import naive_bayes
from sklearn.datasets import make_moons

from driftway.river import ContinuousTransportClassifier


def batch(step: int) -> tuple[pd.DataFrame, pd.Series]:
    """The moons at a time, and their labels."""
    points, labels = make_moons(300 if step == 0 else 80, noise=0.05, random_state=step)
    angle = np.deg2rad(18 * step)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return pd.DataFrame((points - [0.5, 0.25]) @ turn, columns=["east", "north"]), pd.Series(labels)


# %%
model, still = ContinuousTransportClassifier(), naive_bayes.GaussianNB()
model.learn_many(*batch(0))
still.learn_many(*batch(0))
scores = []
for step in range(1, 11):
    X, y = batch(step)
    model.learn_many(X)  # no labels
    scores.append([100 * (each.predict_many(X).to_numpy() == y.to_numpy()).mean() for each in (still, model)])
print(f"on average {np.mean(scores, axis=0)[0]:.0f} % by GaussianNB, {np.mean(scores, axis=0)[1]:.0f} % by ours")
assert np.mean(scores, axis=0)[1] > 90

# %%
# What happened is in ``transport_``, for alarms and for plots.

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
for name, values in zip(("GaussianNB", "ContinuousTransport"), np.transpose(scores), strict=True):
    above.plot(range(1, 11), values, "o-", label=name)
above.set(ylabel="accuracy, %")
above.legend()
below.bar(range(1, 11), model.transport_.history_["drift"], color="#8b93a1")
below.set(xlabel="batch", ylabel="distance from the source")
plt.show()
