"""Problems, solvers and starts that do not fit are refused before the first iteration; small good ones are solved."""

import re
import sys
from typing import Any

import numpy as np
import pytest
from small_inputs import (
    COST,
    LABELS,
    PLANS,
    PREVIOUS,
    PROBLEM,
    REGULARIZERS,
    SIMILARITY,
    SOLUTION,
    SOLVERS,
    Call,
    M,
    N,
    X,
    Y,
    regularized,
    with_entry,
)

from driftway import (
    Custom,
    ForwardBackward,
    GroupLasso,
    Laplacian,
    Problem,
    TimeSmoothness,
    WassersteinTime,
    sinkhorn,
    solve,
)
from driftway.engines import Threads
from driftway.solvers import FrankWolfe, Sinkhorn


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "FrankWolfe"])
@pytest.mark.parametrize("entry", [0.0, -0.5])
def test_a_plan_to_start_from_must_be_positive_on_the_support(solver: str, entry: float) -> None:
    with pytest.raises(ValueError, match=re.escape("init must be positive")) as caught:
        solve(PROBLEM, SOLVERS[solver], init=with_entry(np.ones((N, M)), entry))
    assert f"{entry:g}" in str(caught.value), "the message does not say what it got"


@pytest.mark.usefixtures("no_iteration")
def test_sinkhorn_refuses_to_start_from_a_plan() -> None:
    for init in (np.ones((N, M)), SOLUTION.plan):
        with pytest.raises(ValueError, match=r"Sinkhorn starts from potentials: init must be a pair \(f, g\)"):
            sinkhorn(COST, epsilon=0.1, init=init)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize(
    ("call", "match"),
    [
        pytest.param(lambda: solve(COST), "^problem must be a Problem, got ndarray", id="problem-array"),
        pytest.param(lambda: solve(None), "^problem must be a Problem, got NoneType", id="problem-none"),
        pytest.param(lambda: solve(Problem), "^problem must be a Problem, got type", id="problem-class"),
        pytest.param(lambda: Problem(COST), "epsilon", id="epsilon-missing"),
        pytest.param(lambda: sinkhorn(COST), "epsilon", id="sinkhorn-epsilon-missing"),
        pytest.param(lambda: regularized(np.sum), r"^regularizer must be .*Custom.* got ", id="function"),
        pytest.param(lambda: regularized("lasso"), "^regularizer must be .* got str", id="regularizer-string"),
        pytest.param(lambda: regularized(GroupLasso), "^regularizer must be .* got ABCMeta", id="regularizer-class"),
        pytest.param(lambda: solve(PROBLEM, "sinkhorn"), "^solver must", id="solver-string"),
        pytest.param(lambda: solve(PROBLEM, ForwardBackward), "^solver must", id="solver-class"),
        pytest.param(lambda: solve(PROBLEM, 1e-6), "^solver must", id="solver-number"),
        pytest.param(lambda: solve(PROBLEM, engine="threads"), "^engine must", id="engine-string"),
        pytest.param(lambda: solve(PROBLEM, engine=Threads), "^engine must", id="engine-class"),
        pytest.param(lambda: solve(PROBLEM, engine=0), "^engine must", id="engine-zero"),
        pytest.param(lambda: sinkhorn(COST, epsilon=0.1, engine=2), "^engine must", id="sinkhorn-engine"),
        pytest.param(lambda: solve(PROBLEM, callback="print"), "^callback must", id="callback-string"),
        pytest.param(lambda: sinkhorn(COST, epsilon=0.1, callback=1), "^callback must", id="sinkhorn-callback"),
        pytest.param(lambda: solve(PROBLEM, init=PROBLEM), "^init must hold real numbers", id="init-problem"),
        pytest.param(lambda: Custom("sum", np.ones_like), "^value must be callable, got str", id="Custom-value"),
        pytest.param(lambda: Custom(np.sum, 2.0), "^gradient must be callable, got float", id="Custom-gradient"),
    ],
)
def test_an_object_of_the_wrong_kind_is_a_type_error(call: Call, match: str) -> None:
    with pytest.raises(TypeError, match=match):
        call()


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("regularizer", [None, *REGULARIZERS])
@pytest.mark.parametrize("solver", ["ForwardBackward", "ConditionalGradient", "Sinkhorn"])
def test_without_entropy_every_solver_but_frank_wolfe_refuses(solver: str, regularizer: str | None) -> None:
    J = None if regularizer is None else REGULARIZERS[regularizer]
    with pytest.raises(
        ValueError, match=f"^{solver} needs epsilon > 0, got 0; use driftway.solvers.FrankWolfe for epsilon = 0$"
    ):
        solve(Problem(COST, epsilon=0, regularizer=J), SOLVERS[solver])


def test_without_entropy_the_automatic_choice_is_frank_wolfe() -> None:
    assert "FrankWolfe" in solve(Problem(COST, epsilon=0), tol=1e-3).message


@pytest.mark.usefixtures("no_iteration")
def test_the_function_sinkhorn_refuses_epsilon_zero() -> None:
    with pytest.raises(ValueError, match="needs epsilon > 0, got 0"):
        sinkhorn(COST, epsilon=0.0)


def test_frank_wolfe_solves_without_entropy() -> None:
    solution = solve(Problem(COST[:M], epsilon=0.0), FrankWolfe())
    assert solution.converged
    vertex = solution.plan.dense()
    assert np.count_nonzero(vertex > 1e-12) <= 2 * M - 1
    assert solution.lower_bound <= np.vdot(vertex, COST[:M]) + 1e-12


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_sinkhorn_refuses_a_regularizer_and_names_the_solver_to_use(regularizer: str) -> None:
    with pytest.raises(ValueError, match=r"^Sinkhorn solves problems without a regularizer, got .*ForwardBackward"):
        regularized(REGULARIZERS[regularizer], Sinkhorn())


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("block", [None, 3, 1.5, "all"], ids=["none", "integer", "float", "string"])
def test_the_rows_of_a_plan_are_asked_for_by_a_slice(plan: str, block: Any) -> None:
    with pytest.raises(TypeError, match=r"^block must be a slice, got"):
        PLANS[plan].rows(block)


@pytest.mark.usefixtures("no_iteration")
@pytest.mark.parametrize("solver", SOLVERS)
def test_a_missing_progress_bar_is_named_with_its_extra(solver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match=r"^progress=True needs tqdm: pip install 'driftway\[progress\]'$"):
        solve(PROBLEM, SOLVERS[solver], progress=True)


def test_without_progress_no_library_is_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    for library in ("tqdm", "tqdm.auto", "torch", "jax"):
        monkeypatch.setitem(sys.modules, library, None)
    np.testing.assert_array_equal(solve(PROBLEM, Sinkhorn()).plan.dense(), SOLUTION.plan.dense())


@pytest.mark.parametrize("shape", [(1, 1), (1, M), (N, 1)], ids=str)
@pytest.mark.parametrize("regularizer", [None, "GroupLasso", "TimeSmoothness", "source", "target", "WassersteinTime"])
def test_with_a_single_point_on_one_side_the_only_coupling_is_found(
    regularizer: str | None, shape: tuple[int, int]
) -> None:
    n, m = shape
    J = {
        "GroupLasso": lambda: GroupLasso(LABELS[:n]),
        "TimeSmoothness": lambda: TimeSmoothness(Y[:m], PREVIOUS[:n]),
        "source": lambda: Laplacian(SIMILARITY[:n, :n], Y[:m]),
        "target": lambda: Laplacian(SIMILARITY[:m, :m], X[:n], side="target"),
        "WassersteinTime": lambda: WassersteinTime(Y[:m], PREVIOUS),
    }.get(regularizer, lambda: None)()
    solution = solve(Problem(COST[:n, :m], epsilon=0.1, regularizer=J))
    assert solution.converged
    np.testing.assert_allclose(solution.plan.dense(), np.full(shape, 1 / (n * m)), atol=1e-6)  # as marginals are
    np.testing.assert_allclose(solution.plan.round().dense(), np.full(shape, 1 / (n * m)), rtol=1e-12)
