"""Engines: whoever owns the rows, the same problem has the same answer."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from agreement import METRICS, MOMENTS, PLAIN, SOLVERS, difference, fits, run
from problems import data, problem

from driftway import ContinuousTransportClassifier, GroupLasso, PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Threads
from driftway.engines.engine import Request
from driftway.geometry import Cost
from driftway.geometry.dense import Dense, LogOf
from driftway.geometry.matrices import Factored, Matrix
from driftway.solvers import DualNewton

torch = pytest.importorskip("torch")

from driftway.engines import Torch  # noqa: E402 - needs torch

# A block of a few rows only, so that there are several.
ENGINES = {"torch": Torch(mixed=False), "torch in blocks": Torch(mixed=False, memory=6000)}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("who", ENGINES)
def test_torch_gives_what_threads_give(who: str, name: str, metric: str) -> None:
    d = data(15, 11, seed=7)
    p = problem(d, name, 0.5, metric)
    for solver in SOLVERS:
        if fits(solver, p):
            found, expected = run(p, solver, ENGINES[who]), run(p, solver, PLAIN)
            assert found.n_iter == expected.n_iter
            assert difference(found, expected, d) <= 1e-9


def test_the_answer_is_certified_on_any_engine() -> None:
    d = data(40, 30, seed=2)
    p = problem(d, "time-mean", 0.05)
    expected = solve(p, tol=1e-9)
    for engine in (Torch(), Torch(memory=20_000)):
        found = solve(p, tol=1e-9, engine=engine)
        assert found.converged
        assert found.value == pytest.approx(expected.value, rel=2e-9)


def matrices() -> dict[str, Matrix]:
    """Every kind of log-plan, n = 9, m = 7."""
    rng = np.random.default_rng(0)
    n, m, bases = 9, 7, (rng.normal(size=(7, 2)), rng.normal(size=(9, 3)))
    coefficients = -2.0, rng.normal(size=(9, 2)), rng.normal(size=(7, 3))
    kinds: dict[str, Matrix] = {"dense": Dense(rng.normal(size=(n, m))), "log of": LogOf(rng.random((n, m)))}
    for d in (2, 12):
        X, Y = rng.normal(size=(n, d)), rng.normal(size=(m, d))
        for metric in ("euclidean", "sqeuclidean", "cityblock"):
            kinds[f"{metric}, {d} features"] = Factored(PointCloudCost(X, Y, metric), *bases, *coefficients)
    kinds["no cost"] = Factored(PointCloudCost(X, Y), *bases, 0.0, *coefficients[1:])
    return kinds


REQUESTS = ("plain", "normalised", "far", "moments", "inner", "entropy", "remainder", "lacking")


def request(log: Matrix, kind: str) -> Request:
    """A request of every kind over the same log-plan; one row and one column have no mass."""
    rng = np.random.default_rng(1)
    n, m = log.shape
    f, g, a = rng.normal(size=n), rng.normal(size=m), rng.random(n)
    a[2], f[2], g[3] = 0.0, -np.inf, -np.inf
    u, v, right, left = rng.random(n), rng.random(m), rng.normal(size=(m, 2)), rng.normal(size=(n, 3))
    return {
        "plain": Request(log, f, g),
        "normalised": Request(log, f, g, row_mass=a),
        "far": Request(log, f - 1000.0, g, row_mass=a),
        "moments": Request(log, f, g, row_mass=a, right=right, left=left),
        "inner": Request(log, f, g, inner=Dense(rng.normal(size=(n, m)))),
        "entropy": Request(log, f, g, entropy=True),
        "remainder": Request(log, f, g, right=right, remainder=(u, v)),
        "lacking": Request(log, f - 3.0, g, row_mass=a, remainder=(None, v)),
    }[kind]


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("log", matrices())
def test_every_sweep_is_that_of_numpy(log: str, kind: str) -> None:
    asked = request(matrices()[log], kind)
    expected = Threads(compiled=False).sweep(asked)
    for engine in (Torch(), Torch(memory=4000)):
        found = engine.sweep(asked)
        for name in ("f", "rows", "columns", "right", "left", "inner", "entropy", "excess"):
            np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, atol=1e-13)


def test_the_other_operations_are_those_of_numpy() -> None:
    rng, threads = np.random.default_rng(3), Threads(compiled=False)
    f, g, factors, basis = rng.normal(size=9), rng.normal(size=7), list(rng.normal(size=(2, 9, 3))), rng.random((7, 3))
    for name, log in matrices().items():
        for engine in (Torch(), Torch(memory=4000)):
            agree = [
                (engine.log_columns(log, f - 800.0), threads.log_columns(log, f - 800.0)),
                (engine.exponential(log, f, g), threads.exponential(log, f, g)),
                (engine.gram(log, f, g, factors, basis), threads.gram(log, f, g, factors, basis)),
                (engine.assemble(log), threads.assemble(log)),
            ]
            for found, expected in agree:
                np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=name)


def test_float32_is_as_good_as_float32_can_be() -> None:
    d = data(60, 50, seed=4)
    p = problem(d, "none", 0.2)
    found = solve(p, tol=1e-4, engine=Torch(dtype="float32"))
    assert found.converged
    assert found.value == pytest.approx(solve(p, tol=1e-9).value, rel=1e-4)


class Allocations(torch.utils._python_dispatch.TorchDispatchMode):
    """Bytes of the tensors that are alive, and the most there ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.alive: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        import weakref

        result = function(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, tuple | list) else [result]:
            if isinstance(tensor, torch.Tensor):
                storage = tensor.untyped_storage()
                key = storage._cdata
                if key not in self.alive:
                    self.alive[key] = storage.nbytes()
                    weakref.finalize(storage, self.alive.pop, key, None)
        self.peak = max(self.peak, sum(self.alive.values()))
        return result


@pytest.mark.parametrize("kind", REQUESTS)
@pytest.mark.parametrize("log", ["euclidean", "sqeuclidean"])
def test_a_problem_larger_than_the_budget_stays_within_it(log: str, kind: str) -> None:
    rng, n, m = np.random.default_rng(0), 500, 300
    X, Y, P, Q = (rng.normal(size=size) for size in ((n, 2), (m, 2), (n, 2), (m, 3)))
    matrix = Factored(PointCloudCost(X, Y, log), rng.normal(size=(m, 2)), rng.normal(size=(n, 3)), -1.0, P, Q)
    budget = 2**18  # the plan alone would take 1.2 MB
    with Allocations() as allocations:
        Torch(memory=budget).sweep(request(matrix, kind))
    assert budget // 4 < allocations.peak <= budget


def test_a_budget_too_small_for_one_row_is_refused() -> None:
    with pytest.raises(ValueError, match="memory must be at least"):
        solve(problem(data(5, 200, seed=0), "none", 0.5), engine=Torch(memory=1000))


def test_torch_says_what_it_cannot_do() -> None:
    with pytest.raises(ValueError, match="device must be one that torch can use"):
        Torch("nowhere")
    with pytest.raises(TypeError, match="device must be a string"):
        Torch(0)
    with pytest.raises(ValueError, match="dtype must be one of"):
        Torch(dtype="float16")
    with pytest.raises(
        ValueError, match=r"which Torch\(.* does not; use driftway.engines.Threads\(\), or use ForwardBackward"
    ):
        solve(problem(data(8, 6, seed=0), "lasso", 0.5), DualNewton(), engine=Torch())


def test_engines_are_copied_and_pickled() -> None:
    engine = Torch(dtype="float32", memory=123_456)
    assert repr(pickle.loads(pickle.dumps(engine))) == repr(copy.deepcopy(engine)) == repr(engine)


def test_adaptation_runs_on_any_engine() -> None:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 4.0])
    y, batch = np.repeat([0, 1], 20), X[::2] + 0.5
    labels = {}
    for name, engine in {"threads": Threads(), "torch": Torch()}.items():
        model = ContinuousTransportClassifier(engine=engine).fit(X, y)
        labels[name] = model.partial_fit(batch).predict(batch)
    np.testing.assert_array_equal(labels["torch"], labels["threads"])


class Steps(Cost):
    """A cost of one's own, by the distance of row and column numbers, in units of `unit`."""

    def __init__(self, n: int, m: int, unit: float) -> None:
        self._values = unit * np.abs(np.subtract.outer(np.linspace(0.0, 1.0, n), np.linspace(0.0, 1.0, m)))

    @property
    def shape(self) -> tuple[int, int]:
        n, m = self._values.shape
        return n, m

    @property
    def dtype(self) -> np.dtype[np.float64]:
        return self._values.dtype

    def rows(self, block: slice) -> np.ndarray:
        return self._values[block]


@pytest.mark.parametrize("unit", [1.0, 1e-30])
def test_an_own_cost_is_solved_as_its_matrix_is(unit: float) -> None:
    """Also where it is scaled, since its unit is far from 1."""
    cost, Y = Steps(9, 7, unit), np.linspace(0.0, 1.0, 7)[:, None]
    for J in (None, TimeSmoothness(Y, np.linspace(0.1, 0.8, 9)[:, None], unit), GroupLasso(np.arange(9) % 2, unit)):
        expected = solve(Problem(cost.rows(slice(None)), epsilon=0.05 * unit, regularizer=J), tol=1e-9)
        for engine in (Threads(), Threads(compiled=False), Torch("cpu")):
            found = solve(Problem(cost, epsilon=0.05 * unit, regularizer=J), tol=1e-9, engine=engine)
            assert found.converged
            assert found.value == pytest.approx(expected.value, rel=1e-8, abs=0.0)
