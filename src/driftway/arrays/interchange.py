"""Arrays of other libraries: PyTorch tensors, JAX arrays and those of the array API standard; results go out in kind.

Nothing here imports any of these libraries: an array of one of them can only be there if it is loaded already.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


def library_of(value: object) -> str:
    """Whose array `value` is: "torch", "jax", "numpy" or the name of another library of the array API standard.

    Lists and numbers count as NumPy's.
    """
    torch, jax = sys.modules.get("torch"), sys.modules.get("jax")
    if torch is not None and isinstance(value, getattr(torch, "Tensor", ())):
        return "torch"
    if jax is not None and isinstance(value, getattr(jax, "Array", ())):
        return "jax"
    if isinstance(value, np.ndarray | np.generic) or not hasattr(type(value), "__array_namespace__"):
        return "numpy"
    return str(type(value).__module__).split(".")[0]


def on_host(value: Any) -> Any:
    """`value` as a NumPy array if it is one of another library: moved to the CPU, cut off from its graph.

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
    return value if library == "numpy" else _by_exchange(value, library)


def _by_exchange(value: Any, library: str) -> npt.NDArray[Any]:
    """An array of the standard as NumPy's: by DLPack, or as CuPy copies it from its device."""
    try:
        return np.from_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, TypeError, ValueError) as error:
        if callable(fetch := getattr(value, "get", None)):
            return np.asarray(fetch())
        raise TypeError(
            f"an array of {library} cannot be read by NumPy ({error}); convert it to NumPy first"
        ) from error


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

    def without_numbers(self) -> Kind:
        """The same kind, that keeps no large array alive."""
        return Kind(self.library, self.wrap(np.empty(0)))

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
            return jax.device_put(jnp.asarray(array, dtype=dtype), next(iter(self.like.devices())))
        if self.library != "numpy":
            library = self.like.__array_namespace__()
            floating = library.isdtype(self.like.dtype, "real floating")
            dtype = self.like.dtype if floating else library.float64
            return library.asarray(np.array(array), dtype=dtype, device=self.like.device)
        dtype = self.like.dtype if getattr(self.like, "dtype", None) == np.float32 else np.float64
        own = np.asarray(array, dtype=dtype)
        return own if own.flags.writeable else own.copy()


def kind_of(*values: object) -> Kind:
    """The kind of several arrays: that of the first which is no NumPy array, else NumPy's with the first's dtype.

    Arrays of two other libraries cannot be mixed.
    """
    libraries = [library_of(value) for value in values]
    others = {library for library in libraries if library != "numpy"}
    if len(others) > 1:
        names = {"torch": "PyTorch", "jax": "JAX"}
        got = " and ".join(names.get(library, library) for library in sorted(others))
        raise TypeError(f"arrays must come from one library, got some of {got}")
    for library, value in zip(libraries, values, strict=True):
        if library != "numpy":
            return Kind(library, value)
    return Kind("numpy", next((value for value in values if isinstance(value, np.ndarray)), None))


def foreign_kind(*values: object) -> Kind | None:
    """The kind of several arrays if one of them is no NumPy array, with an empty array in the place of its numbers."""
    kind = kind_of(*values)
    return None if kind.library == "numpy" else kind.without_numbers()
