"""The engine of a GPU, or of whatever device PyTorch knows."""

from driftway.engines.torch.engine import Torch

__all__ = ["Torch"]
