"""A user's own regulariser."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from driftway.arrays.validation import flag, one_of, real_array, real_number
from driftway.regularizers.regularizer import Regularizer

Double = npt.NDArray[np.float64]


class Custom(Regularizer):
    """J given by callables that receive the plan as an n×m array.

    Parameters
    ----------
    value : callable
        Returns J(γ), a number. With `autodiff` it receives and returns that library's arrays.
    gradient : callable, optional
        Returns ∇J(γ), an array of the plan's shape. Give it, or name a library in `autodiff`.
    autodiff : "torch" or "jax", optional
        The library that differentiates `value`.
    convex : bool
        Say True only if J is convex: the lower bound and the certified gap rely on it. Otherwise a solve
        ends at a stationary point and reports no lower bound.
    smoothness : float, optional
        L such that L·H − J is convex on the couplings, if you know it.

    Examples
    --------
    >>> import numpy as np
    >>> from driftway import Custom, Problem, solve
    >>> square = Custom(lambda gamma: (gamma**2).sum(), lambda gamma: 2 * gamma, convex=True)
    >>> problem = Problem(np.array([[0.0, 1.0], [1.0, 0.0]]), epsilon=0.1, regularizer=square)
    >>> bool(solve(problem).converged)
    True

    """

    def __init__(
        self,
        value: Callable[[Any], Any],
        gradient: Callable[[Any], Any] | None = None,
        autodiff: Literal["torch", "jax"] | None = None,
        *,
        convex: bool = False,
        smoothness: float | None = None,
    ) -> None:
        if not callable(value):
            raise TypeError(f"value must be callable, got {type(value).__name__}")
        if gradient is not None and not callable(gradient):
            raise TypeError(f"gradient must be callable, got {type(gradient).__name__}")
        if (gradient is None) == (autodiff is None):
            raise ValueError("exactly one of gradient and autodiff must be given to Custom")
        self.convex = flag("convex", convex)
        self._smoothness = None if smoothness is None else real_number("smoothness", smoothness, minimum=0.0)
        self._name = getattr(value, "__name__", type(value).__name__)
        if autodiff is not None:
            differentiate = {"torch": _torch, "jax": _jax}[one_of("autodiff", autodiff, ("torch", "jax"))]
            value, gradient = differentiate(value)
        self._value, self._gradient = value, gradient

    def __repr__(self) -> str:
        return f"Custom({self._name})"

    @property
    def smoothness(self) -> float | None:
        return self._smoothness

    def value(self, gamma: Double) -> float:
        result = real_array("value", self._value(gamma))
        if result.size != 1:
            raise ValueError(f"value must return one number, got an array of shape {result.shape}")
        return float(result.reshape(()))

    def gradient(self, gamma: Double) -> Double:
        assert self._gradient is not None
        return real_array("gradient", self._gradient(gamma)).astype(np.float64, copy=False)


def _torch(function: Callable[[Any], Any]) -> tuple[Callable[[Double], Any], Callable[[Double], Any]]:
    """Value and gradient, in float64 on the CPU."""
    try:
        import torch
    except ImportError:
        raise ImportError("autodiff='torch' needs PyTorch: pip install 'driftway[torch]'") from None

    def value(gamma: Double) -> float:
        with torch.no_grad(), _told_of("torch", "torch's"):
            return float(function(torch.tensor(gamma)))

    def gradient(gamma: Double) -> Any:
        with (
            torch.enable_grad(),
            _told_of("torch", "torch's"),
        ):  # a solve may run inside a function whose own graph is switched off
            point = torch.tensor(gamma, requires_grad=True)
            result = function(point)
        if not result.requires_grad:  # J does not see the plan at all
            return np.zeros_like(gamma)
        return torch.autograd.grad(result, point)[0].numpy()

    return value, gradient


def _jax(function: Callable[[Any], Any]) -> tuple[Callable[[Double], Any], Callable[[Double], Any]]:
    """Value and gradient, compiled, in float64 on JAX's default device."""
    try:
        import jax
    except ImportError:
        raise ImportError("autodiff='jax' needs JAX: pip install 'driftway[jax]'") from None
    compiled, derivative = jax.jit(function), jax.jit(jax.grad(function))

    def value(gamma: Double) -> float:
        with jax.enable_x64(True), _told_of("jax", "jax.numpy's"):
            return float(compiled(gamma))

    def gradient(gamma: Double) -> Any:
        with jax.enable_x64(True), _told_of("jax", "jax.numpy's"):
            return np.asarray(derivative(gamma))

    return value, gradient


@contextmanager
def _told_of(library: str, functions: str) -> Iterator[None]:
    """Context manager: errors of the user's function say whose arrays it was given."""
    try:
        yield
    except Exception as error:
        error.add_note(
            f"Custom(autodiff={library!r}) passes arrays of {library}: use {functions} functions, not NumPy's"
        )
        raise
