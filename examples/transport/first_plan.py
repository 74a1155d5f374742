"""A first transport plan
======================

Two clouds of points, and the entropic transport plan between them: how much of each point of the first goes to each
point of the second. ``sinkhorn`` returns a solution with its certificate; the plan is an operator.
"""

import matplotlib.pyplot as plt
import numpy as np

from driftway import PointCloudCost, sinkhorn

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))
Y = rng.normal(size=(50, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]]) + [4.0, 1.0]

# %%
# ``epsilon`` is the strength of the entropy, in units of the cost. A small one sends each point to few others.

plans = {epsilon: sinkhorn(PointCloudCost(X, Y), epsilon=epsilon) for epsilon in (1.0, 0.02)}
print(plans[0.02])

# %%
# ``converged`` means that the value is proven to be this close to the optimum, and that the marginals are right.

for solution in plans.values():
    print(solution.converged, f"gap {solution.gap:.1e}, marginals off by {solution.marginal_error:.1e}")
    assert solution.converged

# %%
# Each line is a pair of points, the darker the more mass goes that way.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
for ax, (epsilon, solution) in zip(axes, plans.items(), strict=True):
    gamma = solution.plan.dense()
    for i, j in zip(*np.nonzero(gamma > 0.02 * gamma.max()), strict=True):
        ax.plot(*zip(X[i], Y[j], strict=True), color="#5b6472", linewidth=1, alpha=0.5 * gamma[i, j] / gamma.max())
    ax.scatter(*X.T, s=22, label="source", zorder=2)
    ax.scatter(*Y.T, s=22, label="target", zorder=2)
    ax.set_title(f"epsilon = {epsilon}")
axes[0].legend()
plt.show()
