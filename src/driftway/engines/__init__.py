"""Engines beyond the threads of one machine: `Torch` for a GPU, `Dask` for a cluster."""

from driftway.engines.cluster import Dask
from driftway.engines.device import Torch

__all__ = ["Dask", "Torch"]
