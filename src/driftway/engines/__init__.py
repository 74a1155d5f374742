"""Engines beyond the threads of one machine: `Torch` for a GPU, `Dask` for a cluster."""

from driftway.engines.device import Torch

__all__ = ["Torch"]
