"""Sensors that drift
==================

Thirteen measurements of wines; from batch to batch every sensor's gain and offset go their own way. Nothing turns
here: the model finds out by itself which kind of drift explains the batches, and ``explain`` says what moved.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from driftway import AdaptationWarning, ContinuousTransportClassifier

data = load_wine(as_frame=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(data.data))
X, y = data.data.iloc[order[:90]], data.target.to_numpy()[order[:90]]
rest, kinds = data.data.iloc[order[90:]], data.target.to_numpy()[order[90:]]

# %%
# Per step a gain changes by about 5 %, and an offset by about a third of what is usual for its sensor.

gains = np.exp(np.cumsum(rng.normal(scale=0.05, size=(12, 13)), axis=0))
offsets = np.cumsum(rng.normal(scale=0.33, size=(12, 13)), axis=0) * X.std().to_numpy()
model, unadapted = (ContinuousTransportClassifier().fit(X, y) for _ in range(2))
scores = []
for gain, offset in zip(gains, offsets, strict=True):
    rows = rng.choice(len(rest), 60, replace=False)
    batch, truth = rest.iloc[rows] * gain + offset, kinds[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)  # they stay in the history
        model.partial_fit(batch)
    scores.append([each.score(batch, truth) for each in (model, unadapted)])
adapted, still = 100 * np.transpose(scores)
print(f"accuracy {adapted.mean():.0f} % adapted, {still.mean():.0f} % not adapted\n\n{model.explain()}")
assert adapted.mean() > still.mean()

# %%
# What is believed stands in the history, with what was unusual in each step.

figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), sharex=True, layout="constrained")
above.plot(range(1, 13), adapted, "o-", label="adapted")
above.plot(range(1, 13), still, "o--", label="as trained")
above.set(ylabel="accuracy, %", ylim=(0, 104))
above.legend(loc="lower left")
below.bar(range(1, 13), model.history_["drift"], color="#8b93a1")
below.set(xlabel="step", ylabel="distance from the source\nin multiples of chance")
plt.show()
