"""What an automatic step is judged by is right for plans however near, and so is the same on every engine."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import METRICS, MOMENTS, PLAIN, difference, run
from problems import data, problem

from driftway import ForwardBackward, PointCloudCost, Problem
from driftway.engines import Threads
from driftway.geometry.dense import Dense
from driftway.problem.model import Model
from driftway.problem.point import Point
from driftway.solvers.forward_backward.step import bregman, forward_backward, notch

NEAR = [1e-2, 1e-4, 1e-5, 1e-6, 1e-7]


def step(model: Model, alpha: float) -> tuple[Point, Point]:
    """A plan, and the one after a step of forward-backward."""
    zeros = np.zeros_like(model.a), np.zeros_like(model.b)
    plan, _ = model.project(model.cost / -model.epsilon, *zeros, tol=1e-14, max_iter=1000)
    old = model.evaluate(plan)
    new, _ = forward_backward(model, plan, model.tangent(old), alpha, 1e-14)
    return old, new


def divergence(old: Point, new: Point) -> float:
    """KL entry by entry, by its series in the change of the logarithm where that is small."""
    t = np.log(new.plan.array()) - np.log(old.plan.array())
    small = t**2 / 2 + t**3 / 3 + t**4 / 8
    return float(np.sum(old.plan.array() * np.where(np.abs(t) < 1e-3, small, t * np.exp(t) - np.expm1(t))))


@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("alpha", NEAR)
@pytest.mark.parametrize("name", ["time-mean", "laplacian-target", "time+laplacians"])
def test_divergences_of_near_plans_are_right(name: str, alpha: float, dense: bool) -> None:
    model = Model(problem(data(15, 11, seed=7), name, 0.5, "sqeuclidean"), PLAIN, dense=dense)
    old, new = step(model, alpha)
    found = model.divergence(new, old)
    quadratic = bregman(model, new, old, model.tangent(old), found)
    assert found == pytest.approx(divergence(old, new), rel=2e-4)
    # J is quadratic: seen in its own terms, from which the plan is subtracted before they are squared.
    J, change = model.J, new.plan.array() - old.plan.array()
    directional = (J.gradient(change) - J.gradient(np.zeros_like(change))) * change
    assert quadratic == pytest.approx(0.5 * directional.sum(), rel=1e-4)


def test_a_divergence_that_is_small_for_lack_of_mass_is_no_small_change() -> None:
    d = data(9, 8, seed=1)
    a = np.where(np.arange(9) == 2, 1e-9, d.a)
    p = Problem(PointCloudCost(d.X, d.Y), a, d.b * a.sum(), epsilon=0.5)
    model, zeros = Model(p, PLAIN, dense=True), (np.zeros(9), np.zeros(8))
    C = model.cost.rows(slice(None))
    moved = C - 8.0 * (np.arange(9) == 2)[:, None] * (np.arange(8) == 3)
    old, new = (
        model.evaluate(model.project(Dense(each / -0.5), *zeros, tol=1e-14, max_iter=1000)[0]) for each in (C, moved)
    )
    assert 1e-10 < model.divergence(new, old) < 1e-8
    assert model.divergence(new, old) == pytest.approx(divergence(old, new), rel=1e-3)


def test_divergences_of_plans_that_are_the_same_are_zero() -> None:
    model = Model(problem(data(9, 8, seed=1), "time-mean", 0.5), PLAIN)
    old, _ = step(model, 0.1)
    assert model.divergence(old, old) == 0.0
    assert bregman(model, old, old, model.tangent(old), 0.0) == 0.0


@pytest.mark.parametrize("factor", [0.01, 0.3, 0.5, 1.0, 1.9, 2.0])
def test_a_notch_is_the_next_power_of_the_fourth_root_of_two_below(factor: float) -> None:
    below = notch(factor)
    assert below <= factor < below * 2**0.25 * (1 + 1e-15)
    assert 4 * np.log2(below) == pytest.approx(round(4 * np.log2(below)), abs=1e-12)
    assert notch(below * (1 + 1e-9)) == below


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("name", MOMENTS)
@pytest.mark.parametrize("metric", METRICS)
def test_automatic_steps_do_not_depend_on_rounding(metric: str, name: str, accelerate: bool) -> None:
    d = data(15, 11, seed=8)
    p, solver = problem(d, name, 0.5, metric), ForwardBackward(accelerate=accelerate)
    ours, plain = (run(p, solver, engine, tol=1e-10, max_iter=1000) for engine in (Threads(mixed=False), PLAIN))
    assert ours.converged
    assert plain.converged
    np.testing.assert_array_equal(ours.trace.step[1:], plain.trace.step[1:])
    assert difference(ours, plain, d) <= 1e-9
