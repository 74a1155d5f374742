"""Domain adaptation with a group lasso
====================================

Labelled points, and unlabelled ones that have turned. Transport carries the labels over. ``GroupLasso`` asks every
target point to receive its mass from one class only, which keeps the classes apart on the way.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import GroupLasso, PointCloudCost, Problem, solve

X, labels = make_moons(200, noise=0.05, random_state=0)
points, truth = make_moons(100, noise=0.05, random_state=1)  # the truth only tells how well it went
angle = np.deg2rad(35)
Y = points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

# %%
# Purity is the share of a target point's mass that comes from its main class. It grows with the weight. A large weight
# also spreads the mass within a class and draws its images together, so the accuracy of a neighbour classifier on them
# need not grow. The three weights are a ladder, not a choice.

found = {}
for weight in (0.0, 3.0, 30.0):
    problem = Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=GroupLasso(labels, weight))
    plan = solve(problem).plan
    mass = plan.T @ np.eye(2)[labels]
    share = mass[:, 1] / mass.sum(axis=1)
    images = plan.barycentric_map(Y)
    accuracy = KNeighborsClassifier(1).fit(images, labels).score(Y, truth)
    purity = np.maximum(share, 1 - share).mean()
    found[weight] = purity, images, share
    print(f"weight {weight}: purity {purity:.1%}, accuracy {accuracy:.0%}")
assert found[30.0][0] > found[0.0][0]

# %%
# Circles are target points, in the colour of the class that their mass comes from: pale ones receive from both.
# Small dots are images of the source.

figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharex=True, sharey=True, layout="constrained")
for ax, (weight, (purity, images, share)) in zip(axes, found.items(), strict=True):
    shown = ax.scatter(*Y.T, s=40, c=share, cmap="RdYlBu", vmin=0, vmax=1, edgecolors="#8b93a1", linewidths=0.5)
    ax.scatter(*images.T, s=5, c=np.array(["#a50026", "#313695"])[labels])
    ax.set(title=f"weight {weight}: purity {purity:.0%}", aspect="equal")
figure.colorbar(shown, ax=axes, label="share of the mass from class 1", shrink=0.8)
plt.show()
