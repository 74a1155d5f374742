"""POT: the import is what changes
===============================

``driftway.pot`` has POT's names, arguments and return conventions. POT need not be installed. First the class
regulariser of ``sinkhorn_l1l2_gl`` with a certificate; then a drift of 180°, reached by ``SinkhornTransport`` in one
leap, and step by step by ``TimeSmoothTransport``. The strengths are the paper's, kept after others had been tried on
this very stream: an illustration, no evidence.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway.pot import SinkhornTransport, TimeSmoothTransport, sinkhorn_l1l2_gl  # was: from ot.da import …


def moons(count, degrees, seed):
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


Xs, ys = moons(200, 0.0, 0)
stream = [moons(50, 18.0 * step, step) for step in range(1, 11)]

# %%
Xt = stream[0][0]
M = ((Xs[:, None] - Xt) ** 2).sum(axis=2)
_, log = sinkhorn_l1l2_gl(np.full(200, 1 / 200), ys, np.full(50, 1 / 50), M, reg=0.05, eta=0.05, log=True)
print(f"loss {log['loss'][-1]:.6f}, certified gap {log['gap']:.1e}, in {log['niter']} sweeps")
assert log["gap"] < 1e-6

# %%
last, truth = stream[-1]
static = SinkhornTransport(reg_e=0.4, metric="euclidean").fit(Xs=Xs, ys=ys, Xt=last)
timely = TimeSmoothTransport(reg_e=0.4, reg_t=0.3, metric="euclidean").fit(Xs=Xs, ys=ys, Xt=Xt)
for batch, _ in stream[1:]:
    timely.partial_fit(Xt=batch)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, (("in one leap", static), ("step by step", timely)), strict=True):
    images = model.transform(Xs)
    accuracy = KNeighborsClassifier(1).fit(images, ys).score(last, truth)
    print(f"{name:>12}: {accuracy:.0%} of the labels right after 180°")
    ax.scatter(*last.T, s=50, color="#c3c9d3")
    ax.scatter(*images.T, s=6, c=np.array(["#0072b2", "#d55e00"])[ys])
    ax.set(title=f"{name}: {accuracy:.0%} right", aspect="equal")
assert accuracy > 0.95
plt.show()
