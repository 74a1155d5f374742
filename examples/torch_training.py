"""Optimal transport as a training loss in PyTorch, with smoothness in time.

A small network moves a source to a target that has turned by 40°. The loss is the optimal value of entropic
transport between the moved source and the target, with a time regulariser that keeps the mapped points near where
the network puts them: it is differentiated in positions that enter cost and regulariser alike.

Needs: driftway[torch]
Run:  python examples/torch_training.py
"""

from __future__ import annotations

import numpy as np
import torch
from sklearn.datasets import make_moons

from driftway.torch import PointCloudCost, TimeSmoothness, transport_loss


def main(steps: int = 60) -> list[float]:
    """Trains, prints the loss on the way, and returns it."""
    torch.manual_seed(0)
    angle = np.deg2rad(40.0)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    source = torch.tensor(make_moons(80, noise=0.05, random_state=0)[0], dtype=torch.float32)
    target = torch.tensor(make_moons(60, noise=0.05, random_state=1)[0] @ turn, dtype=torch.float32)
    network = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    values = []
    for step in range(steps):
        moved = network(source)
        smooth = TimeSmoothness(target, previous=moved, weight=0.5)
        loss = transport_loss(PointCloudCost(moved, target, "sqeuclidean"), epsilon=0.02, regularizer=smooth, tol=1e-6)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        values.append(loss.item())
        if step % 10 == 0 or step == steps - 1:
            print(f"step {step:3d}   loss {values[-1]:.5f}")
    return values


if __name__ == "__main__":
    main()
