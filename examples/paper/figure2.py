"""Figure 2: how fast the problem is solved
========================================

One step of the rotating moons with the time regulariser, by the paper's Algorithm 1, by the conditional gradient that
it was compared with, and by dual ascent, which ``solve`` takes when it is left the choice. The paper has 5000 × 1000
points, this page 400 × 100.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import ConditionalGradient, ForwardBackward, PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve
from driftway.solvers import DualAscent


def moons(count, degrees, seed):
    """Two moons turned about the origin."""
    angle = np.deg2rad(degrees)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return make_moons(count, noise=0.05, random_state=seed)[0] @ turn


source, first, second = (moons(count, 18 * k, k) for k, count in enumerate((400, 100, 100)))

# %%
# The source has been mapped to the first target; this is the step to the second. ``gap`` is certified: it needs no
# solution by somebody else to compare with. Dual ascent solves a problem this small on its way to the first iteration.

solvers = {
    "Algorithm 1, α = 10": ForwardBackward(step=10.0),
    "Algorithm 1, accelerated": ForwardBackward(accelerate=True),
    "conditional gradient": ConditionalGradient(),
    "dual ascent": DualAscent(),
}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
for ax, epsilon in zip(axes, (0.5, 0.01), strict=True):
    mapped = sinkhorn(PointCloudCost(source, first), epsilon=epsilon).plan.barycentric_map(first)
    J = TimeSmoothness(second, mapped, weight=50.0, normalization="coupling")
    problem = Problem(PointCloudCost(mapped, second), epsilon=epsilon, regularizer=J)
    for name, solver in solvers.items():
        solution = solve(problem, solver, tol=1e-8, max_iter=300)
        print(f"λ = {epsilon:<5} {name:<25} {solution.n_iter:>4} iterations to a gap of {solution.gap:.0e}")
        assert solution.converged
        ax.semilogy(np.maximum(solution.trace.gap, 1e-10), "o-", markersize=3, label=name)
    ax.set(title=f"λ = {epsilon}", xlabel="iteration")
axes[0].set_ylabel("certified gap, relative")
axes[1].legend(fontsize=8)
plt.show()
