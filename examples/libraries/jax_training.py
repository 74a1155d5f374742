"""JAX: transport under grad and jit
=================================

An affine map moves a source to a target that has turned by 40° and shifted. The loss is the optimal value of entropic
transport between the moved source and the target; its gradient comes with the same solve, inside compiled functions.

Needs: driftway[jax]
"""

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from driftway.jax import PointCloudCost, TimeSmoothness, transport_loss

angle = np.deg2rad(40.0)
turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
source = jnp.asarray(make_moons(80, noise=0.05, random_state=0)[0])
target = jnp.asarray(make_moons(60, noise=0.05, random_state=1)[0] @ turn + 1.0)


def loss(parameters: tuple[jax.Array, jax.Array]) -> jax.Array:
    """Positions enter the cost and the regulariser alike."""
    moved = source @ parameters[0] + parameters[1]
    smooth = TimeSmoothness(target, previous=moved, weight=0.5)
    return transport_loss(PointCloudCost(moved, target, "sqeuclidean"), epsilon=0.02, regularizer=smooth, tol=1e-6)


# %%
# Steepest descent, compiled.

descend = jax.jit(jax.value_and_grad(loss))
parameters, losses = (jnp.eye(2), jnp.zeros(2)), []
for _ in range(60):
    value, gradient = descend(parameters)
    parameters = jax.tree.map(lambda p, g: p - 0.2 * g, parameters, gradient)
    losses.append(float(value))
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
assert losses[-1] < 0.2 * losses[0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(losses)
left.set(xlabel="step", ylabel="loss")
right.scatter(*target.T, s=50, color="#c3c9d3", label="target")
right.scatter(*source.T, s=6, color="#8b93a1", label="source")
right.scatter(*(source @ parameters[0] + parameters[1]).T, s=12, color="#d55e00", label="moved")
right.legend(fontsize=8)
plt.show()
