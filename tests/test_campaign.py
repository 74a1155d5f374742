"""The campaign of random problems: some of it, and that its judge catches what is wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from campaign import judge, problems, reading
from campaign.__main__ import KINDS, campaign, mixed, part_of, simplified, trial_rng
from campaign.data import arrays
from campaign.outcome import Failure, Outcome
from campaign.specs import TERMS, Spec

from driftway import Solution, solve

# A minute of it in all; the trials are the first of the campaign, whatever the machine.
SHARE = {"problems": 40, "streams": 30, "files": 150, "kills": 4}
PLAIN: Spec = {
    "seed": 1,
    "n": 5,
    "m": 4,
    "cost": "matrix",
    "cost_exponent": 0.0,
    "epsilon": 0.1,
    "iterations": 1000,
    "single": False,
    "mass_exponent": 0.0,
    "tiny_row": 0.0,
    "tiny_column": 0.0,
    "zeros": False,
    "terms": [],
    "runs": [],
}


@pytest.mark.parametrize("kind", SHARE)
def test_some_of_the_campaign_finds_nothing(kind: str) -> None:
    told: list[str] = []
    done, failed, _ = campaign(0, mixed({kind: SHARE[kind]}), told.append, simplify=False)
    assert done == SHARE[kind]
    assert not failed, "\n".join(told)


# What it found once, as small as it was found to fail: what was wrong, and the specification.
FOUND: dict[str, Spec] = {
    "a mass of 1e-85 was lost in float32, and J not finite": {
        "seed": 217435423,
        "n": 2,
        "m": 1,
        "iterations": 20,
        "tiny_row": 85.1,
        "terms": [["wasserstein", 1.0]],
        "runs": [["ForwardBackward", "torch32"]],
    },
    "J was said not to be convex for the rounding of float32": {
        "seed": 423584345,
        "n": 2,
        "m": 2,
        "iterations": 31,
        "terms": [["square", 18.8]],
        "runs": [["Accelerated", "torch32"]],
    },
    "a plan in float32 was rounded to one of 4e-5 above the value that was certified": {
        "seed": 1153177544,
        "m": 12,
        "cost_exponent": 1.814,
        "epsilon": 0.0137,
        "iterations": 200,
        "runs": [["DualAscent", "torch32"]],
    },
}


def test_a_plan_that_overflows_beside_another_regulariser_is_refused_as_such() -> None:
    """A Laplacian of a mass of 1e-17 makes steps that overflow; the images of the other J were blamed for it."""
    terms = [["wasserstein", 1.0], ["laplacian-target", 1.0]]
    outcome = problems.run({**PLAIN, "seed": 1301971396, "n": 2, "m": 2, "tiny_column": 17.2, "terms": terms})
    assert not outcome.failures
    assert outcome.counts == {"refused": 1}


@pytest.mark.parametrize("found", FOUND)
def test_what_it_found_stays_mended(found: str) -> None:
    pytest.importorskip("torch")
    outcome = problems.run({**PLAIN, **FOUND[found]})
    assert not outcome.failures
    assert outcome.counts["solves"] == 2


@pytest.mark.parametrize("name", TERMS)
def test_the_judge_agrees_with_the_library_on_an_ordinary_problem(name: str) -> None:
    outcome = problems.run({**PLAIN, "terms": [[name, 1.0]]})
    assert not outcome.failures
    assert outcome.counts.get("confirmed", 0) == (name != "wasserstein")


@pytest.mark.parametrize("name", sorted(set(TERMS) - {"wasserstein"}))
def test_the_gradients_of_the_judge_are_those_of_its_values(name: str) -> None:
    data = arrays({**PLAIN, "terms": [[name, 1.0]]})
    gamma = np.multiply.outer(data.a, data.b).astype(np.longdouble)
    direction = np.random.default_rng(0).normal(size=gamma.shape)
    direction = gamma * (direction - direction.mean(axis=1, keepdims=True))
    direction -= np.multiply.outer(direction.sum(axis=1), data.b)  # rows keep their sums, as couplings do
    term, h = data.terms[0], np.longdouble(1e-7)
    ahead, back = (np.sum(judge.VALUES[name](data, term, gamma + s * h * direction)) for s in (1, -1))
    slope = (judge.GRADIENTS[name](data, term, gamma) * direction).sum()
    assert float(slope) == pytest.approx(float((ahead - back) / (2 * h)), rel=1e-6, abs=1e-9)


WRONG = {
    "value of the plan": lambda s: replace(s, value=s.value + 1e-4),
    "value below the optimum": lambda s: replace(s, value=s.value - 1e-4),
    "lower bound above the optimum": lambda s: replace(s, lower_bound=s.value + 1e-4),
    "rounded marginals": lambda s: replace(s, plan=replace(s.plan, a=1.001 * s.plan.a, b=1.001 * s.plan.b)),
    "certified marginals": lambda s: replace(s, plan=replace(s.plan, f=s.plan.f + 1e-3)),
    "plan": lambda s: replace(s, value=np.nan),
}


@pytest.mark.parametrize("kind", WRONG)
def test_the_judge_catches(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*args, **options) -> Solution:
        return WRONG[kind](solve(*args, **options))

    monkeypatch.setattr(problems, "solve", wrong)
    assert kind in {failure.kind for failure in problems.run(PLAIN).failures}


def test_the_judge_catches_a_value_a_little_below_the_plan_s(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be a hundredth of the tolerance above that of its plan, and none below it."""
    for share, caught in ((0.008, False), (-0.008, True)):

        def wrong(*args, share: float = share, **options) -> Solution:
            found = solve(*args, **{**options, "tol": 1e-12})
            return replace(found, value=found.value + share * problems.TOL * abs(found.value))

        monkeypatch.setattr(problems, "solve", wrong)
        assert ("value of the plan" in {failure.kind for failure in problems.run(PLAIN).failures}) == caught


def test_the_judge_lets_no_ordinary_problem_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*args, **options) -> Solution:
        raise ValueError("the problem cannot be represented in float64")

    monkeypatch.setattr(problems, "solve", refusing)
    assert [failure.kind for failure in problems.run(PLAIN).failures] == ["exception"]
    assert not problems.run({**PLAIN, "tiny_row": 90.0}).failures


def test_a_false_certificate_is_caught_by_another_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default answers with the independent coupling, its right value, and a gap that is not its own."""
    spec = {**PLAIN, "runs": [("ForwardBackward", "threads")]}
    data = arrays(spec)

    def hasty(problem, solver, **options) -> Solution:
        s = solve(problem, solver, **options)
        if solver is not None:
            return s
        plan = replace(s.plan, log=0.0 * s.plan.log, f=np.log(data.a), g=np.log(data.b), values=None)
        return replace(s, plan=plan, value=judge.objective(data, np.multiply.outer(data.a, data.b))[0])

    monkeypatch.setattr(problems, "solve", hasty)
    assert "certificate" in {failure.kind for failure in problems.run(spec).failures}


def test_warnings_and_exceptions_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def warns(*args, **options) -> Solution:
        np.log(np.zeros(1))
        return solve(*args, **options)

    def raises(*args, **options) -> Solution:
        raise ZeroDivisionError

    for kind, function in (("warning", warns), ("exception", raises)):
        monkeypatch.setattr(problems, "solve", function)
        assert {failure.kind for failure in problems.run(PLAIN).failures} == {kind}


def test_failures_are_simplified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever has a lasso fails: the simplest such problem has one entry and nothing else."""

    def run(spec: Spec) -> Outcome:
        failing = any(name == "lasso" for name, _ in spec["terms"])
        return Outcome([Failure("lasso", "default", "")] if failing else [])

    monkeypatch.setattr(problems, "run", run)
    spec = {**PLAIN, "terms": [["time-mean", 3.0], ["lasso", 2.0]], "cost_exponent": 3.0, "tiny_row": 50.0}
    simple = simplified("problems", spec, "lasso")
    assert (simple["n"], simple["m"], simple["terms"]) == (1, 1, [["lasso", 1.0]])
    assert (simple["cost_exponent"], simple["tiny_row"]) == (0.0, 0.0)


def test_trials_that_are_recorded_are_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problems, "run", lambda spec: Outcome())
    record = tmp_path / "trials.jsonl"
    first = campaign(3, mixed({"problems": 4}), lambda line: None, record=record)
    with record.open("a") as file:
        file.write('{"kind": "problems", "se')  # it was killed here
    second = campaign(3, mixed({"problems": 6}), lambda line: None, record=record)
    assert (first[0], second[0]) == (4, 2)


def test_a_trial_is_the_same_whenever_it_is_run() -> None:
    for kind, module in KINDS.items():
        assert module.draw(trial_rng(5, kind, 7)) == module.draw(trial_rng(5, kind, 7))


def test_parts_of_a_campaign_are_all_of_it() -> None:
    """Every trial is in one part of a campaign that several processes share."""
    trials = list(mixed({"problems": 10, "streams": 3}))
    parts = [trials[k - 1 :: n] for k, n in map(part_of, ("1/3", "2/3", "3/3"))]
    assert sorted(trial for part in parts for trial in part) == sorted(trials)
    with pytest.raises(ValueError, match="from 1/N to N/N"):
        part_of("3/2")


def test_files_are_read_in_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Earlier the first files that a child read were left where it was started: in the repository."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading, "originals", lambda: {"run_step.json": b"{}", "table.csv": b"east\n1\n"})
    monkeypatch.setattr(reading, "_run_with", lambda name, content: Path("out").mkdir())
    reading.warm()
    assert list(tmp_path.iterdir()) == []
