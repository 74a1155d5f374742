"""Colour transfer with a regular map
==================================

A painting gets the colours of another by transporting its pixels in the space of colours. A plan alone tears similar
colours apart, which shows as grain; a graph ``Laplacian`` on the map keeps them together (Ferradans et al. 2014).
Both images are made here.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.cluster import KMeans
from sklearn.neighbors import kneighbors_graph

from driftway import Laplacian, PointCloudCost, Problem, solve

rng = np.random.default_rng(0)


def painting(colours, size=72):
    """Soft hills under a sky, in a palette from top to bottom."""
    y, x = np.mgrid[0 : 1 : 1j * size, 0 : 1 : 1j * size]
    height = np.clip(y + 0.12 * np.sin(6 * x + 2) * y + gaussian_filter(rng.normal(size=x.shape), 4), 0, 1)
    image = np.stack([np.interp(height, np.linspace(0, 1, len(colours)), band) for band in np.transpose(colours)], -1)
    return np.clip(image + rng.normal(scale=0.015, size=image.shape), 0, 1)


day = painting([(0.35, 0.6, 0.9), (0.75, 0.88, 0.97), (0.45, 0.65, 0.3), (0.15, 0.35, 0.12)])
dusk = painting([(0.2, 0.1, 0.35), (0.9, 0.4, 0.3), (0.98, 0.75, 0.4), (0.12, 0.05, 0.15), (0.3, 0.12, 0.2)])

# %%
# The colours of each image are summed up in 250 representatives with masses, so that a small problem remains.


def palette(image):
    """Representative colours, which of them each pixel has, and their masses."""
    fitted = KMeans(250, n_init=1, max_iter=20, random_state=0).fit(image.reshape(-1, 3))
    return fitted.cluster_centers_, fitted.labels_, np.bincount(fitted.labels_) / fitted.labels_.size


(X, of_pixel, a), (Y, _, b) = palette(day), palette(dusk)
graph = kneighbors_graph(X, 8, mode="connectivity")
graph = graph.maximum(graph.T)
results = {"by day": day, "its colours": dusk}
for name, weight in (("plain", 0.0), ("regular", 5.0)):
    J = Laplacian(graph, Y, weight)
    solution = solve(Problem(PointCloudCost(X, Y), a, b, epsilon=0.005, regularizer=J), tol=1e-4)
    moved = solution.plan.barycentric_map(Y)
    apart = np.linalg.norm(moved[graph.nonzero()[0]] - moved[graph.nonzero()[1]], axis=1).mean()
    print(f"{name}: colours that are neighbours end up {apart:.3f} apart on average")
    pixels = moved[of_pixel] + (day.reshape(-1, 3) - X[of_pixel])  # the texture of each pixel stays its own
    results[name] = np.clip(pixels, 0, 1).reshape(day.shape)

# %%
figure, axes = plt.subplots(1, 4, figsize=(10, 2.8), layout="constrained")
for ax, (name, image) in zip(axes, results.items(), strict=True):
    ax.imshow(image)
    ax.set(title=name, xticks=[], yticks=[])
plt.show()
