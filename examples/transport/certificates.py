"""What a certificate is
=====================

Every solution comes with a value that the plan attains and a number that no plan can be below. Both are recorded in
each iteration: ``converged=True`` says that they met.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway import ForwardBackward, GroupLasso, PointCloudCost, Problem, solve

X, labels = make_moons(150, noise=0.05, random_state=0)
Y = make_moons(100, noise=0.05, random_state=1)[0] @ np.array([[0.8, 0.6], [-0.6, 0.8]])

# %%
# A class regulariser, whose optimum nobody knows in closed form, solved by the paper's Algorithm 1 to a relative gap
# of 1e-9.

problem = Problem(PointCloudCost(X, Y), epsilon=0.02, regularizer=GroupLasso(labels, weight=0.1))
solution = solve(problem, ForwardBackward(), tol=1e-9, max_iter=2000)
print(f"value       {solution.value:.12f}\nlower bound {solution.lower_bound:.12f}")
print(solution.message)
assert solution.converged
assert solution.lower_bound <= solution.value

# %%
# The certificate needs no second solver: it is made of the dual potentials of the plan itself. Here it is beside the
# true distance to the optimum, which was only known afterwards. It is formed anew when it can be expected to decide.

trace = solution.trace
scale = max(abs(solution.value), problem.epsilon)
certified, true = trace.gap, (trace.objective - solution.lower_bound) / scale
inside = np.flatnonzero(trace.marginal_error < 1e-6)  # of an infeasible plan the objective may be below the optimum

plt.figure(figsize=(7, 3.6), layout="constrained")
plt.semilogy(certified, label="certified while it ran")
plt.semilogy(inside, np.maximum(true[inside], 1e-12), "o", markersize=3, label="true, known afterwards")
plt.axhline(1e-9, color="#8b93a1", linestyle="--", linewidth=1)
plt.xlabel("iteration")
plt.ylabel("distance to the optimum, relative")
plt.legend()
plt.show()
