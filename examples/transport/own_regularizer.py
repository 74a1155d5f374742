"""A regulariser of your own
=========================

Any smooth function of the plan can be J. Here some pairs of points should not be coupled: each such pair costs the
square of the mass that it gets, times a weight. Two functions say it, or one and the name of a library that
differentiates it: ``Custom(function, autodiff="torch")``.
"""

import matplotlib.pyplot as plt
import numpy as np

from driftway import Custom, PointCloudCost, Problem, solve

X, Y = np.linspace(0, 1, 60)[:, None], np.linspace(0, 1, 80)[:, None] ** 1.5
x, y = np.meshgrid(X.ravel(), Y.ravel(), indexing="ij")
avoided = ((x - 0.5) ** 2 + (y - 0.4) ** 2 < 0.04).astype(float)  # a hole on the way

# %%
# A value and a gradient. ``convex=True`` is a promise, on which the certified lower bound relies.

J = Custom(
    lambda plan: 5e4 * (avoided * plan**2).sum(),
    gradient=lambda plan: 1e5 * avoided * plan,
    convex=True,
)
plans = {}
for name, regularizer in (("without", None), ("with", J)):
    solution = solve(Problem(PointCloudCost(X, Y, "sqeuclidean"), epsilon=0.002, regularizer=regularizer))
    plans[name] = solution.plan.dense()
    print(f"{name:>7}: gap {solution.gap:.0e}, mass in the hole {(avoided * plans[name]).sum():.3f}")
    assert solution.converged
assert (avoided * plans["with"]).sum() < (avoided * plans["without"]).sum()

# %%
# The mass goes around the hole, as far as the marginals allow.

figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained")
for ax, (name, plan) in zip(axes, plans.items(), strict=True):
    ax.imshow(plan**0.5, cmap="BuPu", origin="lower", extent=(0, 1, 0, 1))
    ax.contour(avoided, [0.5], colors="#d55e00", linestyles="--", extent=(0, 1, 0, 1))
    ax.set(title=f"{name} the regulariser", xlabel="target", ylabel="source")
plt.show()
