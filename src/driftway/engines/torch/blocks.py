"""Blocks of rows of a matrix on a torch device: a point cloud's distances are formed there, never on the host."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.geometry.cost import Bilinear, Cloud
from driftway.geometry.costs import DIRECT_FEATURES
from driftway.geometry.matrices import Factored, Matrix

Double = npt.NDArray[np.float64]
Tensor = Any

# Blocks of entries that forming one takes at the same time: itself and a difference.
COPIES = 2


class Place:
    """A torch device with the precision of entries there; copies arrays to it and back."""

    def __init__(self, torch: Any, device: Any, real: Any) -> None:
        self.torch, self.device, self.real = torch, device, real
        self.host_real = np.float32 if real == torch.float32 else np.float64
        # Sums over blocks are kept in float64 wherever the device has it.
        self.wide = torch.float32 if device.type == "mps" else torch.float64

    def send(self, array: npt.NDArray[Any]) -> Tensor:
        """A copy of an array on the device; what is beyond its range is infinite there."""
        with np.errstate(over="ignore"):
            return self.torch.tensor(array.astype(self.host_real, copy=False), device=self.device)

    @staticmethod
    def fetch(tensor: Tensor) -> Double:
        """A tensor of the device as an array in float64."""
        return np.asarray(tensor.cpu().numpy(), dtype=np.float64)


class Blocks:
    """Any block of rows of a matrix, as a fresh tensor on the device; columns are sent once, rows block by block."""

    def __init__(self, place: Place, matrix: Matrix) -> None:
        self._place, self._matrix = place, matrix
        self._cloud: Cloud | None = None
        self._bilinear: Bilinear | None = None
        if (factored := matrix.factored) is None:
            return
        if factored.scale != 0.0:
            self._cloud = factored.cost.cloud
        if self._cloud is not None:
            # Scaled before they are sent: what is in range as a multiple of the cost need not be so without.
            multiple = abs(factored.scale)
            self._stretch = multiple if self._cloud.euclidean else math.sqrt(multiple)
            self._y = place.send(self._stretch * self._cloud.y)
            bilinear = factored.cost.bilinear if self._cloud.x.shape[1] > DIRECT_FEATURES else None
            if bilinear is not None and bilinear.is_exact(multiple):
                self._bilinear = bilinear
                self._columns = place.send(multiple * bilinear.columns)
        self._right = place.send(np.hstack([factored.R, factored.Q]).T)

    @property
    def columns(self) -> int:
        """Numbers per column that are held on the device."""
        if self._matrix.factored is None:
            return 0
        features = 0 if self._cloud is None else self._cloud.x.shape[1]
        return int(features + 1 + self._right.shape[0])

    def __getitem__(self, block: slice) -> Tensor:
        if (matrix := self._matrix.factored) is None:
            return self._place.send(self._matrix.rows(block))
        values = self._scaled_cost(matrix, block)
        if self._right.shape[0]:
            left = self._place.send(np.hstack([matrix.P[block], matrix.L[block]]))
            values.addmm_(left, self._right)
        return values

    def _scaled_cost(self, matrix: Factored, block: slice) -> Tensor:
        if matrix.scale == 0.0:
            count, m = len(range(*block.indices(matrix.shape[0]))), matrix.shape[1]
            return self._place.torch.zeros((count, m), dtype=self._place.real, device=self._place.device)
        if self._cloud is None:  # a metric that only the host knows
            return self._place.send(np.multiply(matrix.cost.rows(block), matrix.scale, dtype=np.float64))
        values = self._squares(self._stretch * self._cloud.x[block])
        values = values.sqrt_() if self._cloud.euclidean else values
        return values.neg_() if matrix.scale < 0 else values

    def _squares(self, points: Double) -> Tensor:
        x, torch = self._place.send(points), self._place.torch
        if self._bilinear is not None:
            return torch.addmm(self._columns, x, self._y, alpha=-2.0).add_((x * x).sum(dim=1)[:, None])
        if x.shape[1] > DIRECT_FEATURES:
            distances = torch.cdist(x, self._y.T, compute_mode="donot_use_mm_for_euclid_dist")
            return distances.mul_(distances)
        total = torch.sub(x[:, :1], self._y[0])
        total.mul_(total)
        for k in range(1, x.shape[1]):
            difference = torch.sub(x[:, k : k + 1], self._y[k])
            total.addcmul_(difference, difference)
        return total
