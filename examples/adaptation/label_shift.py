"""Classes whose shares change
===========================

Nothing moves here, but the mix of classes does: one that is rare in the labelled data becomes the usual one. A
classifier with the old shares in mind errs where classes overlap. The model estimates the shares of every batch.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from driftway import AdaptationWarning, ContinuousTransportClassifier

rng = np.random.default_rng(0)


def sample(share, count):
    """Two classes that overlap, the second with this share."""
    labels = (rng.random(count) < share).astype(int)
    return rng.normal(size=(count, 2)) + np.outer(labels, [1.6, 0.8]), labels


# %%
X, y = sample(0.15, 600)
model, unadapted = (ContinuousTransportClassifier().fit(X, y) for _ in range(2))
true = np.linspace(0.15, 0.9, 16)
found, scores = [], []
for share in true:
    batch, truth = sample(share, 300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        model.partial_fit(batch)
    found.append(model.predict_proba(batch)[:, 1].mean())
    scores.append([each.score(batch, truth) for each in (model, unadapted)])
adapted, still = 100 * np.transpose(scores)
print(f"accuracy {adapted.mean():.1f} % adapted, {still.mean():.1f} % not adapted")
print("believed in the last step:", model.history_[-1].track)
assert adapted.mean() > still.mean()

# %%
# Left: the mean probability of the second class, and its true share. Right: the accuracy, of which the overlap of the
# classes allows no more than about 81 to 94 %.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
left.plot(true, true, color="#8b93a1", linewidth=1)
left.plot(true, found, "o", label="adapted")
left.set(xlabel="true share", ylabel="share as answered")
right.plot(true, adapted, "o-", label="adapted")
right.plot(true, still, "o--", label="as trained")
right.set(xlabel="true share of the second class", ylabel="accuracy, %")
right.legend()
plt.show()
