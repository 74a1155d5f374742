"""Regression under drift
======================

A quantity instead of classes: the inputs drift, and what they meant stays. ``ContinuousTransportRegressor`` has the
same ``fit`` and ``partial_fit``.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from driftway import AdaptationWarning, ContinuousTransportRegressor

rng = np.random.default_rng(0)


def observe(step, count):
    """A quantity that depends on a skewed and a flat input, of which the sensors' offset and gain drift."""
    inputs = np.column_stack([rng.exponential(size=count), rng.uniform(-1, 1, size=count)])
    target = np.sin(2 * inputs[:, 0]) + inputs[:, 1] ** 2 + 0.05 * rng.normal(size=count)
    return inputs * (1 + 0.04 * step) + [0.12 * step, -0.08 * step], target


# %%
X, y = observe(0, 400)
model, unadapted = (ContinuousTransportRegressor().fit(X, y) for _ in range(2))
errors = []
for step in range(1, 13):
    batch, truth = observe(step, 120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        answers = model.partial_fit(batch).predict(batch)
    errors.append([np.abs(answers - truth).mean(), np.abs(unadapted.predict(batch) - truth).mean()])
adapted, still = np.transpose(errors)
print(f"mean error {adapted.mean():.3f} adapted, {still.mean():.3f} not adapted; believed: {model.history_[-1].track}")
assert adapted.mean() < still.mean()

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
left.plot(range(1, 13), adapted, "o-", label="adapted")
left.plot(range(1, 13), still, "o--", label="as trained")
left.set(xlabel="step", ylabel="mean absolute error", ylim=(0, None))
left.legend()
right.plot([truth.min(), truth.max()], [truth.min(), truth.max()], color="#8b93a1", linewidth=1)
right.plot(truth, answers, "o", markersize=4)
right.plot(truth, unadapted.predict(batch), "o", markersize=4, alpha=0.6)
right.set(xlabel="truth in the last step", ylabel="answer")
plt.show()
