"""Arrays of other libraries: PyTorch tensors and JAX arrays come in, and results go out in kind.

Nothing here imports either library: an array of one of them can only be there if it is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


def library_of(value: object) -> str:
    """Whose array `value` is: "torch", "jax" or "numpy"; lists and numbers count as NumPy's."""
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return "torch"
    if jax is not None and isinstance(value, getattr(jax, "Array", ())):
        return "jax"
    return "numpy"


def on_host(value: Any) -> Any:
    """`value` as a NumPy array if it is a tensor or a JAX array: moved to the CPU, cut off from its graph.

    Anything else is returned as it is.
    """
    library = library_of(value)
    if library == "torch":
        import torch

        tensor = value.detach().cpu()
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()
    if library == "jax":
        import jax

        if isinstance(value, jax.core.Tracer):
            raise TypeError(
                "an array that JAX is tracing (under jit, grad or vmap) has no numbers yet; use driftway.jax there"
            )
        array = np.asarray(value)
        return array.astype(np.float32) if array.dtype.name == "bfloat16" else array
    return value


def is_differentiated(value: object) -> bool:
    """Whether a library follows what is done with `value`, in order to differentiate it."""
    library = library_of(value)
    if library == "torch":
        return bool(value.requires_grad)  # type: ignore[attr-defined]
    if library == "jax":
        import jax

        return isinstance(value, jax.core.Tracer)
    return False


class Kind(NamedTuple):
    """What results should be: the library, and an array of it whose dtype and device they take."""

    library: str
    like: Any

    def wrap(self, array: npt.ArrayLike) -> Any:
        """`array` as an array of this kind."""
        if self.library == "torch":
            import torch

            dtype = self.like.dtype if self.like.dtype.is_floating_point else torch.float64
            # A copy: NumPy's arrays may be read-only, which tensors cannot be.
            return torch.tensor(np.asarray(array), dtype=dtype, device=self.like.device)
        if self.library == "jax":
            import jax
            import jax.numpy as jnp

            dtype = self.like.dtype if jnp.issubdtype(self.like.dtype, jnp.floating) else None
            return jax.device_put(jnp.asarray(array, dtype=dtype), self.like.sharding)
        dtype = self.like.dtype if getattr(self.like, "dtype", None) == np.float32 else np.float64
        own = np.asarray(array, dtype=dtype)
        return own if own.flags.writeable else own.copy()


def kind_of(*values: object) -> Kind:
    """The kind of several arrays: that of the first which is no NumPy array, else NumPy's with the first's dtype.

    Tensors and JAX arrays cannot be mixed.
    """
    libraries = [library_of(value) for value in values]
    others = {library for library in libraries if library != "numpy"}
    if len(others) > 1:
        raise TypeError("arrays must come from one library, got PyTorch tensors and JAX arrays")
    for library, value in zip(libraries, values, strict=True):
        if library != "numpy":
            return Kind(library, value)
    return Kind("numpy", next((value for value in values if isinstance(value, np.ndarray)), None))
