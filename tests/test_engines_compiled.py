"""The compiled sweep against the NumPy one: the same numbers, whatever is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from driftway import PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve
from driftway.engines import Threads
from driftway.engines.engine import Engine, Request
from driftway.geometry.dense import Dense, LogOf
from driftway.geometry.matrices import Factored, Matrix
from driftway.geometry.terms import Terms

numba = pytest.importorskip("numba")

from driftway.engines.compiled import layout as compiled_form  # noqa: E402
from driftway.engines.compiled import sweep as compiled  # noqa: E402

COMPILED, NUMPY = Threads(compiled=True), Threads(compiled=False)
SHAPES = [(1, 1), (3, 7), (4, 5), (70, 1100), (501, 203)]


def matrices(n: int, m: int, rng: np.random.Generator) -> dict[str, Matrix]:
    """Every kind of log-plan."""
    found: dict[str, Matrix] = {"dense": Dense(-5.0 * rng.random((n, m))), "log-of": LogOf(rng.random((n, m)))}
    costs = {
        f"{metric}-{d}": (metric, d) for metric in ("euclidean", "sqeuclidean", "cityblock") for d in (1, 2, 3, 20)
    }
    for name, (metric, d) in costs.items():
        for r, c in ((0, 0), (2, 0), (2, 1), (18, 0)):
            cost = PointCloudCost(rng.normal(size=(n, d)), rng.normal(size=(m, d)), metric)
            R, L, P, Q = (rng.normal(size=shape) for shape in ((m, r), (n, c), (n, r), (m, c)))
            found[f"{name}-{r}-{c}"] = Factored(cost, R, L, -0.7, 0.1 * P, 0.1 * Q)
    found["float32"] = Factored.of_cost(
        PointCloudCost(rng.normal(size=(n, 2)).astype("f4"), rng.normal(size=(m, 2)).astype("f4")),
        np.empty((m, 0)),
        np.empty((n, 0)),
    )
    return found


KINDS = list(matrices(2, 2, np.random.default_rng(0)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", KINDS)
def test_both_sweeps_give_the_same_sums(kind: str, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(1)
    n, m = shape
    log = matrices(n, m, rng)[kind]
    f, g, a = rng.normal(size=n), rng.normal(size=m), rng.random(n)
    u, v = 0.1 * rng.random(n), rng.random(m)
    right, left = rng.normal(size=(m, 3)), rng.normal(size=(n, 2))
    asked = {
        "plain": Request(log, f, g),
        "normalised": Request(log, f, g, row_mass=a, right=right, left=left),
        "rounded": Request(log, f, g, right=right, left=left, remainder=(u, v)),
        "completed": Request(log, f, g, row_mass=10.0 * m * a, right=right, remainder=(None, v / v.sum())),
    }
    for name, request in asked.items():
        ours, theirs = COMPILED.sweep(request), NUMPY.sweep(request)
        for field in ("f", "rows", "columns", "right", "left", "excess"):
            np.testing.assert_allclose(
                getattr(ours, field), getattr(theirs, field), rtol=1e-11, atol=1e-11 * m, err_msg=f"{name} {field}"
            )


def test_the_completed_plan_has_the_rows_asked_for() -> None:
    rng = np.random.default_rng(0)
    log, a = Dense(-rng.random((30, 20)) - 5.0), np.full(30, 1.0)
    for engine in (COMPILED, NUMPY):
        sums = engine.sweep(Request(log, np.zeros(30), np.zeros(20), row_mass=a, remainder=(None, np.full(20, 0.05))))
        np.testing.assert_allclose(sums.rows, a, rtol=1e-13)


@pytest.mark.parametrize("kind", ["dense", "euclidean-2-2-1", "sqeuclidean-3-0-0"])
def test_float32_entries_are_right_to_single_precision_and_sums_do_not_drift(kind: str) -> None:
    rng = np.random.default_rng(2)
    n, m = 400, 300
    log, a = matrices(n, m, rng)[kind], rng.random(n)
    sums = [
        COMPILED.sweep(Request(log, np.zeros(n), np.zeros(m), row_mass=a, right=np.ones((m, 1)), single=single))
        for single in (True, False)
    ]
    np.testing.assert_allclose(sums[0].f, sums[1].f, atol=5e-6)
    np.testing.assert_allclose(sums[0].columns, sums[1].columns, rtol=5e-6)
    np.testing.assert_allclose(sums[0].columns.sum(), a.sum(), rtol=1e-6)


@pytest.mark.parametrize("engine", [COMPILED, NUMPY], ids=["compiled", "numpy"])
def test_rows_far_out_of_range_are_shifted_and_massless_ones_vanish(engine: Engine) -> None:
    log = Dense(np.array([[0.0, -1.0], [-3000.0, -3001.0], [4000.0, 3999.0], [1.0, 2.0]]))
    a = np.array([1.0, 1.0, 1.0, 0.0])
    sums = engine.sweep(Request(log, np.zeros(4), np.array([0.0, -np.inf]), row_mass=a))
    np.testing.assert_allclose(sums.columns, [3.0, 0.0])
    np.testing.assert_allclose(sums.f[:3], [0.0, 3000.0, -4000.0], atol=1e-9)
    assert sums.f[3] == -np.inf


def test_exponential_and_logarithm_are_right_to_the_last_bits() -> None:
    from driftway.engines.compiled import exp2 as elementary

    @numba.njit
    def apply(x, powers, logs):
        for k in range(x.size):
            powers[k] = elementary.exp2(x[k])
            logs[k] = elementary.log2(powers[k])

    x = np.random.default_rng(0).uniform(-1021, 1023, 100_000)
    powers, logs = np.empty_like(x), np.empty_like(x)
    apply(x, powers, logs)
    np.testing.assert_allclose(powers, np.exp2(x), rtol=1e-15)
    np.testing.assert_allclose(logs, np.log2(powers), rtol=4e-15)
    edge = np.array([-np.inf, -1e9, -1022.0, 1e9, np.inf])
    powers = np.empty(5)
    apply(edge, powers, np.empty(5))
    assert (powers[:3] == 0.0).all()
    assert (powers[3:] > 1e308).all()


@pytest.mark.parametrize("single", [True, False])
def test_a_stored_kernel_scales_as_matrix_products_do(single: bool) -> None:
    rng = np.random.default_rng(3)
    log, f, g, a = Dense(-3.0 * rng.random((203, 101))), rng.normal(size=203), rng.normal(size=101), rng.random(203)
    a[5] = 0.0
    v, K = rng.random(101), np.exp(log.values + g + f[:, None])
    kernel = COMPILED.stored(log, f, g, single=single)
    assert kernel is not None
    assert kernel.exact is not single
    u, columns = kernel.scalings(v, a)
    np.testing.assert_allclose(u, a / (K @ v), rtol=3e-7 if single else 1e-13)
    np.testing.assert_allclose(columns, (a / (K @ v)) @ K, rtol=3e-7 if single else 1e-13)


@pytest.mark.parametrize("engine", [COMPILED, NUMPY], ids=["compiled", "numpy"])
def test_the_gram_matrix_is_that_of_the_weighted_plan(engine: Engine) -> None:
    rng = np.random.default_rng(4)
    n, m = 60, 25
    cost = PointCloudCost(rng.normal(size=(n, 2)), rng.normal(size=(m, 2)))
    log = Factored.of_cost(cost, np.empty((m, 0)), np.empty((n, 0))) / -0.3
    factors, basis = [rng.normal(size=(n, 3)) for _ in range(2)], rng.normal(size=(m, 3))
    gamma = np.exp(log.rows(slice(None)))
    expected = sum((gamma * (factor @ basis.T)).T @ (gamma * (factor @ basis.T)) for factor in factors)
    np.testing.assert_allclose(engine.gram(log, np.zeros(n), np.zeros(m), factors, basis), expected, rtol=1e-11)


def test_mixed_precision_changes_nothing_that_is_certified() -> None:
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(250, 2)) + 0.5
    for tol in (1e-4, 1e-6, 1e-9):
        values = [
            sinkhorn(PointCloudCost(X, Y), epsilon=0.05, tol=tol, engine=Threads(mixed=mixed))
            for mixed in (True, False)
        ]
        assert all(s.converged for s in values)
        assert abs(values[0].value - values[1].value) <= 2 * tol * abs(values[1].value)
        assert max(s.lower_bound for s in values) <= min(s.value for s in values)


def test_the_numpy_engine_solves_what_the_compiled_one_does() -> None:
    rng = np.random.default_rng(6)
    X, Y = rng.normal(size=(90, 2)), rng.normal(size=(40, 2)) + 0.5
    p = Problem(PointCloudCost(X, Y), epsilon=0.05, regularizer=TimeSmoothness(Y, X, 2.0))
    ours, theirs = (solve(p, tol=1e-9, engine=engine) for engine in (COMPILED, NUMPY))
    assert ours.converged
    assert theirs.converged
    assert ours.value == pytest.approx(theirs.value, rel=1e-9)


@pytest.mark.parametrize("compiled", [True, False])
def test_long_sweeps_tell_how_far_they_are(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftway.engines.threads.engine.LONG_SWEEP", 1)
    monkeypatch.setattr("driftway.engines.compiled.layout.CALL_ENTRIES", 100)
    engine, seen = Threads(compiled=compiled, block_entries=100), []
    engine.watch = seen.append
    log = Dense(np.zeros((40, 20)))
    sums = engine.sweep(Request(log, np.zeros(40), np.zeros(20)))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert len(seen) > 5
    np.testing.assert_array_equal(sums.columns, np.full(20, 40.0))


def test_without_numba_everything_works_and_asking_for_it_names_the_extra() -> None:
    code = """
import sys
sys.modules["numba"] = None
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
import numpy as np
import driftway
from driftway import GroupLasso, PointCloudCost, Problem, TimeSmoothness, solve
from driftway.engines import Threads
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(20, 2)), rng.normal(size=(10, 2))
for J in (None, TimeSmoothness(Y, X), GroupLasso(np.arange(20) % 2, 0.1)):
    s = solve(Problem(PointCloudCost(X, Y), epsilon=0.2, regularizer=J))
    assert s.converged, s.message
assert not Threads().compiled
try:
    Threads(compiled=True)
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "driftway[fast]" in run.stdout


SOLVES = """
import hashlib
import numpy as np
from driftway import GroupLasso, PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve
from driftway.engines import Threads
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(203, 2)), rng.normal(size=(57, 2))
smooth, lasso = TimeSmoothness(Y, X, 2.0), GroupLasso(np.arange(203) % 3, 0.5)
engines = Threads(workers=1), Threads(workers=1, memory=0)
for J in (None, smooth, lasso, smooth + lasso):
    for engine in engines:
        for metric in ("euclidean", "sqeuclidean"):
            problem = Problem(PointCloudCost(X, Y, metric), epsilon=0.1, regularizer=J)
            print(hashlib.sha256(solve(problem, engine=engine).plan.dense().tobytes()).hexdigest())
wide = Problem(PointCloudCost(X, rng.normal(size=(300, 2))), epsilon=0.1)
print(hashlib.sha256(solve(wide, engine=engines[1]).plan.dense().tobytes()).hexdigest())
"""


@pytest.mark.slow
def test_the_process_that_compiles_has_the_same_bits_as_those_that_load(tmp_path: Path) -> None:
    def run() -> list[str]:
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", SOLVES], env=environment, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    compiling = run()
    assert any(tmp_path.rglob("*.nbc"))
    assert compiling == run()


def scattered(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The same arrays in random order and next to each other, with gaps of a few entries."""
    pool, position, found = np.zeros(2**13), 0, {}
    for name in rng.permutation(list(arrays)):
        size = arrays[name].size
        found[name] = pool[position : position + size].reshape(arrays[name].shape)
        found[name][...] = arrays[name]
        position += size + int(rng.integers(6))
    return found


@pytest.mark.parametrize(("features", "moments"), [(2, 0), (0, 2), (2, 2), (0, 4), (3, 1)])
@pytest.mark.parametrize("m", [4, 12, 20, 40])
def test_bits_do_not_depend_on_where_arrays_are(m: int, features: int, moments: int) -> None:
    """A sweep of tiny arrays came out differently, in the last bits, if its buffer was near what it is made of."""
    n, rng, seen = 7, np.random.default_rng(0), set()
    shapes = {"x": (n, features), "y": (features, m), "A": (n, moments), "B": (moments, m), "g": (m,), "f": (n,)}
    shapes |= {"V": (2, m), "U": (n, 2), "held": (5 * m + 2 * compiled_form.MARGIN,)}
    given = {name: rng.random(shape) for name, shape in shapes.items()}
    sums = {"shifts": (n,), "rows": (n,), "right": (n, 2), "left": (2, m)}
    x, y, A, B, g = (given[name] for name in "xyABg")
    kind = compiled_form.Rows.of(Terms(np.zeros(n), np.zeros(m), np.empty((0, m)), x, y, True, -1.0, A, B), g)
    for _ in range(200):
        o = scattered(given | {name: np.zeros(shape) for name, shape in sums.items()}, rng)
        there = {name: o[name] for name in "xyABg" if getattr(kind, name) is not None}
        out = [o[name] for name in sums]
        buffer, weights = compiled_form.inside(o["held"]), np.empty((2, 4))
        moved = kind._replace(**there)
        compiled.sweep_rows(0, n, *moved, o["f"], np.empty(0), 1e100, o["V"], o["U"], *out, buffer, weights)
        seen.add(b"".join(array.tobytes() for array in out))
    assert len(seen) == 1


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(0,), (1,), (7, 3), (2, 0, 5), (2, 1000)])
def test_arrays_begin_with_a_line_of_the_cache(shape: tuple[int, ...], real: type[np.floating]) -> None:
    for _ in range(20):
        array = compiled_form.aligned(shape, real)
        assert array.shape == shape
        assert array.dtype == real
        assert array.flags.c_contiguous
        assert array.flags.writeable
        assert array.size == 0 or array.ctypes.data % 64 == 0
    given = np.random.default_rng(0).random(shape)
    np.testing.assert_array_equal(compiled_form.in_lines(given, real), given.astype(real))
