"""The benchmark's judge and its race: who judges has to be judged."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from benchmarks import interleave
from benchmarks.clock import OverBudget, time_limit
from benchmarks.interleave import Budget, Endurance, Entrant, Rung, race, ratio
from benchmarks.judge import Answer, Judge, plan_of_potentials, round_in_place
from benchmarks.ours import answer_of, certified, solver_entrant
from driftway import ForwardBackward, GroupLasso, PointCloudCost, Problem, TimeSmoothness, sinkhorn, solve


def clouds(n: int = 30, m: int = 20) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)), rng.normal(size=(m, 2)) + 0.5


def a_problem() -> Problem:
    X, Y = clouds()
    return Problem(PointCloudCost(X, Y), epsilon=0.3, regularizer=TimeSmoothness(Y, X, weight=0.5))


def test_the_judge_agrees_with_the_certificate_and_accepts_a_right_plan() -> None:
    for problem in (a_problem(), Problem(clouds()[0] @ clouds()[1].T, epsilon=0.5)):
        solution = solve(problem, tol=1e-8)
        judge, answer = Judge(problem), answer_of(solution)
        verdict = judge.judge(answer)
        assert judge.bound == solution.lower_bound
        assert verdict.value == pytest.approx(solution.value, rel=1e-12)
        assert verdict.marginal_error == pytest.approx(solution.marginal_error, rel=1e-3, abs=1e-14)
        assert certified(1e-7)(answer, verdict, judge.gap(verdict))
        assert certified(1e-7)(Answer(solution.plan.dense), verdict, judge.gap(verdict))


def test_the_judge_rejects_wrong_plans() -> None:
    problem = a_problem()
    solution = solve(problem, tol=1e-8)
    judge, right = Judge(problem, solution.lower_bound), solution.plan.dense()
    independent = np.multiply.outer(problem.a, problem.b)  # right marginals, wrong objective
    unbalanced = right * np.linspace(0.99, 1.01, right.shape[0])[:, None]  # the other way round
    for plan in (independent, unbalanced, np.full_like(right, np.nan), -right):
        verdict = judge.of_plan(plan)
        assert not certified(1e-6)(Answer(lambda plan=plan: plan), verdict, judge.gap(verdict))
    assert judge.of_plan(independent).marginal_error < 1e-12
    assert judge.gap(judge.of_plan(independent)) > 1e-3
    assert judge.of_plan(unbalanced).marginal_error > 1e-3
    assert math.isnan(judge.gap(judge.of_plan(np.full_like(right, np.nan))))
    with pytest.raises(ValueError, match="shape"):
        judge.of_plan(right[:5])


def test_the_judge_does_not_take_the_entrants_word() -> None:
    """A certificate of our own does not excuse marginals that are off."""
    problem = a_problem()
    boast = Answer(lambda: 0.5 * solve(problem).plan.dense(), certified=0.0)
    judge = Judge(problem)
    assert not certified(1e-6)(boast, judge.judge(boast), 0.0)


def test_rounding_gives_exact_marginals_and_keeps_couplings() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(4))
    gamma = rng.random((6, 4))
    gamma[2] = 0.0
    round_in_place(gamma, a, b)
    np.testing.assert_allclose(gamma.sum(axis=1), a, rtol=0, atol=1e-15)
    np.testing.assert_allclose(gamma.sum(axis=0), b, rtol=0, atol=1e-15)
    again = gamma.copy()
    round_in_place(again, a, b)
    np.testing.assert_allclose(again, gamma, rtol=0, atol=1e-15)


@pytest.mark.usefixtures("no_real_time")
def test_potentials_become_the_plan_they_belong_to() -> None:
    X, Y = clouds()
    solution = sinkhorn(PointCloudCost(X, Y), epsilon=0.3, tol=1e-9)
    plan = plan_of_potentials(PointCloudCost(X, Y).rows(slice(None)), *solution.potentials, 0.3)
    np.testing.assert_allclose(plan, solution.plan.dense(), rtol=1e-9)


class Clock:
    """A clock that only those who wait advance, so that no result depends on what else the machine does."""

    def __init__(self) -> None:
        self.now, self.end = 0.0, math.inf

    def read(self) -> float:
        self.now += 1e-6  # nothing takes no time
        return self.now

    def wait(self, seconds: float) -> None:
        if self.now + seconds > self.end:
            self.now = self.end
            raise OverBudget
        self.now += seconds

    @contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        self.end = self.now + seconds
        try:
            yield
        finally:
            self.end = math.inf


CLOCK = Clock()


@pytest.fixture
def no_real_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleave.time, "perf_counter", CLOCK.read)
    monkeypatch.setattr(interleave, "time_limit", CLOCK.limit)
    monkeypatch.setattr(interleave, "settle", lambda: None)


class Fake:
    """An entrant that waits and returns a plan, and writes down when it was asked."""

    def __init__(self, name: str, plan: np.ndarray, diary: list[str], sleep: float = 0.0) -> None:
        self.name, self.plan, self.diary, self.sleep = name, plan, diary, sleep

    def rung(self, settings: str = "default") -> Rung:
        def run(budget: float) -> Answer:
            self.diary.append(f"{self.name} {settings}")
            CLOCK.wait(self.sleep)
            return Answer(lambda: self.plan)

        return Rung(settings, run)


def small_race() -> tuple[Judge, np.ndarray, np.ndarray]:
    problem = a_problem()
    solution = solve(problem, tol=1e-8)
    return Judge(problem, solution.lower_bound), solution.plan.dense(), np.multiply.outer(problem.a, problem.b)


@pytest.mark.usefixtures("no_real_time")
def test_repetitions_are_interleaved_and_medians_taken() -> None:
    judge, right, _ = small_race()
    diary: list[str] = []
    quick, slow = Fake("quick", right, diary), Fake("slow", right, diary, sleep=0.02)
    entrants = [
        Entrant("quick", [[quick.rung()]], ours=True, reference=True),
        Entrant("slow", [[slow.rung()]]),
    ]
    records = race(entrants, judge, certified(1e-6), repetitions=3, budget=Budget(5.0))
    assert diary == ["quick default", "slow default"] * 4  # the calibration, then three repetitions
    assert [record.status for record in records] == ["reached", "reached"]
    assert all(len(record.seconds) == 3 for record in records)
    assert records[1].median == sorted(records[1].seconds)[1] >= 0.02
    value, bound = ratio(records[1].as_dict(), records[0].as_dict())
    assert value == records[1].median / records[0].median
    assert not bound


@pytest.mark.usefixtures("no_real_time")
def test_the_loosest_setting_that_reaches_the_target_is_timed() -> None:
    judge, right, wrong = small_race()
    diary: list[str] = []
    ladder = [
        Fake("peer", plan, diary).rung(name) for plan, name in ((wrong, "loose"), (right, "fit"), (right, "tight"))
    ]
    (record,) = race([Entrant("peer", [ladder])], judge, certified(1e-6), repetitions=2, budget=Budget(5.0))
    assert diary == ["peer loose", "peer fit", "peer fit", "peer fit"]
    assert record.settings == "fit"
    assert [attempt.settings for attempt in record.attempts] == ["loose", "fit"]
    assert record.attempts[0].gap > 1e-3


@pytest.mark.usefixtures("no_real_time")
def test_of_several_variants_the_fastest_is_timed() -> None:
    judge, right, _ = small_race()
    diary: list[str] = []
    slow, fast = Fake("peer", right, diary, sleep=0.05).rung("slow"), Fake("peer", right, diary).rung("fast")
    (record,) = race([Entrant("peer", [[slow], [fast]])], judge, certified(1e-6), repetitions=1, budget=Budget(5.0))
    assert record.settings == "fast"


@pytest.mark.usefixtures("no_real_time")
def test_failures_are_recorded_with_what_they_reached() -> None:
    judge, _, wrong = small_race()

    def burst(budget: float) -> Answer:
        raise RuntimeError("numerical errors at iteration 3")

    entrants = [
        Entrant("wrong", [[Fake("wrong", wrong, []).rung()]]),
        Entrant("nan", [[Fake("nan", np.full_like(wrong, np.nan), []).rung()]]),
        Entrant("burst", [[Rung("default", burst)]]),
        Entrant("absent", (), unavailable="not installed"),
    ]
    records = {r.name: r for r in race(entrants, judge, certified(1e-6), repetitions=2, budget=Budget(5.0))}
    assert {name: record.status for name, record in records.items()} == {
        "wrong": "failed", "nan": "failed", "burst": "failed", "absent": "unavailable",
    }  # fmt: skip
    assert records["wrong"].gap > 1e-3
    assert records["wrong"].note.startswith("no setting reached the target")
    assert "NaN" in records["nan"].note
    assert records["burst"].note == "RuntimeError: numerical errors at iteration 3"
    assert not any(record.seconds for record in records.values())


@pytest.mark.usefixtures("no_real_time")
def test_who_is_over_budget_is_stopped_recorded_and_spared_harder_cases() -> None:
    judge, right, _ = small_race()
    diary: list[str] = []
    endurance = Endurance(lambda case, other: case["n"] >= other["n"])
    snail = Entrant("snail", [[Fake("snail", right, diary, sleep=30.0).rung()]])
    quick = Entrant("quick", [[Fake("quick", right, diary).rung()]], ours=True, reference=True)
    records = race(endurance.admit([quick, snail], {"n": 2}), judge, certified(1e-6), repetitions=3, budget=Budget(0.1))
    assert diary.count("snail default") == 1
    assert (records[1].status, records[1].seconds) == ("over budget", [])
    value, bound = ratio(records[1].as_dict(), records[0].as_dict())
    assert bound
    assert value == 0.1 / records[0].median
    endurance.learn([record.as_dict() for record in records], {"n": 2})
    again = race(endurance.admit([quick, snail], {"n": 5}), judge, certified(1e-6), repetitions=1, budget=Budget(0.1))
    assert diary.count("snail default") == 1
    assert again[1].status == "over budget"
    assert "n 2" in again[1].note
    assert not endurance.admit([snail], {"n": 1})[0].lesson  # an easier case is open to it
    longer = Budget(0.2)  # what is over 0.1 s need not be over 0.2
    race(endurance.admit([quick, snail], {"n": 5}), judge, certified(1e-6), repetitions=1, budget=longer)
    assert diary.count("snail default") == 2


@pytest.mark.usefixtures("no_real_time")
def test_who_failed_is_spared_harder_cases() -> None:
    judge, right, wrong = small_race()
    diary: list[str] = []
    endurance = Endurance(lambda case, other: case["n"] >= other["n"])
    entrants = [
        Entrant("own", [[Fake("own", right, diary).rung()]], ours=True, reference=True),
        Entrant("wrong", [[Fake("wrong", wrong, diary).rung()]]),
    ]
    for n in (2, 3):
        case = {"n": n}
        records = race(endurance.admit(entrants, case), judge, certified(1e-6), repetitions=1, budget=Budget(5.0))
        endurance.learn([record.as_dict() for record in records], case)
        assert [record.status for record in records] == ["reached", "failed"]
    assert diary.count("wrong default") == 1
    assert records[1].note == "not run: failed already at n 2"


@pytest.mark.usefixtures("no_real_time")
def test_a_cap_on_iterations_is_no_failure() -> None:
    """Who ran into it is over the time that it had, which may be less than its budget, and NaN is NaN."""
    judge, right, wrong = small_race()
    entrants = [
        Entrant("own", [[Fake("own", right, []).rung()]], ours=True, reference=True),
        Entrant("cut", [[Rung("default", lambda budget: Answer(lambda: wrong, capped=True))]]),
        Entrant("nan", [[Rung("default", lambda budget: Answer(lambda: np.full_like(wrong, np.nan), capped=True))]]),
    ]
    own, cut, nan = race(entrants, judge, certified(1e-6), repetitions=1, budget=Budget(5.0, 2.0))
    assert [own.status, cut.status, nan.status] == ["reached", "over budget", "failed"]
    assert cut.budget == cut.attempts[0].seconds < 5.0
    value, bound = ratio({**cut.as_dict(), "budget": 6.0, "beside": 1.0}, {**own.as_dict(), "median": 3.0})
    assert (value, bound) == (2.0, True)  # by the slower of the two
    assert ratio({**cut.as_dict(), "budget": 6.0, "beside": 4.0}, {**own.as_dict(), "median": 3.0}) == (1.5, True)


@pytest.mark.usefixtures("no_real_time")
def test_who_was_cut_off_too_early_has_another_try() -> None:
    judge, right, wrong = small_race()
    given: list[float] = []

    def run(budget: float) -> Answer:
        return Answer(lambda: right if len(given) > 1 else wrong, capped=len(given) == 1)

    def prepare(budget: float) -> float:
        given.append(budget)
        return 0.0

    entrants = [Entrant("cut", [[Rung("default", run, prepare)]])]
    (record,) = race(entrants, judge, certified(1e-6), repetitions=1, budget=Budget(5.0))
    assert record.status == "reached"
    assert given[0] == 5.0
    assert given[1] > 6.5


@pytest.mark.usefixtures("no_real_time")
def test_one_may_have_more_time_than_the_others() -> None:
    judge, right, _ = small_race()
    own = Entrant("own", [[Fake("own", right, [], sleep=0.05).rung()]], ours=True, reference=True)
    patient = Entrant("patient", [[Fake("patient", right, []).rung()]], multiple=20.0)
    first, second = race([own, patient], judge, certified(1e-6), repetitions=1, budget=Budget(0.5))
    assert first.budget == 0.5
    assert second.budget == 20.0 * first.attempts[0].seconds >= 1.0


@pytest.mark.usefixtures("no_real_time")
def test_what_the_judge_cannot_take_is_a_failure() -> None:
    judge, _, _ = small_race()

    def burst() -> np.ndarray:
        raise MemoryError("no room for the plan")

    entrants = [Entrant("lazy", [[Rung("default", lambda budget: Answer(burst))]])]
    (record,) = race(entrants, judge, certified(1e-6), repetitions=1, budget=Budget(5.0))
    assert (record.status, record.note) == ("failed", "MemoryError: no room for the plan")


@pytest.mark.usefixtures("no_real_time")
def test_everybody_has_a_multiple_of_the_time_of_the_reference() -> None:
    """The reference runs first, wherever it stands, and who is over budget is behind by the multiple."""
    judge, right, _ = small_race()
    diary: list[str] = []
    snail = Entrant("snail", [[Fake("snail", right, diary, sleep=30.0).rung()]])
    half = Entrant("half", [[Fake("half", right, diary).rung()]], share=0.5)
    own = Entrant("own", [[Fake("own", right, diary, sleep=0.1).rung()]], ours=True, reference=True)
    records = race([half, snail, own], judge, certified(1e-6), repetitions=1, budget=Budget(0.01, 3.0, own=5.0))
    assert diary[0] == "own default"
    assert [record.name for record in records] == ["own", "half", "snail"]
    first, second, third = records
    assert first.budget == 5.0
    assert diary[1:5] == ["own default", "half default", "own default", "snail default"]
    assert [second.beside, third.beside] == first.seconds[:2]  # what the reference took just before them
    assert second.budget == 0.5 * 3.0 * second.beside
    assert third.budget == 3.0 * third.beside >= 0.3
    value, bound = ratio(third.as_dict(), first.as_dict())
    assert bound
    assert value == third.budget / max(third.beside, first.median) <= 3.0 + 1e-9
    assert Budget(1.0, 3.0).of_others(0.1) == 1.0
    assert Budget(1.0, 3.0, own=7.0).of_others(math.nan) == 7.0  # as long as the reference had


@pytest.mark.usefixtures("no_real_time")
def test_repetitions_stop_when_the_budget_is_spent() -> None:
    judge, right, _ = small_race()
    entrant = Entrant("slow", [[Fake("slow", right, [], sleep=0.1).rung()]])
    (record,) = race([entrant], judge, certified(1e-6), repetitions=10, budget=Budget(0.25))
    assert record.status == "reached"
    assert 1 <= len(record.seconds) <= 4


def test_the_time_limit_ends_what_does_not_end() -> None:
    with pytest.raises(OverBudget, match=r"over 0\.05 s"), time_limit(0.05):
        time.sleep(3600.0)


@pytest.mark.usefixtures("no_real_time")
def test_our_own_solvers_stop_at_their_deadline_and_keep_what_they_have() -> None:
    problem = a_problem()
    entrant = solver_entrant("ours", problem, ForwardBackward, tol=0.0, settings="FB")
    judge = Judge(problem, solve(problem).lower_bound)
    (record,) = race([entrant], judge, certified(0.0), repetitions=1, budget=Budget(1e-4))
    assert record.status == "over budget"
    assert math.isfinite(record.gap)
    assert record.curve

    def not_written() -> object:
        raise TypeError("unexpected keyword argument 'accelerate'")

    absent = solver_entrant("ours", problem, not_written, tol=0.0, settings="")
    assert "accelerate" in absent.unavailable


def test_pots_group_lasso_is_our_group_lasso() -> None:
    """What POT's entrant is given is the problem that it is judged by."""
    pytest.importorskip("ot")
    from benchmarks.peers_pot import group_lasso_entrant

    X, Y = clouds(20, 10)
    problem = Problem(PointCloudCost(X, Y), epsilon=0.5, regularizer=GroupLasso(np.arange(20) % 2, weight=0.1))
    judge = Judge(problem, solve(problem, tol=1e-9, max_iter=10_000).lower_bound)
    (record,) = race([group_lasso_entrant(problem)], judge, certified(1e-3), repetitions=1, budget=Budget(20.0))
    assert record.status == "reached", record
