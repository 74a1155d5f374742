"""Categories and gaps
===================

A table as it comes: a column of texts, empty cells, and from the third month on a material that the labelled rows did
not have. Categories become columns of 0 and 1, which no drift of a sensor moves; missing numbers become medians of
the batch, which drift with the others.

Needs: driftway[river]
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from driftway import AdaptationWarning, ContinuousTransportClassifier

rng = np.random.default_rng(0)


def parts(month, size):
    """Parts that are sound or not; the scale drifts, and one value of twelve is missing."""
    cracked = rng.random(size) < 0.4
    material = np.where(rng.random(size) < 0.75, np.where(cracked, "brass", "steel"), "copper").astype(object)
    material[rng.random(size) < 0.05 * (month > 2)] = "bronze"
    frame = pd.DataFrame({"material": material, "cracked": np.where(cracked, "yes", "no")})
    frame["weight"] = 20 + 2 * cracked + rng.normal(size=size) + 0.6 * month
    frame["echo"] = 5 - cracked + 0.7 * rng.normal(size=size)
    return frame.mask((rng.random(frame.shape) < 1 / 12) & (frame.columns != "cracked"))


# %%
source, features = parts(0, 300), ["material", "weight", "echo"]
model = ContinuousTransportClassifier().fit(source[features], source["cracked"])
still = ContinuousTransportClassifier().fit(source[features], source["cracked"])
print(model.columns_.categories, model.columns_.missing)

accuracy = {"adapted": [], "not adapted": []}
for month in range(1, 7):
    batch = parts(month, 150)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AdaptationWarning)
        model.partial_fit(batch[features])
    print(*(warning.message for warning in caught), sep="\n")
    for name, each in (("adapted", model), ("not adapted", still)):
        accuracy[name].append(each.score(batch[features], batch["cracked"]))
print(model.explain())
assert np.mean(accuracy["adapted"]) > np.mean(accuracy["not adapted"]) + 0.05

# %%
table = pd.DataFrame(model.history_.to_dict(), index=range(1, 7))
figure, axes = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
(100 * pd.DataFrame(accuracy, index=table.index)).plot(ax=axes[0], style="o-", ylim=(40, 100), ylabel="accuracy, %")
table[["missing", "unseen"]].plot.bar(ax=axes[1], rot=0, xlabel="month", ylabel="cells")
plt.show()
