"""A faulty batch, and rows that are wrong
=======================================

Sensors fail. A batch of noise is answered as well as can be, with a warning, and the batches after it are answered
right again. A batch that cannot be used at all is skipped with a warning, and rows with missing values do no harm.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from driftway import AdaptationWarning, ContinuousTransportClassifier

rng = np.random.default_rng(0)


def measure(hour, size=120):
    """Two kinds of events whose measurements drift by the hour."""
    kind = np.arange(size) % 2
    return rng.normal(size=(size, 2)) + np.outer(kind, [5, 0]) + np.array([0.5, 0.3]) * hour, kind


X, y = measure(0, 300)
model = ContinuousTransportClassifier(on_bad_batch="skip").fit(X, y)
scores, told = {}, {}
for hour in range(1, 13):
    batch, truth = measure(hour)
    if hour == 6:
        batch[:] = rng.uniform(-40, 40, size=batch.shape)  # a loose contact
    if hour == 9:
        batch[0, 1] = np.inf
    batch[3, 0] = np.nan  # a missing value in every batch
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", AdaptationWarning)
        model.partial_fit(batch)
    told[hour] = "\n  ".join(str(each.message) for each in said)
    usable = ~np.isinf(batch).any(axis=1)
    scores[hour] = 100 * model.score(batch[usable], truth[usable])

# %%
for hour, message in told.items():
    if message:
        print(f"hour {hour}: {message}")
assert told[6]
assert told[9]
assert min(score for hour, score in scores.items() if hour != 6) > 90

# %%
colours = ["#d55e00" if told[hour] else "#0072b2" for hour in scores]
plt.figure(figsize=(7, 3.2), layout="constrained")
plt.bar(list(scores), list(scores.values()), color=colours)
plt.xlabel("hour; orange: it warned")
plt.ylabel("accuracy, %")
plt.show()
