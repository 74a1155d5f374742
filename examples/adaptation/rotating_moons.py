"""Two moons that turn
===================

A classifier is trained once, on labelled data. Then unlabelled batches come, and from one to the next everything
turns by 18°. ``partial_fit`` follows; without it, the answers are wrong after a few steps.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import ContinuousTransportClassifier


def turned(count, step, seed):
    """Two moons after some steps, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(18 * step)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


# %%
# ``partial_fit`` sees a batch, never its labels, which only tell here how well it went.

X, y = turned(400, 0, seed=0)
model, unadapted = (ContinuousTransportClassifier().fit(X, y) for _ in range(2))
scores, snapshots = [], {}
for step in range(1, 16):
    batch, truth = turned(50, step, seed=step)
    model.partial_fit(batch)
    scores.append([each.score(batch, truth) for each in (model, unadapted)])
    if step in (3, 8, 13):
        snapshots[step] = batch, model.images_
adapted, still = np.transpose(scores)
print(f"accuracy over 15 steps: {adapted.mean():.0%} adapted, {still.mean():.0%} not adapted")
assert adapted.mean() > 0.95

# %%
# Grey: the unlabelled batch. Coloured: the labelled source, carried along.

figure, axes = plt.subplot_mosaic([[3, 8, 13], ["curve"] * 3], figsize=(8, 5), layout="constrained")
for step, (batch, images) in snapshots.items():
    axes[step].scatter(*batch.T, s=50, color="#c3c9d3")
    axes[step].scatter(*images.T, s=4, c=np.array(["#0072b2", "#d55e00"])[y])
    axes[step].set(title=f"turned by {18 * step}°", aspect="equal", xticks=[], yticks=[])
axes["curve"].plot(range(1, 16), 100 * adapted, "o-", label="adapted")
axes["curve"].plot(range(1, 16), 100 * still, "o--", label="as trained")
axes["curve"].set(xlabel="step", ylabel="accuracy, %", ylim=(0, 104))
axes["curve"].legend()
plt.show()
