"""Transport that is smooth in time
=================================

A cloud was carried to a first target; now a second one has come. ``TimeSmoothness`` keeps the new map near the one
before: this is the time regulariser of the paper, on one step of its rotating moons.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve


def moons(count, degrees, seed):
    """Two moons turned about the origin."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return make_moons(count, noise=0.05, random_state=seed)[0] @ turn


X, first, second = moons(120, 0, 0), moons(60, 30, 1), moons(60, 60, 2)

# %%
# The first map is plain entropic transport. The second is asked for twice: without and with a memory of the first.

previous = sinkhorn(PointCloudCost(X, first), epsilon=0.05).plan.barycentric_map(first)
maps = {}
for name, weight in (("without memory", 0.0), ("smooth in time", 1.0)):
    J = TimeSmoothness(second, previous=previous, weight=weight)
    solution = solve(Problem(PointCloudCost(X, second), epsilon=0.05, regularizer=J))
    assert solution.converged
    maps[name] = solution.plan.barycentric_map(second)
    print(f"{name:>15}: images moved by {np.linalg.norm(maps[name] - previous, axis=1).mean():.3f} on average")
moved = [np.linalg.norm(images - previous, axis=1).mean() for images in maps.values()]
assert moved[1] < moved[0]

# %%
# Arrows lead from where a point of the source was to where it is now.

figure, axes = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for ax, (name, images) in zip(axes, maps.items(), strict=True):
    ax.scatter(*second.T, s=60, color="#dde1e8", label="second target")
    ax.quiver(*previous.T, *(images - previous).T, angles="xy", scale_units="xy", scale=1, width=0.004, alpha=0.6)
    ax.scatter(*images.T, s=12, color="#d55e00", label="the source, carried", zorder=3)
    ax.set(title=name, aspect="equal")
axes[0].legend(loc="upper right")
plt.show()
