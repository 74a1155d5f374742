"""Regularisers: bad labels, graphs, factors, and bad values of a user's own are refused before the first iteration."""

import contextlib
import sys
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from small_inputs import (
    COST,
    LABELS,
    PREVIOUS,
    REFUSED,
    REGULARIZERS,
    RNG,
    SIMILARITY,
    SOLVERS,
    A,
    B,
    Call,
    D,
    M,
    N,
    X,
    Y,
    regularized,
    with_entry,
)

from driftway import Custom, GroupLasso, Laplacian, Problem, Regularizer, WassersteinTime, solve
from driftway.regularizers import MomentRegularizer


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("labels", "match"),
    [
        pytest.param([0.0, 0.0, np.nan, 1.0, 1.0, 1.0], "^labels must not contain NaN", id="nan"),
        pytest.param([0.0, 0.0, np.inf, 1.0, 1.0, 1.0], "^labels must not contain NaN or infinity", id="inf"),
        pytest.param(np.array([0, 0, np.nan, 1, 1, 1], dtype=object), "^labels must", id="nan-among-objects"),
        pytest.param(np.array([0, 0, np.nan, 1, 1, 1], dtype=complex), "^labels must", id="complex-nan"),
    ],
)
def test_labels_must_be_equal_to_themselves(labels: Any, match: str) -> None:
    with pytest.raises(REFUSED, match=match):
        regularized(GroupLasso(labels))


@pytest.mark.parametrize(
    "labels",
    [
        pytest.param(["a", "a", "a", "b", "b", "b"], id="strings"),
        pytest.param(np.array(["a", "a", "a", 1, 1, 1], dtype=object), id="strings-and-integers"),
        pytest.param(np.array([None, None, None, 1, 1, 1], dtype=object), id="none-and-integers"),
    ],
)
def test_labels_may_be_anything_that_can_be_compared_for_equality(labels: Any) -> None:
    gamma = RNG.random((N, M))
    assert GroupLasso(labels).value(gamma) == GroupLasso(LABELS).value(gamma)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("similarity", "match"),
    [
        pytest.param(-SIMILARITY, "^similarity must be non-negative.*-1", id="negative"),
        pytest.param(np.triu(SIMILARITY), "^similarity must be symmetric", id="asymmetric"),
        pytest.param(sparse.csr_array(np.triu(SIMILARITY)), "^similarity must be symmetric", id="sparse-asymmetric"),
        pytest.param(sparse.csr_array(-SIMILARITY), "^similarity must be non-negative.*-1", id="sparse-negative"),
        pytest.param(sparse.csr_array(with_entry(SIMILARITY, np.nan)), "^similarity must be finite", id="sparse-nan"),
        pytest.param(
            sparse.csr_array(with_entry(SIMILARITY, 1j)), "^similarity must hold real numbers", id="sparse-complex"
        ),
        pytest.param(sparse.csr_array(np.ones((3, 2))), "^similarity must be square.*3, 2", id="sparse-not-square"),
        pytest.param(np.full((N, N), 1e308), "^similarity must", id="overflowing-sum"),
    ],
)
def test_similarity_must_be_symmetric_and_non_negative_dense_or_sparse(similarity: Any, match: str) -> None:
    with pytest.raises(REFUSED, match=match):
        Laplacian(similarity, Y)


def test_a_graph_without_edges_is_no_penalty_dense_or_sparse() -> None:
    gamma = RNG.random((N, M))
    assert Laplacian(np.zeros((N, N)), Y).value(gamma) == 0.0
    assert Laplacian(sparse.csr_array((N, N)), Y).value(gamma) == 0.0


@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("other", [1.0, None, "J"], ids=["number", "none", "string"])
def test_a_regularizer_is_not_added_to_anything_else(regularizer: str, other: Any) -> None:
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        REGULARIZERS[regularizer] + other
    assert type(other).__name__ in str(caught.value)


@pytest.mark.parametrize("regularizer", ["GroupLasso", "TimeSmoothness", "Custom", "sum"])
def test_an_array_times_a_regularizer_is_refused_from_either_side(regularizer: str) -> None:
    J = REGULARIZERS[regularizer]
    with pytest.raises(TypeError, match="the factor of a regularizer"):
        J * np.array([1.0, 2.0])
    with pytest.raises(TypeError, match=r"the factor of a regularizer|unsupported operand"):
        np.array([1.0, 2.0]) * J


class Own(Regularizer):
    """A regulariser with the value and gradient that it is told to have."""

    def __init__(self, value: Any = 0.0, gradient: Any = None) -> None:
        self._value, self._gradient = value, gradient

    def value(self, gamma: Any) -> Any:
        return self._value

    def gradient(self, gamma: Any) -> Any:
        return self._gradient


class OwnMoments(MomentRegularizer):
    """A moment regulariser with the parts that it is told to have."""

    def __init__(self, right: Any = Y, left: Any = None, phi: Any = 0.0, gradient: Any = "zero") -> None:
        self._right, self._left = right, np.empty((N, 0)) if left is None else left
        self._phi, self._gradient = phi, gradient

    @property
    def right_basis(self) -> Any:
        return self._right

    @property
    def left_basis(self) -> Any:
        return self._left

    def phi(self, right: Any, left: Any) -> Any:
        return self._phi

    def phi_gradient(self, right: Any, left: Any) -> Any:
        return (0 * right, 0 * left) if isinstance(self._gradient, str) else self._gradient


ZEROS = np.zeros((N, M))
BAD_VALUES = {
    "nan": (np.nan, "value must be finite, got nan"),
    "inf": (np.inf, "value must be finite, got inf"),
    "minus-inf": (-np.inf, "value must be finite, got -inf"),
    "array": (np.ones(3), r"value must .*got .*\(3,\)"),
    "plan-sized": (ZEROS, r"value must .*got .*\(6, 5\)"),
    "empty": (np.array([]), r"value must .*got .*\(0,\)"),
    "none": (None, "value must"),
    "string": ("1.5", "value must"),
    "complex": (1j, "value must"),
    "complex-array": (np.array(1j), "value must"),
}
BAD_GRADIENTS = {
    "nan": (with_entry(ZEROS, np.nan), "gradient must be finite.*NaN"),
    "inf": (with_entry(ZEROS, np.inf), "gradient must be finite.*infinity"),
    "transposed": (ZEROS.T, r"gradient must have the plan's shape \(6, 5\), got \(5, 6\)"),
    "row": (ZEROS[0], r"gradient must have the plan's shape \(6, 5\), got \(5,\)"),
    "column": (ZEROS[:, :1], r"gradient must have the plan's shape \(6, 5\), got \(6, 1\)"),
    "scalar": (0.0, r"gradient must have the plan's shape \(6, 5\), got \(\)"),
    "none": (None, "gradient must"),
    "string": ("zero", "gradient must"),
    "strings": (ZEROS.astype(str), "gradient must"),
    "complex": (1j * ZEROS, "gradient must"),
    "ragged": ([[1.0], [1.0, 2.0]], "gradient must"),
}
WRAPPERS: dict[str, Call] = {
    "alone": lambda J: J,
    "summed": lambda J: J + GroupLasso(LABELS),
    "multiplied": lambda J: 2.0 * J,
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("fault", BAD_VALUES)
@pytest.mark.parametrize("kind", ["Custom", "subclass"])
def test_a_value_that_is_not_one_finite_number_is_refused(kind: str, fault: str, wrapper: str) -> None:
    value, match = BAD_VALUES[fault]
    J = Custom(lambda gamma: value, np.zeros_like) if kind == "Custom" else Own(value, ZEROS)
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("fault", BAD_GRADIENTS)
@pytest.mark.parametrize("kind", ["Custom", "subclass"])
def test_a_gradient_that_is_not_a_finite_array_of_the_plans_shape_is_refused(
    kind: str, fault: str, wrapper: str
) -> None:
    gradient, match = BAD_GRADIENTS[fault]
    J = Custom(lambda gamma: 0.0, lambda gamma: gradient) if kind == "Custom" else Own(0.0, gradient)
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "FrankWolfe"])
def test_a_bad_gradient_is_refused_whatever_the_solver(solver: str) -> None:
    J = Custom(lambda gamma: 0.0, lambda gamma: gamma.T)
    with pytest.raises(ValueError, match=r"gradient must have the plan's shape \(6, 5\), got \(5, 6\)"):
        regularized(J, SOLVERS[solver])


EMPTY_LEFT = np.empty((M, 0))
BAD_MOMENTS = {
    "right-basis-rows": (OwnMoments(right=X), r"right_basis.*\(6, 2\)"),
    "right-basis-nan": (OwnMoments(right=with_entry(Y, np.nan)), "right_basis"),
    "right-basis-vector": (OwnMoments(right=np.ones(M)), "right_basis"),
    "right-basis-scalar": (OwnMoments(right=np.array(1.0)), "right_basis"),
    "left-basis-rows": (OwnMoments(left=Y), r"left_basis.*\(5, 2\)"),
    "left-basis-inf": (OwnMoments(left=with_entry(X, np.inf)), "left_basis"),
    "phi-nan": (OwnMoments(phi=np.nan), "value must be finite, got nan"),
    "phi-array": (OwnMoments(phi=np.ones(2)), "(value|phi) must"),
    "phi-none": (OwnMoments(phi=None), "(value|phi) must"),
    "gradient-nan": (OwnMoments(gradient=(np.full((N, D), np.nan), EMPTY_LEFT)), "gradient must be finite"),
    "gradient-inf": (OwnMoments(gradient=(np.full((N, D), np.inf), EMPTY_LEFT)), "gradient must be finite"),
    "gradient-shape": (OwnMoments(gradient=(np.ones((N, 3)), EMPTY_LEFT)), r"gradient must .*\(6, 3\)"),
    "gradient-transposed": (OwnMoments(gradient=(np.ones((D, N)), EMPTY_LEFT)), r"gradient must .*\(2, 6\)"),
    "gradient-left-shape": (OwnMoments(gradient=(np.ones((N, D)), np.ones((N, 1)))), r"gradient must .*\(6, 1\)"),
    "gradient-single": (OwnMoments(gradient=np.ones((N, D))), "gradient must"),
    "gradient-none": (OwnMoments(gradient=None), "gradient must"),
}


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("wrapper", ["alone", "multiplied"])
@pytest.mark.parametrize("fault", BAD_MOMENTS)
def test_a_moment_regularizer_whose_parts_do_not_fit_is_refused(fault: str, wrapper: str) -> None:
    J, match = BAD_MOMENTS[fault]
    with pytest.raises(REFUSED, match=match):
        regularized(WRAPPERS[wrapper](J))


def test_custom_needs_exactly_one_source_of_the_gradient() -> None:
    with pytest.raises(ValueError, match="exactly one of gradient and autodiff must be given"):
        Custom(np.sum)
    with pytest.raises(ValueError, match="exactly one of gradient and autodiff must be given"):
        Custom(np.sum, np.ones_like, "torch")


def test_a_gradient_that_writes_into_the_plan_does_not_change_the_result() -> None:
    def writing(gamma: np.ndarray) -> np.ndarray:
        slope = 2.0 * gamma
        with contextlib.suppress(ValueError):
            gamma[:] = 0.0
        return slope

    J = Custom(lambda gamma: (gamma**2).sum(), writing, convex=True)
    expected = solve(Problem(COST, epsilon=0.1, regularizer=REGULARIZERS["Custom"]))
    found = solve(Problem(COST, epsilon=0.1, regularizer=J))
    np.testing.assert_array_equal(found.plan.dense(), expected.plan.dense())
    assert found.value == expected.value


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_a_missing_library_for_autodiff_is_named_with_its_extra(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match=rf"^autodiff='{library}' needs .*pip install 'driftway\[{library}\]'$"):
        Custom(np.sum, autodiff=library)


def test_the_masses_of_the_previous_cloud_are_scaled_to_those_given_for_the_source() -> None:
    gamma = np.full((N, M), 2 / (N * M))
    given = WassersteinTime(Y, PREVIOUS, a=2 * A)
    inferred = WassersteinTime(Y, PREVIOUS).on(2 * A, 2 * B)
    assert given.value(gamma) == pytest.approx(inferred.value(gamma), rel=1e-9)
    np.testing.assert_allclose(given.gradient(gamma), inferred.gradient(gamma), atol=1e-8)
