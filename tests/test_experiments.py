"""The paper's experiments: resumable, drawn from saved data alone, and verdicts that follow the data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from driftway import ContinuousTransportClassifier, ForwardBackward, solve
from driftway.experiments import claims, figure2, figure3, moons, reproduce, scale, tasks
from driftway.experiments.figure2 import (
    CERTIFIED,
    CGS,
    ENTROPIC,
    INDEPENDENT,
    PAPER,
    PROCESSOR,
    WALL,
    Case,
    Figure2,
    Run,
)
from driftway.experiments.figure3 import KINDS, METRICS, Curves, Figure3, Method, Setting
from driftway.experiments.page import Results, page
from driftway.experiments.tasks import MissingDataError, Store, Task
from driftway.experiments.timing import TimedSolver
from driftway.experiments.verdicts import CONDITIONAL, CONFIRMED, REFUTED, UNDECIDED, Claim, Observation

TINY = scale.Scale(
    sizes=(40, 30),
    seconds=0.05,
    other_seconds=0.02,
    repetitions=2,
    strengths={"euclidean": (0.3, 0.4), "sqeuclidean": (0.8,)},
    time_weights=(0.3,),
    label_weights=(0.3,),
    validations=1,
    runs=2,
    horizons=(2, 3),
)
ALL = ("figure1", "figure2", "figure3")


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything small enough for a test, the quick version too."""
    import driftway.experiments as experiments

    monkeypatch.setattr(experiments, "FULL", TINY)
    monkeypatch.setattr(experiments, "QUICK", replace(TINY, runs=3))
    monkeypatch.setattr(figure2, "WARM_UP", (20, 15))
    monkeypatch.setattr(figure3, "SOURCE", 60)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def forbid(monkeypatch: pytest.MonkeyPatch) -> None:
    """No task may be computed from here on."""

    def computed(**settings: Any) -> Any:
        raise AssertionError(f"computed again: {settings}")

    for module, name in (
        (figure2, "run_solver"),
        (figure2, "run_reference"),
        (figure3, "run_settings"),
        (figure3, "run_default"),
        (figure3, "run_unadapted"),
    ):
        monkeypatch.setattr(module, name, computed)


# The data


def test_targets_turn_about_the_origin_by_18_degrees() -> None:
    plain, turned = (moons.turned_moons(50, degrees, seed=3)[0] for degrees in (0.0, 18.0))
    angles = np.angle((turned[:, 0] + 1j * turned[:, 1]) / (plain[:, 0] + 1j * plain[:, 1]), deg=True)
    np.testing.assert_allclose(angles, 18.0, atol=1e-9)
    stream = moons.rotating_moons(5, n=400, m=400, steps=10)
    # After ten steps the moons are upside down.
    np.testing.assert_allclose(stream.batches[-1][0].mean(axis=0), -stream.source[0].mean(axis=0), atol=0.05)


def test_a_shorter_stream_is_the_beginning_of_a_longer_one_and_no_sample_comes_twice() -> None:
    short, long = (moons.rotating_moons(5, n=20, m=10, steps=steps) for steps in (3, 6))
    for ours, theirs in zip([*short.batches, *short.fresh], [*long.batches[:3], *long.fresh[:3]], strict=True):
        np.testing.assert_array_equal(ours[0], theirs[0])
    radii = np.concatenate([np.linalg.norm(X, axis=1) for X, _ in [long.source, *long.batches, *long.fresh]])
    assert np.unique(radii.round(12)).size == radii.size


def test_validation_and_test_streams_have_different_seeds() -> None:
    for size in (scale.FULL, scale.QUICK):
        validation = {seed for task in figure3.validation_tasks(size) for seed in task.settings["seeds"]}
        reported = {scale.TEST_SEED + k for k in range(size.runs)}
        assert validation
        assert not validation & reported


# Tasks and their storage


def doubled(*, number: int) -> tasks.Arrays:
    return {"doubled": np.array([2 * number])}


def test_what_is_saved_belongs_to_its_settings_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, task = Store(tmp_path), Task("twice", doubled, {"number": 3})
    store.save(task, task.compute())
    np.testing.assert_array_equal(store.load(task)["doubled"], [6])
    assert not store.has(Task("twice", doubled, {"number": 4}))
    assert not store.has(Task("thrice", doubled, {"number": 3}))
    other = Task("twice", doubled, {"number": 5})
    (tmp_path / task.file).rename(tmp_path / other.file)
    with pytest.raises(MissingDataError, match="the data of other settings"):
        store.load(other)
    (tmp_path / other.file).rename(tmp_path / task.file)
    monkeypatch.setattr(tasks, "FORMAT", tasks.FORMAT + 1)
    assert not store.has(task)


def test_a_damaged_file_counts_as_none(tmp_path: Path) -> None:
    store, task = Store(tmp_path), Task("twice", doubled, {"number": 3})
    store.save(task, task.compute())
    path = tmp_path / task.file
    path.write_bytes(path.read_bytes()[:50])
    store.compute([task], jobs=1, progress=False, label="")
    np.testing.assert_array_equal(store.load(task)["doubled"], [6])


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    store, task = Store(tmp_path), Task("objects", doubled, {"number": 3})
    with pytest.raises(ValueError, match="Object arrays"):
        store.save(task, {"objects": np.array([{}])})
    assert not list(tmp_path.iterdir())


def test_tasks_run_wherever_joblib_is_pointed(tmp_path: Path) -> None:
    store, every = Store(tmp_path), [Task("twice", doubled, {"number": number}) for number in range(7)]
    with joblib.parallel_config(backend="threading"):
        store.compute(every, jobs=3, progress=False, label="")
    assert [int(store.load(task)["doubled"][0]) for task in every] == [0, 2, 4, 6, 8, 10, 12]


# The whole


@pytest.mark.usefixtures("tiny")
def test_a_second_run_draws_the_same_bytes_without_solving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    made = reproduce(ALL, tmp_path, jobs=1)
    before = contents(tmp_path)
    assert {path.name for path in made} == {
        "figure1.png",
        "figure2.png",
        "figure2_normalisation.png",
        "figure3_2.png",
        "figure3_3.png",
        "reproduction.md",
    }
    assert all(path.read_bytes() for path in made)
    forbid(monkeypatch)
    for path in made:
        path.unlink()
    import matplotlib as mpl

    with mpl.rc_context({"lines.linewidth": 7.0, "font.size": 20.0}):  # somebody's own configuration
        assert reproduce(ALL, tmp_path, jobs=1) == made
    assert contents(tmp_path) == before
    reproduce(["figure2"], tmp_path, jobs=1, redraw=True)
    assert contents(tmp_path) == before
    with pytest.raises(AssertionError, match="computed again"):  # the quick version has other settings
        reproduce(["figure3"], tmp_path, quick=True, jobs=1)


@pytest.mark.usefixtures("tiny")
def test_what_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    done: list[Any] = []
    run = figure3.run_settings

    def counted(**settings: Any) -> tasks.Arrays:
        if len(done) == 7:
            raise KeyboardInterrupt
        done.append(settings)
        return run(**settings)

    monkeypatch.setattr(figure3, "run_settings", counted)
    with pytest.raises(KeyboardInterrupt):
        reproduce(["figure3"], tmp_path / "stopped", jobs=1)
    monkeypatch.setattr(figure3, "run_settings", lambda **settings: (done.append(settings), run(**settings))[1])
    reproduce(["figure3"], tmp_path / "stopped", jobs=1)
    keys = [repr(settings) for settings in done]
    assert len(keys) == len(set(keys)) > 7
    reproduce(["figure3"], tmp_path / "straight", jobs=1)
    stopped, straight = (contents(tmp_path / name) for name in ("stopped", "straight"))
    assert {name: stopped[name] for name in stopped if "data" not in name} == {
        name: straight[name] for name in straight if "data" not in name
    }
    assert stopped.keys() == straight.keys()


@pytest.mark.slow
def test_a_killed_process_goes_on(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    command = [
        sys.executable,
        "-c",
        "import sys; from driftway.experiments import reproduce as r; r(['figure3'], sys.argv[1], quick=True, jobs=2)",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, start_new_session=True)
    deadline = time.monotonic() + 300
    while len(list(tmp_path.glob("data/*.npz"))) < 4:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("data/*.npz")}
    subprocess.run(command, check=True)
    assert (tmp_path / "reproduction.md").exists()
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


@pytest.mark.usefixtures("tiny")
def test_redrawing_needs_data_and_arguments_are_checked(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    with pytest.raises(MissingDataError, match="figure1"):
        reproduce(["figure1"], tmp_path, redraw=True)
    with pytest.raises(ValueError, match="figure4"):
        reproduce(["figure4"], tmp_path)
    with pytest.raises(ValueError, match="jobs"):
        reproduce(["figure1"], tmp_path, jobs=0)


@pytest.mark.usefixtures("tiny")
def test_a_missing_extra_is_named_before_anything_is_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"driftway\[experiments\]"):
        reproduce(["figure1"], tmp_path)
    assert not list(tmp_path.iterdir())


# Figure 2


def test_timing_changes_nothing_and_counts_the_iterations_only() -> None:
    problem = figure2.figure2_problem(0.05, "coupling", 60, 40)
    timed = TimedSolver(ForwardBackward(), budget=100.0)
    ours, plain = solve(problem, timed, callback=timed.is_over), solve(problem, ForwardBackward())
    assert ours.value == plain.value
    assert ours.n_iter == plain.n_iter == len(timed.seconds) - 1
    assert timed.objective[-1] == pytest.approx(ours.value, rel=1e-9)
    assert min(timed.objective) >= ours.lower_bound - 1e-12
    assert np.all(np.diff(timed.wall) > 0)
    assert np.all(np.diff(timed.seconds) >= 0)
    assert timed.wall[-1] < ours.trace.seconds[-1]
    assert np.array_equal(timed.certified, ours.trace.gap)
    assert len(timed.counted) == len(timed.seconds)
    assert np.all(np.array(timed.counted) >= np.array(timed.seconds))


def test_a_run_knows_when_it_got_where() -> None:
    gaps = np.array([1.0, 1e-2, 1e-4, 1e-5]), np.array([1.5, 3.0, 6.0, 9.0])
    seconds = np.array([1.0, 2.0, 4.0, 6.0])
    run = Run(seconds, 3.0 * seconds, np.array([1.0, 1e-3, 1e-5, 1e-7]), np.empty(0), *gaps)
    assert (run.seconds_to(1e-4, PROCESSOR), run.seconds_to(1e-4, WALL)) == (4.0, 12.0)
    assert run.seconds_to(1e-4, CERTIFIED) == 6.0
    assert (run.iterations_to(1e-4), run.seconds_per_iteration) == (2.0, 2.0)
    assert run.seconds_to(1e-8, WALL) == run.iterations_to(1e-8) == np.inf


def made_up_race(
    paper: float,
    cgs: dict[Case, float] | float,
    *,
    descends: bool = True,
    search: float = 0.5,
    load: float = 1.0,
    wall: dict[str, float] | None = None,
) -> Figure2:
    """Algorithm 1 needs `paper` seconds in every panel, CGS what is said; an infinite time never arrives.

    `wall` is what a second of processor time takes on the wall, by solver.
    """
    runs, wall = {}, wall or {}
    for case in figure2.cases():
        times = {PAPER: paper, CGS: cgs[case] if isinstance(cgs, dict) else cgs}
        for solver in figure2.solvers_of(case):
            total = times.get(solver, 1.0)
            end = 1e-8 if np.isfinite(total) else 1e-3
            if solver == PAPER and case.normalization != figure2.MEANT and not descends:
                end = 5.0
            seconds = (total if np.isfinite(total) else 100.0) * np.array([0.25, 0.5, 1.0])
            searches = np.array([search]) if solver == CGS else np.empty(0)
            objective = np.array([1.0, 1e-2, end])
            wall_seconds = wall.get(solver, 1.0) * seconds
            runs[case, solver] = [Run(seconds, wall_seconds, objective, searches, objective, seconds)]
    optimum = {case[:2]: (1.0, 1.0) for case in figure2.cases()}
    return Figure2(runs, optimum, (5000, 1000), 100.0, 2, load)


def by_start(entropic: tuple[float, float], independent: tuple[float, float]) -> dict[Case, float]:
    times = {ENTROPIC: entropic, INDEPENDENT: independent}
    return {case: times[case.start][figure2.STRENGTHS.index(case.strength)] for case in figure2.cases()}


@pytest.mark.parametrize(
    ("paper", "cgs", "faster", "especially"),
    [
        (1.0, by_start((2.0, 4.0), (2.0, 4.0)), CONFIRMED, CONFIRMED),
        (1.0, by_start((4.0, 2.0), (4.0, 2.0)), CONFIRMED, REFUTED),
        (1.0, by_start((2.0, 4.0), (0.5, 0.5)), CONDITIONAL, CONDITIONAL),
        (1.0, by_start((0.5, 0.5), (0.5, 0.5)), REFUTED, REFUTED),
        (1.0, by_start((2.0, np.inf), (2.0, np.inf)), CONFIRMED, CONFIRMED),  # cut off after 100 times as long
        (np.inf, np.inf, UNDECIDED, UNDECIDED),
        (np.inf, 1.0, REFUTED, REFUTED),
    ],
)
def test_verdicts_on_speed_follow_the_data(paper: float, cgs: Any, faster: str, especially: str) -> None:
    found = claims.speed_claims(made_up_race(paper, cgs))
    assert [claim.verdict for claim in found[:2]] == [faster, especially]


def test_the_condition_is_the_factor_that_decides() -> None:
    faster = claims.speed_claims(made_up_race(1.0, by_start((2.0, 4.0), (0.5, 0.5))))[0]
    assert faster.condition == "it holds for a start at the entropic plan"
    times = {case: 2.0 if case.strength == 0.01 else 0.5 for case in figure2.cases()}
    assert claims.speed_claims(made_up_race(1.0, times))[0].condition == "it holds for λ = 0.01"
    mixed = by_start((2.0, 0.5), (0.5, 0.5))
    one = claims.speed_claims(made_up_race(1.0, mixed))[2].condition
    assert one == "it holds for a start at the entropic plan, λ = 0.5"
    most = by_start((2.0, 2.0), (0.5, 2.0))
    assert claims.speed_claims(made_up_race(1.0, most))[2].condition == (
        "it holds everywhere but for a start at a⊗b, λ = 0.5"
    )
    threaded = made_up_race(1.0, 0.8, wall={PAPER: 0.5})
    assert claims.speed_claims(threaded)[0].condition == "it holds for wall time"


def test_iterations_and_line_searches_are_judged() -> None:
    # An iteration takes half the time to the end: 0.5 s against 1.5 s, so a search of 0.5 s explains half of the rest.
    cheaper, cause = claims.speed_claims(made_up_race(1.0, 3.0, search=0.5))[2:4]
    assert (cheaper.verdict, cause.verdict) == (CONFIRMED, CONFIRMED)
    cheaper, cause = claims.speed_claims(made_up_race(1.0, 3.0, search=0.1))[2:4]
    assert (cheaper.verdict, cause.verdict) == (CONFIRMED, REFUTED)
    cheaper, cause = claims.speed_claims(made_up_race(3.0, 1.0))[2:4]
    assert (cheaper.verdict, cause.verdict) == (REFUTED, REFUTED)


def test_the_normalisation_question_is_answered_by_what_descends() -> None:
    some, every = (made_up_race(1.0, 2.0, descends=descends) for descends in (False, True))
    assert claims.speed_claims(some)[4].condition == "it holds for the normalisation `coupling`"
    assert claims.speed_claims(every)[4].verdict == CONFIRMED
    assert "only `coupling` can be" in page(Results(some, None, ()))
    assert "all of them can be" in page(Results(every, None, ()))


def test_on_a_busy_machine_the_wall_clock_decides_nothing() -> None:
    threads = {PAPER: 0.5}
    busy = claims.speed_claims(made_up_race(1.0, 0.8, load=9.0, wall=threads))
    assert [claim.verdict for claim in busy[:2]] == [REFUTED, REFUTED]
    assert claims.speed_claims(made_up_race(1.0, 0.8, load=1.5, wall=threads))[0].verdict == CONDITIONAL


def test_the_page_says_whether_the_machine_was_busy() -> None:
    assert "little else to do" in page(Results(made_up_race(1.0, 2.0), None, ()))
    assert "on average 7.5 processes" in page(Results(made_up_race(1.0, 2.0, load=7.5), None, ()))


# Figure 3


def test_the_paper_s_method_is_what_the_estimator_does() -> None:
    stream = moons.rotating_moons(7, n=80, m=30, steps=4)
    for cost in figure3.COSTS:
        for metric, setting in (("euclidean", Setting(0.4, 0.3, 0.0)), ("sqeuclidean", Setting(0.8, 0.5, 1.0))):
            model = ContinuousTransportClassifier(
                cost=cost,
                metric=metric,
                epsilon=setting.strength,
                relative_epsilon=False,
                scale=None,
                time_weight=setting.time_weight,
                label_weight=setting.label_weight,
                map="barycentric",
                motion=None,
                labels="classifier",
                stay=False,
            ).fit(*stream.source)
            scores = []
            for (Y, _), fresh in zip(stream.batches, stream.fresh, strict=True):
                scores.append(model.partial_fit(Y).score(*fresh))
            accuracy, _, converged = figure3.adapt(stream, metric, cost, setting)
            assert converged
            np.testing.assert_allclose(accuracy, scores, atol=0.004)  # points between two equally near neighbours


def test_only_certified_settings_are_chosen() -> None:
    a, b, c = (Setting(strength, 0.1, 0.0) for strength in (0.1, 0.2, 0.3))
    assert figure3.choose([(a, 0.9, True), (b, 0.99, False), (c, 0.95, True)]) == c
    with pytest.raises(ValueError, match="solved to tolerance"):
        figure3.choose([(a, 0.9, False)])


def test_a_choice_at_the_end_of_the_grid_is_told() -> None:
    grid = replace(TINY, time_weights=(0.1, 0.3, 1.0), label_weights=(0.3, 1.0, 3.0))
    assert figure3.edges(Setting(0.3, 1.0, 1.0), "both", (0.2, 0.3, 0.4), grid) == ("η_t",)
    assert figure3.edges(Setting(0.2, 0.3, 0.0), "time", (0.2, 0.3, 0.4), grid) == ("λ",)
    assert figure3.edges(Setting(0.3, 0.0, 0.0), "both", (0.2, 0.3, 0.4), grid) == ()


def test_every_strategy_may_choose_what_a_simpler_one_may() -> None:
    grids = {kind: set(figure3.settings_of(kind, 0.4, scale.FULL)) for kind in KINDS}
    assert grids["none"] < grids["time"] < grids["both"]
    assert grids["none"] < grids["class"] < grids["both"]


def made_up_accuracies(**levels: tuple[float, float]) -> Figure3:
    """Constant accuracies by regulariser: sequential and static."""
    methods = {}
    for metric in METRICS:
        for kind in KINDS:
            for cost, level in zip(figure3.COSTS, levels.get(kind, (0.9, 0.5)), strict=True):
                moves = np.full((2, 10), {"time": 0.1}.get(kind, 0.2))
                curves = Curves(np.full((2, 10), level), moves, True, Setting(0.4, 0.1, 0.1))
                methods[10, Method(metric, cost, kind)] = curves
    rest = {10: Curves(np.full((2, 10), 0.5), np.zeros((2, 10)), True)}
    return Figure3(methods, rest, rest, 2, 1)


def verdicts(figure: Figure3) -> list[str]:
    return [claim.verdict for claim in claims.adaptation_claims(figure)]


def test_verdicts_on_adaptation_follow_the_data() -> None:
    as_claimed = made_up_accuracies(time=(0.99, 0.5), **{"class": (0.8, 0.5)})
    assert verdicts(as_claimed) == [CONFIRMED] * 5
    assert verdicts(made_up_accuracies(time=(0.4, 0.5))) == [REFUTED, CONFIRMED, CONFIRMED, REFUTED, REFUTED]
    assert verdicts(made_up_accuracies(time=(0.99, 0.5), **{"class": (0.999, 0.5)}))[1::3] == [REFUTED, REFUTED]
    one = Method("sqeuclidean", "sequential", "time")
    dipped = as_claimed.methods[10, one].accuracy.copy()
    dipped[:, 6] = 0.9
    as_claimed.methods[10, one] = replace(as_claimed.methods[10, one], accuracy=dipped, moves=np.ones((2, 10)))
    assert verdicts(as_claimed) == [CONFIRMED, CONFIRMED, CONDITIONAL, CONDITIONAL, CONFIRMED]
    assert claims.adaptation_claims(as_claimed)[3].condition == "it holds for euclidean"


# The page


def test_the_page_says_what_the_data_say() -> None:
    race, accuracies = made_up_race(1.0, 3.0), made_up_accuracies(time=(0.987, 0.5))
    text = page(Results(race, accuracies, (Path("x/figure1.png"), Path("x/figure2.png"))))
    for claim in [*claims.speed_claims(race), *claims.adaptation_claims(accuracies)]:
        assert f"| {claim.quote} | **{claim.verdict}**" in text
        assert all(each.measured in text for each in claim.observations)
    assert all(part in text for part in ("98.7 / 98.7", "(figures/figure1.png)", "**2 in this run**"))
    assert "Every plan of every run is certified" in text
    first = next(iter(accuracies.methods))
    accuracies.methods[first] = replace(accuracies.methods[first], converged=False)
    assert "some plan was **not** solved" in page(Results(None, accuracies, ()))


def test_a_claim_without_a_decision_is_undecided() -> None:
    claim = Claim("“…”", "nothing", [Observation({"x": "a"}, "–", None)])
    assert (claim.verdict, claim.condition) == (UNDECIDED, "")
