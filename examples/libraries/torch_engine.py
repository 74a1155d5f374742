"""A GPU: the torch engine
=======================

``solve(…, engine=Torch("cuda"))`` moves the work to a device; solvers and answers stay the same. Row blocks go there,
vectors come back, and no plan is ever held. This page was built without a GPU, so the device here is the CPU.

Needs: driftway[torch]
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Threads, Torch

X = make_moons(1500, noise=0.05, random_state=0)[0]
Y = make_moons(1000, noise=0.05, random_state=1)[0] @ np.array([[0.95, 0.31], [-0.31, 0.95]])
problem = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, previous=X, weight=1.0))

# %%
# ``memory`` is what may lie on the device at the same time.

engines = {"threads": Threads(), "torch": Torch("cpu", memory=32 * 2**20)}
solutions = {name: solve(problem, engine=engine, tol=1e-8) for name, engine in engines.items()}
for name, solution in solutions.items():
    print(f"{name:>7}: value {solution.value:.12f}, gap {solution.gap:.0e}")
    assert solution.converged
images = {name: solution.plan.barycentric_map(Y) for name, solution in solutions.items()}
difference = np.abs(images["torch"] - images["threads"]).max()
print(f"images differ by {difference:.0e} at the most")
assert difference < 1e-3

# %%
# Where the source goes, by both engines: the one covers the other.

plt.figure(figsize=(7, 4), layout="constrained")
plt.scatter(*Y.T, s=6, color="#c3c9d3", label="target")
plt.scatter(*images["threads"].T, s=12, color="#0072b2", label="by threads")
plt.scatter(*images["torch"].T, s=2, color="#f0c36d", label="by torch")
plt.legend()
plt.show()
