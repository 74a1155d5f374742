"""Figure 3: accuracy while the data drift
=======================================

The paper carries the labelled source from step to step, with a time regulariser, and trains a neighbour classifier on
it. Here that is beside transport without memory, transport in one leap, a classifier that is left alone, and
driftway's default. The strengths are those that :doc:`the full reproduction </reproduction>` chose on other streams.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier
from driftway.pot import SinkhornTransport, TimeSmoothTransport


def moons(count, degrees, seed):
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


X, y = moons(500, 0, 0)
names = ("driftway's default", "sequential, time", "sequential, no memory", "in one leap", "no adaptation")
default, alone = ContinuousTransportClassifier().fit(X, y), KNeighborsClassifier(1).fit(X, y)
timely, forgetful = (TimeSmoothTransport(reg_e=0.4, reg_t=weight, metric="euclidean") for weight in (0.3, 0.0))

# %%
# Every step is scored on 500 fresh points that no method has seen.

scores = []
for step in range(1, 21):
    batch, _ = moons(50, 18 * step, step)
    fresh, truth = moons(500, 18 * step, 1000 + step)
    carried = []
    for model in (timely, forgetful):
        model.fit(Xs=X, ys=y, Xt=batch) if step == 1 else model.partial_fit(Xt=batch)
        carried.append(model.transform(X))
    carried.append(SinkhornTransport(reg_e=0.5, metric="euclidean").fit(Xs=X, ys=y, Xt=batch).transform(X))
    judged = [KNeighborsClassifier(1).fit(images, y) for images in carried]
    scores.append([each.score(fresh, truth) for each in (default.partial_fit(batch), *judged, alone)])
means = dict(zip(names, np.mean(scores, axis=0), strict=True))
print("\n".join(f"{name:<22} {mean:.1%}" for name, mean in means.items()))
assert means["driftway's default"] > 0.95

# %%
plt.figure(figsize=(8, 3.8), layout="constrained")
for name, values in zip(names, np.transpose(scores), strict=True):
    plt.plot(range(1, 21), 100 * values, "o-", markersize=3, label=name)
plt.xlabel("step, 18° each")
plt.ylabel("accuracy, %")
plt.legend(fontsize=8)
plt.show()
