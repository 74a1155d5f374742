"""The drop-ins for POT: its conventions, its answers where they are right, and ours where they are not."""

from __future__ import annotations

import warnings

import numpy as np
import ot
import pytest
from problems import data
from scipy.special import xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from driftway import PointCloudCost, Problem, TimeSmoothness, solve
from driftway.pot import (
    SinkhornL1l2Transport,
    SinkhornTransport,
    TimeSmoothTransport,
    cg,
    gcg,
    sinkhorn,
    sinkhorn2,
    sinkhorn_l1l2_gl,
)

METHODS = ["sinkhorn", "sinkhorn_log", "greenkhorn", "sinkhorn_stabilized", "sinkhorn_epsilon_scaling"]
D = data(14, 11, seed=0)
COST = PointCloudCost(D.X, D.Y, "sqeuclidean").rows(slice(None))
SEVERAL = np.random.default_rng(1).dirichlet(np.ones(11), size=3).T


def half_square(G):
    return 0.5 * (G**2).sum()


def itself(G):
    return G


def objective(G: np.ndarray, C: np.ndarray, epsilon: float, penalty: float) -> float:
    """In POT's convention, Ω(γ) = Σ γ log γ."""
    return float((C * G).sum() + epsilon * xlogy(G, G).sum() + penalty)


def assert_coupling(G: np.ndarray, a: np.ndarray, b: np.ndarray, atol: float) -> None:
    np.testing.assert_allclose(G.sum(axis=1), a, atol=atol)
    np.testing.assert_allclose(G.sum(axis=0), b, atol=atol)


def on_the_marginals(G: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The nearby coupling of Altschuler, Weed & Rigollet (2017): plans can only be compared where both are feasible."""
    G = G * np.minimum(1.0, a / G.sum(axis=1))[:, None]
    G = G * np.minimum(1.0, b / G.sum(axis=0))
    u, v = a - G.sum(axis=1), b - G.sum(axis=0)
    return G + np.outer(u, v) / max(u.sum(), 1e-300)


# Entropic transport


@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_the_plan_and_its_scalings(method: str) -> None:
    G, log = sinkhorn(D.a, D.b, COST, 0.5, method=method, stopThr=1e-11, log=True)
    assert_coupling(G, D.a, D.b, 1e-10)
    np.testing.assert_allclose(G, ot.sinkhorn(D.a, D.b, COST, 0.5, method="sinkhorn_log", stopThr=1e-13), atol=1e-9)
    np.testing.assert_allclose(log["u"][:, None] * np.exp(-COST / 0.5) * log["v"], G, rtol=1e-9)
    np.testing.assert_allclose(np.exp((log["alpha"][:, None] + log["beta"] - COST) / 0.5), G, rtol=1e-9)
    assert log["err"][-1] <= 1e-11
    assert log["niter"] == log["n_iter"] > 0


def test_the_cost_of_the_plan_is_pots() -> None:
    ours, theirs = (f(D.a, D.b, COST, 0.5, stopThr=1e-12) for f in (sinkhorn2, ot.sinkhorn2))
    assert ours == pytest.approx(theirs, rel=1e-9)
    assert sinkhorn2(D.a, D.b, COST, 0.5, log=True)[1].keys() >= {"err", "niter", "u", "v"}


@pytest.mark.parametrize("method", ["sinkhorn", "sinkhorn_log", "sinkhorn_stabilized"])
def test_several_columns_give_several_costs(method: str) -> None:
    costs, log = sinkhorn(D.a, SEVERAL, COST, 0.5, method=method, log=True)
    one_by_one = [sinkhorn2(D.a, column, COST, 0.5, method=method) for column in SEVERAL.T]
    np.testing.assert_allclose(costs, one_by_one, rtol=1e-8)
    np.testing.assert_allclose(costs, ot.sinkhorn(D.a, SEVERAL, COST, 0.5), rtol=1e-6)
    assert log["u"].shape == (14, 3)
    assert log["log_v"].shape == (11, 3)
    again = sinkhorn2(D.a, SEVERAL, COST, 0.5, warmstart=(log["log_u"], log["log_v"]))
    np.testing.assert_allclose(again, costs, rtol=1e-8)


def test_empty_masses_are_uniform() -> None:
    assert_coupling(sinkhorn([], [], COST, 0.5), np.full(14, 1 / 14), np.full(11, 1 / 11), 1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_it_warns_unless_told_not_to_where_pot_would(method: str) -> None:
    with pytest.warns(UserWarning, match="more than stopThr=0"):
        sinkhorn(D.a, D.b, COST, 0.01, method=method, stopThr=0, numItermax=1)
    sinkhorn(D.a, D.b, COST, 0.01, method=method, stopThr=0, numItermax=1, warn=False)


def test_unsupported_arguments_are_refused() -> None:
    for function in (sinkhorn, sinkhorn2):
        with pytest.raises(ValueError, match="method must be one of"):
            function(D.a, D.b, COST, 0.5, method="new_method")
    for method in ("greenkhorn", "sinkhorn_epsilon_scaling"):  # as in POT
        with pytest.raises(ValueError, match="method must be one of"):
            sinkhorn2(D.a, D.b, COST, 0.5, method=method)
    with pytest.raises(ValueError, match="reg must be in"):
        sinkhorn(D.a, D.b, COST, 0.0)
    with pytest.raises(TypeError, match="does not support: epsilon0"):
        sinkhorn(D.a, D.b, COST, 0.5, epsilon0=1.0)
    with pytest.warns(UserWarning, match="tau has no effect"):
        sinkhorn(D.a, D.b, COST, 0.5, method="sinkhorn_stabilized", tau=10.0)
    with pytest.raises(TypeError, match="does not support: line_search"):
        cg(D.a, D.b, COST, 0.5, half_square, itself, line_search=lambda *_: 1.0)
    with pytest.raises(TypeError, match="does not support: alpha_min"):
        gcg(D.a, D.b, COST, 0.5, 0.5, half_square, itself, alpha_min=0.1)


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_leads_to_the_same_plan_at_once(method: str) -> None:
    """Potentials in units of cost for the stabilised methods, logarithms of scalings for the others, as in POT."""
    G, log = sinkhorn(D.a, D.b, COST, 0.1, method=method, log=True)
    in_cost_units = method in ("sinkhorn_stabilized", "sinkhorn_epsilon_scaling")
    names = ("alpha", "beta") if in_cost_units else ("log_u", "log_v")
    for potential, name in zip(log["warmstart"], names, strict=True):
        np.testing.assert_array_equal(potential, log[name])
    again, second = sinkhorn(D.a, D.b, COST, 0.1, method=method, log=True, warmstart=log["warmstart"])
    np.testing.assert_allclose(again, G, atol=1e-9)
    if method != "sinkhorn_epsilon_scaling":
        assert second["niter"] < log["niter"]


def test_plans_can_be_written_to() -> None:
    plans = [
        sinkhorn(D.a, D.b, COST, 0.05),
        gcg(D.a, D.b, COST, 0.5, 0.5, half_square, itself),
        cg(D.a, D.b, COST, 0.5, half_square, itself),
        sinkhorn_l1l2_gl(D.a, D.labels, D.b, COST, 0.5, 0.3),
    ]
    for G in plans:
        G /= G.sum()
        assert G.sum() == pytest.approx(1.0)


def test_a_gradient_changes_nothing_but_that_there_is_one() -> None:
    torch = pytest.importorskip("torch")
    C = np.where(np.eye(4, dtype=bool), np.inf, np.random.default_rng(0).random((4, 4)))
    M = torch.tensor(C, requires_grad=True)
    empty = torch.empty(0, dtype=torch.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        sinkhorn(empty, empty, M, 0.1, numItermax=3, warn=False)
        G = sinkhorn(empty, empty, M, 0.1)
    np.testing.assert_allclose(G.detach(), sinkhorn([], [], C, 0.1), atol=1e-8)
    (G * torch.arange(16.0).reshape(4, 4)).sum().backward()
    assert torch.isfinite(M.grad).all()
    assert (M.grad.diagonal() == 0).all()


def test_infinite_costs_forbid() -> None:
    C = np.where(np.eye(4, dtype=bool), 1.0, np.inf)
    C[0, 1] = C[1, 0] = 2.0
    G = sinkhorn([], [], C, 0.1)
    assert_coupling(G, np.full(4, 0.25), np.full(4, 0.25), 1e-8)
    assert (G[np.isinf(C)] == 0).all()
    assert np.isfinite(sinkhorn2([], [], C, 0.1))
    C[0] = np.inf  # now no coupling avoids them: the first row has to go somewhere, and only that row does
    G = sinkhorn([], [], C, 0.1)
    assert_coupling(G, np.full(4, 0.25), np.full(4, 0.25), 1e-8)
    assert G[1:][np.isinf(C[1:])].max() < 1e-8
    assert np.isinf(sinkhorn2([], [], C, 0.1))


def test_small_strengths_do_not_break_it_as_they_break_pots_default() -> None:
    """exp(−M/reg) underflows there: POT's plain method gives up after a few iterations and says so."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        theirs = ot.sinkhorn(D.a, D.b, COST, 1e-3, numItermax=10_000)
    assert any("numerical errors" in str(warning.message) for warning in caught)
    assert np.abs(theirs.sum(axis=0) - D.b).sum() > 0.01
    assert_coupling(sinkhorn(D.a, D.b, COST, 1e-3, numItermax=10_000), D.a, D.b, 1e-8)


# Regularised transport


def test_gcg_has_pots_answer_where_pots_line_search_is_harmless() -> None:
    theirs = ot.optim.gcg(D.a, D.b, COST, 1.0, 0.01, half_square, itself, numItermax=200, stopThr=1e-14)
    G, log = gcg(D.a, D.b, COST, 1.0, 0.01, half_square, itself, log=True)
    np.testing.assert_allclose(G, theirs, atol=1e-6)
    assert_coupling(G, D.a, D.b, 1e-15)
    assert log["loss"][-1] == pytest.approx(objective(G, COST, 1.0, 0.01 * half_square(G)), rel=1e-8)
    assert log["gap"] <= 1e-9
    assert log.keys() >= {"loss", "err", "niter", "u", "v"}


@pytest.mark.parametrize("convex", [False, True])
def test_gcg_is_optimal_where_pots_is_not(convex: bool) -> None:
    """POT leaves the entropy out of its line search and its stopping rule."""
    smooth = TimeSmoothness(D.Y, D.previous, 5.0, a=D.a)
    arguments = (D.a, D.b, COST, 0.2, 1.0, smooth.value, smooth.gradient)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.optim.gcg(*arguments, numItermax=500, stopThr=1e-12, stopThr2=1e-12)
    ours = gcg(*arguments, numItermax=500, stopThr=1e-8, convex=convex)
    best = solve(Problem(COST, D.a, D.b, epsilon=0.2, regularizer=TimeSmoothness(D.Y, D.previous, 5.0)), tol=1e-10)
    values = [objective(G, COST, 0.2, smooth.value(G)) for G in (ours, on_the_marginals(theirs, D.a, D.b))]
    assert values[0] == pytest.approx(best.value + 0.2, rel=1e-7)
    assert values[1] > values[0] + 1e-3


def test_gcg_without_a_regulariser_is_sinkhorn() -> None:
    G = gcg(D.a, D.b, COST, 0.1, 0.0, lambda G: 0.0, np.zeros_like)
    np.testing.assert_allclose(G, sinkhorn(D.a, D.b, COST, 0.1), atol=1e-10)


def test_gcg_starts_where_it_is_told() -> None:
    arguments = (D.a, D.b, COST, 0.5, 0.5, half_square, itself)
    G = gcg(*arguments)
    _, log = gcg(*arguments, G0=G, log=True)
    assert log["loss"][0] == pytest.approx(log["loss"][-1], rel=1e-8)
    np.testing.assert_allclose(gcg(*arguments, G0=ot.emd(D.a, D.b, COST)), G, atol=1e-6)  # it has zeros


def test_the_budget_is_numitermax_times_numinneritermax() -> None:
    arguments = (D.a, D.b, COST, 0.01, 1.0, half_square, itself)
    with pytest.warns(ConvergenceWarning, match="budget of 3 Sinkhorn iterations"):
        G = gcg(*arguments, numItermax=3, numInnerItermax=1)
    assert_coupling(G, D.a, D.b, 1e-14)
    gcg(*arguments, numItermax=3, numInnerItermax=1, warn=False)


def test_cg_is_pots_and_its_marginals_are_exact() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs, their_log = ot.optim.cg(D.a, D.b, COST, 5.0, half_square, itself, log=True)
        ours, log = cg(D.a, D.b, COST, 5.0, half_square, itself, log=True, warn=False)
    assert_coupling(ours, D.a, D.b, 1e-15)
    value = objective(ours, COST, 0.0, 5.0 * half_square(ours))
    assert log["loss"][-1] == pytest.approx(value, rel=1e-10)
    assert value <= float(their_log["loss"][-1]) + 1e-9
    assert value == pytest.approx(objective(theirs, COST, 0.0, 5.0 * half_square(theirs)), rel=1e-3)
    assert log.keys() >= {"loss", "cost", "u", "v", "warning", "result_code"}


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_the_group_lasso_is_solved_to_the_end(eta: float) -> None:
    def penalty(G: np.ndarray) -> float:
        return eta * sum(np.linalg.norm(G[D.labels == k], axis=0).sum() for k in np.unique(D.labels))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = ot.da.sinkhorn_l1l2_gl(D.a, D.labels, D.b, COST, 0.1, eta)
    ours, log = sinkhorn_l1l2_gl(D.a, D.labels, D.b, COST, 0.1, eta, log=True)
    assert_coupling(ours, D.a, D.b, 1e-14)
    assert log["gap"] <= 1e-8
    values = [objective(G, COST, 0.1, penalty(G)) for G in (ours, on_the_marginals(theirs, D.a, D.b))]
    assert values[0] < values[1] - 1e-4
    assert log["loss"][-1] == pytest.approx(values[0], rel=1e-7)


@pytest.mark.parametrize("function", ["sinkhorn", "gcg", "cg", "lasso"])
def test_verbose_prints_a_table(function: str, capsys: pytest.CaptureFixture[str]) -> None:
    calls = {
        "sinkhorn": lambda: sinkhorn(D.a, D.b, COST, 0.5, verbose=True),
        "gcg": lambda: gcg(D.a, D.b, COST, 0.5, 0.5, half_square, itself, verbose=True),
        "cg": lambda: cg(D.a, D.b, COST, 5.0, half_square, itself, verbose=True, warn=False),
        "lasso": lambda: sinkhorn_l1l2_gl(D.a, D.labels, D.b, COST, 0.5, verbose=True),
    }
    calls[function]()
    printed = capsys.readouterr().out.splitlines()
    assert printed[0].startswith("It.  |Err" if function == "sinkhorn" else "It.  |Loss")
    assert len(printed) >= 3


# Arrays of other libraries


def library(name: str):
    """How a library makes its arrays, in a precision."""
    module = pytest.importorskip(name)
    if name == "torch":
        return lambda array, single: module.tensor(array, dtype=module.float32 if single else module.float64)
    module.config.update("jax_enable_x64", True)
    return lambda array, single: module.numpy.asarray(array, dtype=np.float32 if single else np.float64)


@pytest.fixture(params=["torch", "jax"])
def make(request: pytest.FixtureRequest):
    yield library(request.param)
    if request.param == "jax":
        pytest.importorskip("jax").config.update("jax_enable_x64", False)


@pytest.mark.parametrize("single", [False, True])
def test_plans_come_back_in_kind(make, single: bool) -> None:
    a, b, C = (make(array, single) for array in (D.a, D.b, COST))
    labels = make(D.labels, single)
    near = {"atol": 1e-5 if single else 1e-9}
    pairs = [
        (sinkhorn(a, b, C, 0.5), sinkhorn(D.a, D.b, COST, 0.5)),
        (sinkhorn2(a, b, C, 0.5), sinkhorn2(D.a, D.b, COST, 0.5)),
        (sinkhorn(a, make(SEVERAL, single), C, 0.5), sinkhorn(D.a, SEVERAL, COST, 0.5)),
        (sinkhorn_l1l2_gl(a, labels, b, C, 0.5), sinkhorn_l1l2_gl(D.a, D.labels, D.b, COST, 0.5)),
        (sinkhorn(a, b, C, 0.5, log=True)[1]["log_u"], sinkhorn(D.a, D.b, COST, 0.5, log=True)[1]["log_u"]),
    ]
    if not single:
        arguments = (0.5, 0.5, half_square, itself)
        pairs.append((gcg(a, b, C, *arguments), gcg(D.a, D.b, COST, *arguments)))
    for ours, plain in pairs:
        assert type(ours) is type(C)
        assert ours.dtype == C.dtype
        np.testing.assert_allclose(np.asarray(ours), plain, rtol=0 if not single else 1e-5, **near)


def test_single_precision_of_numpy_stays_single() -> None:
    assert sinkhorn(D.a, D.b, COST.astype(np.float32), 0.5).dtype == np.float32


def test_the_cost_of_the_plan_is_differentiable() -> None:
    torch = pytest.importorskip("torch")
    inputs = [
        torch.tensor(array, requires_grad=True) for array in (D.a[:5] / D.a[:5].sum(), SEVERAL[:4, 0], COST[:5, :4])
    ]
    inputs[1] = (inputs[1] / inputs[1].sum()).detach().requires_grad_()

    def loss(a, b, M):
        return sinkhorn2(a, b, M, 0.5, stopThr=1e-13, numItermax=10_000)

    assert torch.autograd.gradcheck(loss, inputs, eps=1e-6, atol=1e-5, fast_mode=True)
    with pytest.raises(TypeError, match="detach the inputs, or use transport_loss"):
        gcg(*inputs, 0.5, 0.5, half_square, itself)


def test_the_cost_of_the_plan_is_differentiable_where_jax_traces() -> None:
    jax = pytest.importorskip("jax")
    check_grads = pytest.importorskip("jax.test_util").check_grads
    with jax.enable_x64(True):
        C = jax.numpy.asarray(COST[:5, :4])

        @jax.jit
        def loss(M):
            return sinkhorn2([], [], M, 0.5, stopThr=1e-13)

        assert float(loss(C)) == pytest.approx(float(sinkhorn2([], [], COST[:5, :4], 0.5)), rel=1e-8)
        check_grads(loss, (C,), order=1, modes=["rev"], eps=1e-6, atol=1e-6, rtol=1e-4)
        with pytest.raises(TypeError, match="allow neither log"):
            jax.jit(lambda M: sinkhorn([], [], M, 0.5, log=True))(C)


# Domain adaptation


def blobs(count: int, shift: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    labels = np.arange(count) % 3
    centres = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])
    return centres[labels] + 0.4 * np.random.default_rng(seed).normal(size=(count, 2)) + shift, labels


XS, YS = blobs(30, 0.0, 0)
XT, YT = blobs(24, 0.7, 1)
NEW = blobs(7, 0.2, 2)[0]


# Strengths at which POT's iterations converge, for each normalisation of the cost.
REACH = {None: 5.0, "median": 0.5, "max": 0.3, "log": 0.5, "loglog": 0.5}


@pytest.mark.parametrize("norm", REACH)
@pytest.mark.parametrize("outside", ["continuous", "ferradans"])
def test_sinkhorn_transport_does_what_pots_does(outside: str, norm: str | None) -> None:
    ours, theirs = (
        kind(reg_e=REACH[norm], norm=norm, out_of_sample_map=outside, max_iter=20_000).fit(Xs=XS, ys=YS, Xt=XT)
        for kind in (SinkhornTransport, ot.da.SinkhornTransport)
    )
    for name in ("coupling_", "cost_", "mu_s", "mu_t", "xs_", "xt_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-6)
    for samples in (XS, NEW):
        np.testing.assert_allclose(ours.transform(Xs=samples), theirs.transform(Xs=samples), atol=1e-4)
    for samples in (XT, NEW):
        np.testing.assert_allclose(
            ours.inverse_transform(Xt=samples, batch_size=3), theirs.inverse_transform(Xt=samples), atol=1e-4
        )
    np.testing.assert_allclose(ours.transform_labels(YS), theirs.transform_labels(YS), atol=1e-6)
    np.testing.assert_allclose(ours.inverse_transform_labels(YT), theirs.inverse_transform_labels(YT), atol=1e-6)


def test_the_map_of_far_samples_is_finite_where_pots_underflows() -> None:
    far = np.array([[200.0, 200.0]])
    ours, theirs = (kind(reg_e=5.0).fit(Xs=XS, Xt=XT) for kind in (SinkhornTransport, ot.da.SinkhornTransport))
    with np.errstate(all="ignore"):
        assert np.isnan(theirs.transform(Xs=far)).all()
    np.testing.assert_allclose(ours.transform(Xs=far), XT[[((XT - far) ** 2).sum(axis=1).argmin()]], atol=1.5)


def test_the_group_lasso_class_uses_the_certified_plan() -> None:
    model = SinkhornL1l2Transport(reg_e=0.5, reg_cl=0.5, log=True)
    mapped = model.fit_transform(Xs=XS, ys=YS, Xt=XT)
    M = PointCloudCost(XS, XT, "sqeuclidean").rows(slice(None))
    plan = sinkhorn_l1l2_gl(np.full(30, 1 / 30), YS, np.full(24, 1 / 24), M, 0.5, 0.5, stopInnerThr=1e-8)
    np.testing.assert_allclose(model.coupling_, plan, atol=1e-12)
    np.testing.assert_allclose(mapped, 30 * plan @ XT, atol=1e-9)
    assert model.log_["gap"] <= 1e-7
    assert (model.transform_labels(YS).argmax(axis=1) == YT).mean() > 0.9
    assert model.transform(NEW).shape == NEW.shape
    with pytest.raises(ValueError, match="ys must be given"):
        SinkhornL1l2Transport().fit(Xs=XS, Xt=XT)


@pytest.mark.parametrize("kind", [SinkhornTransport, SinkhornL1l2Transport, TimeSmoothTransport])
def test_labels_of_the_target_forbid_contradictions_and_parameters_stay(kind: type) -> None:
    """−1 is an unknown label; `fit` does not change what it was constructed with, as POT's does."""
    half = np.where(np.arange(24) % 2, YT, -1)
    model = kind(reg_e=0.2)
    parameters = model.get_params()
    model.fit(Xs=XS, ys=YS, Xt=XT, yt=half)
    contradicting = (half != -1) & (YS[:, None] != half)
    assert (model.cost_[contradicting] == model.limit_max_).all()
    assert model.coupling_[contradicting].max() <= 1e-9
    assert_coupling(model.coupling_, np.full(30, 1 / 30), np.full(24, 1 / 24), 1e-7)
    assert model.get_params() == parameters == clone(model).get_params()


def test_a_stream_is_solved_step_by_step_with_the_time_regulariser() -> None:
    batches = [blobs(24, shift, seed)[0] for seed, shift in ((1, 0.7), (2, 1.4))]
    model = TimeSmoothTransport(reg_e=0.2, reg_t=2.0, tol=1e-9).fit(Xs=XS, Xt=batches[0])
    position = XS
    for number, batch in enumerate(batches):
        if number:
            model.partial_fit(Xt=batch)
        problem = Problem(
            PointCloudCost(position, batch, "sqeuclidean"),
            epsilon=0.2,
            regularizer=TimeSmoothness(batch, position, 2.0),
        )
        plan = solve(problem, tol=1e-10).plan
        np.testing.assert_allclose(model.coupling_, plan.dense(), atol=1e-5)
        position = plan.barycentric_map(batch)
        np.testing.assert_allclose(model.transform(XS), position, atol=1e-3)
    classed = TimeSmoothTransport(reg_e=0.2, reg_cl=0.5).fit(Xs=XS, ys=YS, Xt=batches[0]).partial_fit(Xt=batches[1])
    assert (classed.transform_labels(YS).argmax(axis=1) == YT).mean() > 0.9
    with pytest.raises(ValueError, match="ys must be given if reg_cl > 0"):
        TimeSmoothTransport(reg_cl=0.5).fit(Xs=XS, Xt=batches[0])


def test_classes_return_in_kind(make) -> None:
    Xs, Xt = make(XS, False), make(XT, False)
    model = SinkhornTransport(reg_e=0.5).fit(Xs=Xs, Xt=Xt)
    for result in (model.coupling_, model.cost_, model.mu_s, model.transform(Xs), model.inverse_transform(Xt=Xt)):
        assert type(result) is type(Xs)
    plain = SinkhornTransport(reg_e=0.5).fit(Xs=XS, Xt=XT)
    np.testing.assert_allclose(np.asarray(model.transform(Xs)), plain.transform(XS), atol=1e-9)


def test_bad_input_is_named() -> None:
    with pytest.raises(ValueError, match="Xt must be given"):
        SinkhornTransport().fit(Xs=XS)
    with pytest.raises(ValueError, match="out_of_sample_map must be one of"):
        SinkhornTransport(out_of_sample_map="unknown")
    with pytest.raises(ValueError, match="norm must be one of"):
        SinkhornTransport(norm="mean").fit(Xs=XS, Xt=XT)
    with pytest.raises(ValueError, match="reg_e must be in"):
        SinkhornTransport(reg_e=0.0).fit(Xs=XS, Xt=XT)
    with pytest.raises(ValueError, match="reg_t must be in"):
        TimeSmoothTransport(reg_t=-1.0).fit(Xs=XS, Xt=XT)
    with pytest.raises(ValueError, match="ys must have one label per sample, 30 in all"):
        SinkhornTransport().fit(Xs=XS, Xt=XT).transform_labels(YT)
