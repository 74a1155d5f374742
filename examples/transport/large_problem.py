"""Ten thousand by ten thousand
============================

A plan of 10⁸ entries that is never formed. Point clouds as costs and regularisers that see the plan through moments
need memory that is linear in the number of points, and the certificate costs no more.
"""

import tracemalloc

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Threads

n = 10_000
X, labels = make_moons(n, noise=0.05, random_state=0)
Y = make_moons(n, noise=0.05, random_state=1)[0] @ np.array([[0.95, 0.31], [-0.31, 0.95]])

# %%
# A matrix of this size would take 800 MB, and a solver that keeps a few of them several times that. ``memory`` is what
# may be kept at most, in bytes; by default it is 512 MiB.

tracemalloc.start()
J = TimeSmoothness(Y, previous=X, weight=1.0)
solution = solve(Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=J), engine=Threads(memory=2**26), tol=1e-3)
peak = tracemalloc.get_traced_memory()[1] / 2**20
tracemalloc.stop()
print(solution)
print(f"{peak:.0f} MiB at the most")
assert solution.converged
assert peak < 100

# %%
# The plan is an operator: here it carries each source point to the mean of where its mass goes.

images = solution.plan.barycentric_map(Y)
plt.figure(figsize=(6, 3.8), layout="constrained")
plt.scatter(*Y.T, s=1, color="#c3c9d3", label="target")
plt.scatter(*images.T, s=1, c=np.array(["#0072b2", "#d55e00"])[labels], label="the source, carried")
plt.legend(markerscale=8, loc="lower left")
plt.show()
