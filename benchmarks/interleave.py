"""The race: everybody's first repetition, then everybody's second, and so on, in one process.

Before the clock starts, a calibration finds for every entrant the loosest of its settings that reaches the target by
our judgement. The reference comes first, and runs again before each of the others, whose budget is a multiple of what
that took: who needs more is recorded as over budget, which is a ratio of at least that multiple whatever else the
machine was doing, and does not run again.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from statistics import median
from typing import Any, Literal

from benchmarks.clock import OverBudget, settle, time_limit
from benchmarks.judge import Answer, Judge, Verdict

Status = Literal["reached", "failed", "over budget", "unavailable"]
Reached = Callable[[Answer, Verdict, float], bool]


@dataclass(frozen=True)
class Budget:
    """Seconds per run: `own` for the reference; for the others `multiple` times what it took, and at least `least`."""

    least: float
    multiple: float = 0.0
    own: float | None = None

    def of_reference(self) -> float:
        return self.least if self.own is None else self.own

    def of_others(self, reference: float) -> float:
        """With the seconds of the reference, NaN if it did not reach the target."""
        return max(self.least, self.multiple * reference if math.isfinite(reference) else self.of_reference())


@dataclass(frozen=True)
class Rung:
    """One setting of an entrant: what it is and how to run it, given the seconds that it has.

    `prepare` is done once and untimed, and returns seconds that are reported apart (a compilation).
    """

    settings: str
    run: Callable[[float], Answer]
    prepare: Callable[[float], float] | None = None


@dataclass(frozen=True)
class Entrant:
    """A competitor: ladders of settings, each from loose to tight.

    Of every ladder the first rung that reaches the target counts; of several ladders (variants of the algorithm, the
    one for hard cases first) the fastest, and none after one that was over budget. `reference` marks the entrant that
    ratios are relative to, `ours` those that are part of driftway; `share` is its part of the budget, which is at
    least `multiple` times what the reference took. One that is not
    installed says so in `unavailable`; one that needed more than `needs` seconds in an easier case, or failed there
    (then `needs` is infinite), says in `lesson` which one that was.
    """

    name: str
    ladders: Sequence[Sequence[Rung]]
    ours: bool = False
    reference: bool = False
    share: float = 1.0
    multiple: float = 0.0
    unavailable: str = ""
    needs: float = 0.0
    lesson: str = ""


@dataclass
class Attempt:
    """One rung of the calibration, and what it reached by our judgement."""

    settings: str
    seconds: float
    gap: float
    marginal_error: float
    note: str = ""
    value: float = math.nan


@dataclass
class Record:
    """What became of an entrant in one case; `beside` are the seconds of the reference just before its calibration."""

    name: str
    ours: bool
    reference: bool
    settings: str = ""
    status: Status = "failed"
    seconds: list[float] = field(default_factory=list)
    gap: float = math.nan
    marginal_error: float = math.nan
    certified: float = math.nan
    prepared: float = 0.0
    budget: float = math.nan
    beside: float = math.nan
    note: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    curve: list[tuple[float, float]] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def median(self) -> float:
        return median(self.seconds) if self.seconds else math.nan

    def as_dict(self) -> dict[str, Any]:
        """Plain data, with the median."""
        return {**asdict(self), "median": self.median}


@dataclass
class _Running:
    """An entrant, the rung it runs on, and its record."""

    record: Record
    rung: Rung | None = None
    verdict: Verdict | None = None


def race(
    entrants: Iterable[Entrant],
    judge: Judge,
    reached: Reached,
    *,
    repetitions: int,
    budget: Budget,
    announce: Callable[[str], None] = lambda text: None,
) -> list[Record]:
    """Calibrates all entrants one after the other, the reference first, then times them interleaved."""
    runners: list[_Running] = []
    for entrant in sorted(entrants, key=lambda entrant: not entrant.reference):
        announce(f"calibrating {entrant.name}")
        beside = _beside(runners, judge, reached) if budget.multiple else math.nan
        seconds = budget.of_reference() if entrant.reference else budget.of_others(beside)
        longest = max((s for runner in runners if runner.record.reference for s in _known(runner)), default=0.0)
        seconds = max(entrant.share * seconds, entrant.multiple * longest)
        runners.append(_calibrate(entrant, judge, reached, seconds))
        runners[-1].record.beside = beside
    for repetition in range(repetitions):
        for runner in runners:
            if runner.rung is None or sum(runner.record.seconds) > runner.record.budget:
                continue
            announce(f"{runner.record.name} {repetition + 1}/{repetitions}")
            _repeat(runner, judge, reached)
    for runner in runners:  # the bound may have risen since
        if runner.verdict is not None:
            runner.record.gap = judge.gap(runner.verdict)
        for attempt in runner.record.attempts:
            if math.isfinite(attempt.value):
                attempt.gap = judge.gap(Verdict(attempt.value, attempt.marginal_error))
    return [runner.record for runner in runners]


class Endurance:
    """Remembers who failed or was over budget, so that nobody is sent into a harder case of the same kind in vain.

    `harder(case, other)` says whether `case` is at least as hard as `other`.
    """

    def __init__(self, harder: Callable[[dict[str, Any], dict[str, Any]], bool]) -> None:
        self.harder = harder
        self.lost: list[tuple[str, float, str, dict[str, Any]]] = []

    def admit(self, entrants: Iterable[Entrant], case: dict[str, Any]) -> list[Entrant]:
        """The entrants, with what those need at least that lost an easier case."""
        return [self._admitted(entrant, case) for entrant in entrants]

    def learn(self, records: Iterable[dict[str, Any]], case: dict[str, Any]) -> None:
        """Takes note of who was over which budget, and of who failed, which no budget mends."""
        self.lost += [
            (r["name"], math.inf if r["status"] == "failed" else r["budget"], r["status"], case)
            for r in records
            if r["status"] in {"over budget", "failed"}
        ]

    def _admitted(self, entrant: Entrant, case: dict[str, Any]) -> Entrant:
        lessons = [lesson[1:] for lesson in self.lost if lesson[0] == entrant.name and self.harder(case, lesson[-1])]
        if not lessons or entrant.reference:
            return entrant
        needs, status, other = max(lessons, key=lambda lesson: lesson[0])
        where = ", ".join(f"{key} {value}" for key, value in other.items())
        what = "failed" if status == "failed" else f"over {needs:.3g} s"
        return replace(entrant, needs=needs, lesson=f"not run: {what} already at {where}")


def ratio(record: dict[str, Any], reference: dict[str, Any]) -> tuple[float, bool]:
    """How many times longer than the reference, and whether that is only a lower bound (who was over budget)."""
    if reference["status"] != "reached":
        return math.nan, False
    if record["status"] == "over budget":  # a bound, whatever of the reference's times is the right one
        beside = record.get("beside", math.nan)
        return record["budget"] / max(reference["median"], beside if math.isfinite(beside) else 0.0), True
    if record["status"] != "reached":
        return math.nan, False
    return record["median"] / reference["median"], False


def reference_of(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The record that ratios are relative to."""
    return next(record for record in records if record["reference"])


def _calibrate(entrant: Entrant, judge: Judge, reached: Reached, budget: float) -> _Running:
    record = Record(entrant.name, entrant.ours, entrant.reference, budget=budget)
    best = _Running(record)
    if entrant.unavailable:
        record.status, record.note = "unavailable", entrant.unavailable
        return best
    if entrant.lesson and entrant.needs == math.inf:
        record.note = entrant.lesson
        return best
    if entrant.lesson and entrant.needs >= budget:
        record.status, record.note = "over budget", entrant.lesson
        return best
    fastest = math.inf
    limit = (1.5 if entrant.ours else 1.0) * budget  # ours stop by themselves, after the iteration they are in
    for ladder in entrant.ladders:
        for rung in ladder:
            attempt, answer, verdict, prepared = _attempt(rung, judge, budget, limit)
            if answer is not None and answer.capped and attempt.seconds < budget:  # it was faster than its pace told
                longer = 1.3 * budget / max(attempt.seconds, 1e-3)
                attempt, answer, verdict, prepared = _attempt(rung, judge, budget, limit, longer)
            record.attempts.append(attempt)
            if answer is None or verdict is None:
                if attempt.note.startswith("over budget"):
                    if record.status != "reached":
                        record.status, record.settings, record.note = "over budget", rung.settings, attempt.note
                    break
                continue
            fine = reached(answer, verdict, attempt.gap)
            if fine and attempt.seconds < fastest:
                fastest = attempt.seconds
                best.rung, record.status, record.note = rung, "reached", ""
                _keep(best, rung, answer, verdict, prepared, judge)
            elif record.status != "reached" and _nearer(attempt, record):
                _keep(best, rung, answer, verdict, prepared, judge)
            if fine:
                break
            if attempt.seconds >= budget or (answer.capped and math.isfinite(verdict.value)):
                attempt.note = f"over budget of {min(budget, attempt.seconds):.3g} s"
                if record.status != "reached":  # a cap may have cut it off before its time
                    record.status, record.note = "over budget", attempt.note
                    record.budget = min(budget, attempt.seconds)
                break
        if record.status == "over budget":  # ladders come in the order of promise
            break
    if record.status == "failed":
        record.note = "; ".join(dict.fromkeys(attempt.note for attempt in record.attempts if attempt.note)) or (
            f"no setting reached the target: gap {record.gap:.1e}, marginals off by {record.marginal_error:.1e}"
        )
    return best


def _known(runner: _Running) -> list[float]:
    """The seconds that a runner is known to take."""
    return runner.record.seconds or [attempt.seconds for attempt in runner.record.attempts]


def _beside(runners: Sequence[_Running], judge: Judge, reached: Reached) -> float:
    """Seconds that the reference takes now, which counts as one of its repetitions; NaN if it has none."""
    for runner in runners:
        if runner.record.reference and runner.rung is not None:
            _repeat(runner, judge, reached)
            return runner.record.seconds[-1] if runner.record.seconds else math.nan
    return math.nan


def _attempt(
    rung: Rung, judge: Judge, budget: float, limit: float, stretch: float = 1.0
) -> tuple[Attempt, Answer | None, Verdict | None, float]:
    """Runs a rung once, prepared for `stretch` times its budget, and has it judged."""
    began, prepared = time.perf_counter(), 0.0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with time_limit(max(180.0, 3.0 * budget)):
                prepared = rung.prepare(stretch * budget) if rung.prepare is not None else 0.0
            settle()
            began = time.perf_counter()
            with time_limit(limit):
                answer = rung.run(budget)
            seconds = time.perf_counter() - began
        verdict = judge.judge(answer)
    except OverBudget:
        seconds = time.perf_counter() - began
        return (
            Attempt(rung.settings, seconds, math.nan, math.nan, f"over budget of {budget:.3g} s"),
            None,
            None,
            prepared,
        )
    except Exception as error:  # whatever a competitor raises is its result
        note = f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
        return Attempt(rung.settings, time.perf_counter() - began, math.nan, math.nan, note), None, None, prepared
    gap = judge.gap(verdict)
    note = "" if math.isfinite(verdict.value) else "the plan contains NaN, infinity or negative numbers"
    attempt = Attempt(rung.settings, seconds, gap, verdict.marginal_error, note, verdict.value)
    return attempt, answer, verdict, prepared


def _nearer(attempt: Attempt, record: Record) -> bool:
    """Whether an attempt that did not reach the target came nearer than what is kept."""
    worst = max(attempt.gap, attempt.marginal_error)
    kept = max(record.gap, record.marginal_error)
    return math.isfinite(worst) and not (math.isfinite(kept) and kept <= worst)


def _keep(running: _Running, rung: Rung, answer: Answer, verdict: Verdict, prepared: float, judge: Judge) -> None:
    record = running.record
    running.verdict = verdict
    record.settings, record.prepared = rung.settings, prepared
    record.gap, record.marginal_error, record.certified = judge.gap(verdict), verdict.marginal_error, answer.certified
    record.curve = list(answer.curve) or [
        (seconds, judge.gap(judge.of_plan(plan))) for seconds, plan in answer.snapshots
    ]
    record.extra = dict(answer.notes)


def _repeat(runner: _Running, judge: Judge, reached: Reached) -> None:
    """One timed repetition; the first one's answer has to reach the target again."""
    assert runner.rung is not None
    record = runner.record
    try:
        settle()
        with warnings.catch_warnings(), time_limit(3.0 * record.budget):
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            answer = runner.rung.run(record.budget)
            seconds = time.perf_counter() - began
        verdict = None if record.seconds else judge.judge(answer)
    except OverBudget:
        record.status, record.note, runner.rung = "over budget", f"over budget of {record.budget:.3g} s", None
        return
    except Exception as error:  # the same as in the calibration
        record.status, record.note, runner.rung = "failed", f"{type(error).__name__}: {error}"[:160], None
        return
    if verdict is not None and not reached(answer, verdict, judge.gap(verdict)):
        record.status, record.note, runner.rung = "failed", "reached the target only sometimes", None
        return
    record.seconds.append(seconds)
