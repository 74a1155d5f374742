"""Optimal transport as a training loss in JAX, with smoothness in time, compiled.

An affine map moves a source to a target that has turned by 40° and shifted. The loss is the optimal value of
entropic transport between the moved source and the target, with a time regulariser that keeps the mapped points
near where the map puts them: it is differentiated in positions that enter cost and regulariser alike.

Needs: driftway[jax]
Run:  python examples/jax_training.py
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import make_moons

from driftway.jax import PointCloudCost, TimeSmoothness, transport_loss


def main(steps: int = 60) -> list[float]:
    """Trains, prints the loss on the way, and returns it."""
    angle = np.deg2rad(40.0)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    source = jnp.asarray(make_moons(80, noise=0.05, random_state=0)[0])
    target = jnp.asarray(make_moons(60, noise=0.05, random_state=1)[0] @ turn + 1.0)

    def loss(parameters: Any) -> Any:
        matrix, shift = parameters
        moved = source @ matrix + shift
        smooth = TimeSmoothness(target, previous=moved, weight=0.5)
        return transport_loss(PointCloudCost(moved, target, "sqeuclidean"), epsilon=0.02, regularizer=smooth, tol=1e-6)

    def descend(parameters: Any) -> Any:
        value, gradient = jax.value_and_grad(loss)(parameters)
        return value, jax.tree.map(lambda p, g: p - 0.2 * g, parameters, gradient)

    descend = jax.jit(descend)
    parameters = (jnp.eye(2), jnp.zeros(2))
    values = []
    for step in range(steps):
        value, parameters = descend(parameters)
        values.append(float(value))
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:3d}   loss {values[-1]:.5f}")
    return values


if __name__ == "__main__":
    main()
