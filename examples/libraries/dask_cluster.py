"""A cluster: the Dask engine
==========================

``solve(…, engine=Dask("tcp://scheduler:8786"))`` keeps rows on the workers of a cluster. A source that is larger than
any one machine can be a Dask array from the start: only vectors over the columns and sums ever meet. Here two workers
share this process, so that the page can be built anywhere.

Needs: driftway[dask]
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client
from sklearn.datasets import make_moons

from driftway import Problem, TimeSmoothness, solve
from driftway.engines import Dask

X = make_moons(2000, noise=0.05, random_state=0)[0]
Y = make_moons(400, noise=0.05, random_state=1)[0] @ np.array([[0.95, 0.31], [-0.31, 0.95]])

# %%
# Rows live in chunks with the workers. What is asked of a solution is computed there, too, and fetched at the end.

with Client(processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
    engine = Dask(client)
    rows = engine.rows(da.from_array(X, chunks=(500, 2)))
    problem = Problem(engine.cloud(rows, Y), epsilon=0.5, regularizer=TimeSmoothness(Y, previous=rows, weight=1.0))
    solution = solve(problem, engine=engine, tol=1e-5)
    print(solution)
    assert solution.converged
    images = np.asarray(solution.plan.barycentric_map(Y))

# %%
plt.figure(figsize=(7, 4), layout="constrained")
plt.scatter(*Y.T, s=30, color="#c3c9d3", label="target")
for number, part in enumerate(np.array_split(images, 4)):
    plt.scatter(*part.T, s=3, label=f"chunk {number}")
plt.legend(markerscale=3)
plt.show()
