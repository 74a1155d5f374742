"""PyTorch: transport as a training loss
=====================================

A small network moves a source to a target that has turned by 40°. The loss is the optimal value of entropic transport
between the moved source and the target, with a time regulariser that keeps images near where the network puts them:
it is differentiated in positions that enter cost and regulariser alike.

Needs: driftway[torch]
"""

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import make_moons

from driftway.torch import PointCloudCost, TimeSmoothness, transport_loss

torch.manual_seed(0)
angle = np.deg2rad(40.0)
turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
source = torch.tensor(make_moons(80, noise=0.05, random_state=0)[0], dtype=torch.float32)
target = torch.tensor(make_moons(60, noise=0.05, random_state=1)[0] @ turn, dtype=torch.float32)
network = torch.nn.Sequential(torch.nn.Linear(2, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=0.02)

# %%
# One solve gives value and gradient: at the optimum the plan contributes nothing to first order.

losses = []
for _ in range(60):
    moved = network(source)
    smooth = TimeSmoothness(target, previous=moved, weight=0.5)
    loss = transport_loss(PointCloudCost(moved, target, "sqeuclidean"), epsilon=0.02, regularizer=smooth, tol=1e-6)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"loss {losses[0]:.3f} at first, {losses[-1]:.3f} at last")
assert losses[-1] < 0.2 * losses[0]

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
left.plot(losses)
left.set(xlabel="step", ylabel="loss")
right.scatter(*target.T, s=50, color="#c3c9d3", label="target")
right.scatter(*source.T, s=6, color="#8b93a1", label="source")
right.scatter(*network(source).detach().T, s=12, color="#d55e00", label="moved")
right.legend(fontsize=8)
plt.show()
