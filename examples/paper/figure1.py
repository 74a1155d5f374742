"""Figure 1: a source and its targets
==================================

The data of the paper's experiments: two moons, labelled once, that turn by 18° from target to target.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway.report.figures import plot_domain


def moons(count, degrees, seed):
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


domains = {"source, labelled": moons(500, 0, 0)}
domains |= {f"target {step}: {18 * step}°": moons(50, 18 * step, step) for step in range(1, 8)}

figure, axes = plt.subplots(2, 4, figsize=(9, 4.6), sharex=True, sharey=True, layout="constrained")
for ax, (name, (X, y)) in zip(axes.flat, domains.items(), strict=True):
    plot_domain(X, y, ax=ax, size=4 if len(X) > 100 else 12)
    ax.plot(0, 0, "+", color="black")
    ax.set_title(name, fontsize=10)
plt.show()
