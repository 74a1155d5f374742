"""The tracker: faults change nothing, jumps are followed, restarts go on to the same bits, and it says what moved."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from benchmarks.streams import rotated_digits
from driftway import AdaptationWarning, ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation.hypotheses.hypothesis import Expectation
from driftway.adaptation.tracker import resampled
from driftway.adaptation.tracker_arrays import packed

Array = np.ndarray
Stream = tuple[Array, Array, list[tuple[Array, Array]]]


@pytest.fixture(autouse=True)
def silence() -> Iterator[None]:
    """Faults and jumps warn, which is not what most tests here are about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdaptationWarning)
        yield


def blobs(steps: int, seed: int, size: int = 80) -> Stream:
    """Two classes in the plane whose features age."""
    rng = np.random.default_rng(seed)

    def draw(n: int, t: int) -> tuple[Array, Array]:
        y = rng.permutation(np.arange(n) % 2)
        return (rng.normal(size=(n, 2)) + 3.0 * y[:, None] * [1, 0.5]) * (1 + 0.02 * t) + 0.05 * t, y

    X, y = draw(120, 0)
    return X, y, [draw(size, t) for t in range(1, steps + 1)]


def table(load: object, steps: int, seed: int, size: int = 60) -> Stream:
    """A source from one half of a table, and batches drawn from the other half, with features that age."""
    rng, (X, y) = np.random.default_rng(seed), load(return_X_y=True)  # type: ignore[operator]
    order = rng.permutation(len(y))
    X, y = X[order], y[order]
    half, spread, way = len(y) // 2, X.std(axis=0), rng.normal(size=(2, X.shape[1]))
    batches = []
    for t in range(1, steps + 1):
        rows = rng.integers(half, len(y), size=size)
        jitter = 0.05 * spread * rng.normal(size=(size, X.shape[1]))
        batches.append(((X[rows] + jitter) * np.exp(0.01 * t * way[0]) + 0.02 * t * spread * way[1], y[rows]))
    return X[:half], y[:half], batches


STREAMS = {
    "plane": blobs,
    "iris": lambda steps, seed: table(load_iris, steps, seed),
    "wine": lambda steps, seed: table(load_wine, steps, seed),
}


def far(B: Array, rng: np.random.Generator) -> Array:
    return B + 20.0 * B.std(axis=0)


def tenfold(B: Array, rng: np.random.Generator) -> Array:
    return 10.0 * B


def half_away(B: Array, rng: np.random.Generator) -> Array:
    away = (np.arange(len(B)) % 2 == 0)[:, None]
    return B + 20.0 * B.std(axis=0) * away


def noise(B: Array, rng: np.random.Generator) -> Array:
    return rng.uniform(-10.0, 10.0, size=B.shape) * B.std(axis=0) + B.mean(axis=0)


def spiked(n: int, seed: int) -> Array:
    """A tenth of the points at another place, and the rest nearly at one: no gain makes this of classes."""
    there = np.where((np.arange(n) % 10 == 0)[:, None], 1e4, 0.0)
    return there + 0.1 * np.random.default_rng(seed).normal(size=(n, 2))


def fitted(X: Array, y: Array, **given: object) -> ContinuousTransportClassifier:
    return ContinuousTransportClassifier(LogisticRegression(max_iter=500), **given).fit(X, y)


def state(model: ContinuousTransportClassifier) -> dict[str, Array]:
    return packed(model._tracker, model._state, ())


class TestFaults:
    @pytest.mark.parametrize("fault", [far, tenfold, half_away, noise])
    @pytest.mark.parametrize("name", STREAMS)
    def test_two_batches_later_nothing_is_left_of_one(self, name: str, fault: object) -> None:
        lost = []
        for seed in range(2):
            X, y, batches = STREAMS[name](8, seed)
            whole, hurt = fitted(X, y), fitted(X, y)
            for number, (B, _) in enumerate(batches):
                whole.partial_fit(B)
                hurt.partial_fit(fault(B, np.random.default_rng(seed)) if number == 5 else B)  # type: ignore[operator]
            B, z = batches[-1]
            lost.append(whole.score(B, z) - hurt.score(B, z))
        assert np.mean(lost) <= 0.01

    def test_an_unexplained_batch_changes_no_belief_and_no_map_and_a_second_one_does(self) -> None:
        X, y, batches = blobs(6, 0)
        model = fitted(X, y, hypotheses="sensors")
        for B, _ in batches[:5]:
            model.partial_fit(B)
        odd = [spiked(200, seed) for seed in (0, 1)]
        before = state(model)
        kept = [name for name in before if name.split(".")[0] in ("state", "beliefs", "heard", "carried", "rivalry")]
        with pytest.warns(AdaptationWarning, match="no hypothesis explains the batch"):
            model.partial_fit(odd[0])
        after = state(model)
        assert kept
        for name in kept:
            np.testing.assert_array_equal(after[name], before[name], err_msg=name)
        assert model._state.aside
        assert np.isfinite(model.predict_proba(odd[0])).all()
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            model.partial_fit(odd[1])
        assert not any("has changed nothing" in str(each.message) for each in said)
        assert not model._state.aside
        assert any((state(model)[name] != before[name]).any() for name in kept if name.startswith("state"))

    def test_a_jump_is_followed(self) -> None:
        X, y, batches = blobs(12, 1)
        model, clean = fitted(X, y), fitted(X, y)
        away = np.array([25.0, -40.0])
        found, wanted = [], []
        for number, (B, z) in enumerate(batches):
            C = B + away if 4 <= number < 8 else B
            found.append(model.partial_fit(C).score(C, z))
            wanted.append(clean.partial_fit(B).score(B, z))
        assert np.mean(found[5:8]) >= np.mean(wanted[5:8]) - 0.01
        assert np.mean(found[9:]) >= np.mean(wanted[9:]) - 0.01


class TestWeights:
    def test_points_come_as_often_as_their_weights_say(self) -> None:
        rng = np.random.default_rng(0)
        batch, b = np.arange(60.0)[:, None], rng.dirichlet(np.ones(60))
        counts = np.bincount(resampled(batch, b)[:, 0].astype(int), minlength=60)
        assert counts.sum() == 60
        assert (np.abs(counts - 60 * b) < 1).all()
        assert resampled(batch, np.full(60, 1 / 60)) is batch

    def test_weights_stand_for_another_mix(self) -> None:
        rng = np.random.default_rng(1)
        y = np.arange(150) % 2
        X = rng.normal(size=(150, 2)) + 4.0 * y[:, None]
        weights = np.where(y == 0, 4.0, 1.0)
        model = fitted(X, y)
        for _ in range(4):
            model.partial_fit(X + 0.01 * rng.normal(size=X.shape), sample_weight=weights)
        assert model._voices[0].fit.mix[0] == pytest.approx(0.8, abs=0.07)
        assert model.history_["class_shift"][-1] == pytest.approx(0.3, abs=0.07)
        np.testing.assert_allclose(model.batch_proba_.sum(axis=1), 1.0)
        assert model.batch_proba_.shape == (150, 2)


def turning(steps: int, d: int = 2, degrees: float = 15.0, size: int = 60, seed: int = 0) -> Stream:
    """Classes that turn about their common middle, in the first two of d dimensions."""
    rng = np.random.default_rng(seed)

    def draw(n: int, t: int) -> tuple[Array, Array]:
        y, angle = rng.permutation(np.arange(n) % 2), np.deg2rad(degrees * t)
        X = rng.normal(size=(n, d)) * ([0.4, 1.0] + [1.0] * (d - 2))
        X[:, 0] += 3.0 * (2 * y - 1)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        X[:, :2] = X[:, :2] @ turn
        return X, y

    X, y = draw(120, 0)
    return X, y, [draw(size, t) for t in range(1, steps + 1)]


def quarantined(steps: int) -> Stream:
    X, y, batches = blobs(steps, 3)
    batches[3] = (spiked(150, 0), np.zeros(150, dtype=int))
    return X, y, batches


class TestRestarts:
    @pytest.mark.parametrize(
        ("stream", "stops", "tracks"),
        [
            (blobs(7, 0), (1, 4), {"still", "sensors", "sensors and mix"}),
            (table(load_wine, 7, 0), (1, 5), {"still", "sensors", "sensors and mix"}),
            (turning(8), (2, 5), {"affine", "slow affine", "free", "turn", "clusters"}),
            (turning(12, d=5), (3, 8), {"still", "sensors", "sensors and mix"}),
            (quarantined(8), (4, 5), {"still", "sensors", "sensors and mix"}),
        ],
        ids=["sensors", "two views", "transport", "transport at rest", "quarantine"],
    )
    def test_they_go_on_to_the_same_bits(
        self, stream: Stream, stops: tuple[int, ...], tracks: set[str], tmp_path: Path
    ) -> None:
        X, y, batches = stream
        whole, resumed = fitted(X, y), []
        for number, (B, _) in enumerate(batches, 1):
            whole.partial_fit(B)
            for each in resumed:
                each.partial_fit(B)
                np.testing.assert_array_equal(each.predict_proba(B), whole.predict_proba(B))
                np.testing.assert_array_equal(each.images_, whole.images_)
                np.testing.assert_array_equal(each.batch_proba_, whole.batch_proba_)
                assert each.explain() == whole.explain()
            if number in stops:
                whole.save(tmp_path / "state.npz")
                resumed.append(ContinuousTransportClassifier.load(tmp_path / "state.npz"))
                np.testing.assert_array_equal(resumed[-1].predict_proba(B), whole.predict_proba(B))
                assert resumed[-1].explain() == whole.explain()
        for each in resumed:
            ours, theirs = state(each), state(whole)
            assert ours.keys() == theirs.keys()
            for name, array in ours.items():
                np.testing.assert_array_equal(array, theirs[name], err_msg=name)
        assert whole.history_["track"][-1] in tracks

    @pytest.mark.parametrize("hypotheses", ["auto", "transport"])
    def test_transport_that_wakes_begins_where_it_would_have(self, hypotheses: str, tmp_path: Path) -> None:
        X, y, batches = turning(4)
        model = fitted(X, y, hypotheses=hypotheses)
        for B, _ in batches:
            model.partial_fit(B)
        model.save(tmp_path / "state.npz")
        again = ContinuousTransportClassifier.load(tmp_path / "state.npz")
        places = Expectation(X + 0.5, np.full(len(X), 1 / len(X)))
        ours, theirs = (vars(each._tracker.transport.restarted(places)) for each in (again, model))
        for name in set(ours) - {"heaps"}:
            np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
        assert (ours["heaps"] is None) == (theirs["heaps"] is None)
        for name, array in vars(ours["heaps"]).items() if ours["heaps"] is not None else ():
            np.testing.assert_array_equal(array, vars(theirs["heaps"])[name], err_msg=name)

    def test_a_regression_too(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(100, 3))
        model = ContinuousTransportRegressor().fit(X, X @ [1, 2, 3])
        model.partial_fit(X + 0.3).save(tmp_path / "state")
        again = ContinuousTransportRegressor.load(tmp_path / "state")
        for t in (2, 3):
            np.testing.assert_array_equal(
                again.partial_fit(X + 0.3 * t).predict(X), model.partial_fit(X + 0.3 * t).predict(X)
            )
        assert again.explain() == model.explain()


class TestExplanations:
    @pytest.mark.parametrize("hypotheses", ["auto", "sensors", "transport"])
    def test_the_feature_that_moved_is_named(self, hypotheses: str) -> None:
        pandas = pytest.importorskip("pandas")
        X, y, _ = table(load_iris, 1, 0)
        names = ["sepal length", "sepal width", "petal length", "petal width"]
        model = ContinuousTransportClassifier(LogisticRegression(max_iter=500), hypotheses=hypotheses)
        model.fit(pandas.DataFrame(X, columns=names), y)
        assert model.explain() == "no batch has come since the source"
        rng = np.random.default_rng(1)
        for t in (1, 2, 3, 4, 5):
            B = X + 0.05 * X.std(axis=0) * rng.normal(size=X.shape)
            B[:, 1] += 0.4 * t * X[:, 1].std()
            model.partial_fit(pandas.DataFrame(B, columns=names))
        told = model.explain()
        assert told.startswith("since the source, sepal width rose by ")
        moved = model._voices[0].fit.explain()
        assert 0.5 < moved.shift[1] < 2.3  # the truth is 2, which a feature that moves alone is slow to reach
        assert np.abs(np.delete(moved.shift, 1)).max() < 0.4

    def test_where_nothing_moved_it_says_so(self) -> None:
        X, y, _ = blobs(1, 0)
        model = fitted(X, y)
        for _ in range(3):
            model.partial_fit(X)
        assert model.explain() == "nothing moved since the source"

    def test_a_dead_feature_is_named_in_a_warning(self) -> None:
        X, y, _ = table(load_iris, 1, 0)
        model = fitted(X, y).partial_fit(X)
        stuck = X.copy()
        stuck[:, 2] = stuck[0, 2]
        with pytest.warns(AdaptationWarning, match="feature 2 stand still"):
            model.partial_fit(stuck)


def test_codes_are_not_moved() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(140) % 2
    X = np.column_stack([rng.normal(size=140) + 3 * y, rng.integers(2, size=140), rng.normal(size=140)])
    model = fitted(X, y, hypotheses="sensors")
    for t in (1, 2, 3):
        B = X + t * np.array([1.0, 0.0, 0.5])
        B[:, 1] = rng.random(140) < 0.1
        model.partial_fit(B)
    np.testing.assert_allclose(model.images_[:, 1], X[:, 1], atol=1e-12)
    assert np.abs(model.images_[:, 0] - X[:, 0]).mean() > 0.5


def test_a_code_with_other_values_is_a_measurement() -> None:
    rng = np.random.default_rng(0)

    def draw(n: int) -> tuple[Array, Array]:
        y = rng.integers(2, size=n)
        return np.column_stack([rng.random((n, 3)) < 0.15 + 0.7 * y[:, None], rng.normal(size=n)]).astype(float), y

    model = fitted(*draw(200), hypotheses="sensors")
    for t in range(1, 6):
        B, truth = draw(150)
        B[:, :3] = (B[:, :3] + 0.02 * rng.normal(size=(150, 3))) * (1 + 0.2 * t) + 0.3 * t
        assert model.partial_fit(B).score(B, truth) > 0.8
    B, truth = draw(150)
    assert model.partial_fit(B).score(B, truth) > 0.8  # codes again


def test_it_is_never_asked_for_what_it_was_not_given() -> None:
    X, y, batches = blobs(3, 0)
    for given, panels, transport in (("sensors", True, False), ("transport", False, True), ("auto", True, True)):
        model = fitted(X, y, hypotheses=given)
        for B, _ in batches:
            model.partial_fit(B)
        assert bool(model._tracker.panels) == panels
        assert (model._tracker.transport is not None) == transport
        assert model.score(*batches[-1]) > 0.9
    for asked in ({"map": "affine", "motion": None}, {"cost": "static"}, {"labels": "plan"}, {"source": "renewed"}):
        assert not fitted(X, y, **asked)._tracker.panels
    with pytest.raises(ValueError, match="hypotheses"):
        fitted(X, y, hypotheses="none")


def test_a_loaded_stream_returns_to_the_source_as_the_other_does(tmp_path: Path) -> None:
    X, y, batches = blobs(6, 0)
    model = fitted(X, y)
    for B, _ in batches[:3]:
        model.partial_fit(B)
    model.partial_fit(batches[3][0] + 60.0)
    model.save(tmp_path / "state")
    again = ContinuousTransportClassifier.load(tmp_path / "state")
    for later in (X + 60.0, X, X + 0.1):
        for each in (model, again):
            each.partial_fit(later)
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("factor", [0.1, 1e3, 1e6])
def test_a_change_of_units_is_followed(factor: float) -> None:
    X, y, batches = blobs(8, 0)
    model = fitted(X, y)
    for t, (B, _) in enumerate(batches):
        model.partial_fit(B * [factor if t > 2 else 1.0, 1.0])
    assert model.score(batches[-1][0] * [factor, 1.0], batches[-1][1]) > 0.9


def test_a_code_that_is_the_same_in_all_rows_is_not_dead() -> None:
    X, y, batches = blobs(3, 0)
    rng = np.random.default_rng(0)
    model = fitted(np.column_stack([X, rng.random(len(X)) < 0.1]), y)
    for B, _ in batches:
        model.partial_fit(np.column_stack([B, np.zeros(len(B))]))
    assert not any("stand still" in warning for warning in model.history_["warning"])


def test_it_says_when_answers_hang_on_what_cannot_be_known() -> None:
    """Classes that overlap, in another mix while sensors age: a map alone explains that as well as a map and a mix."""
    drifting, quiet = [], []
    for seed in range(3):
        rng = np.random.default_rng(seed)

        def draw(n: int, share: float, rng: np.random.Generator = rng) -> tuple[Array, Array]:
            y = (rng.random(n) < share).astype(int)
            return rng.normal(size=(n, 4)) + 0.7 * y[:, None], y

        X, y = draw(300, 0.5)
        one, other, offset = fitted(X, y), fitted(X, y), np.zeros(4)
        for _ in range(8):
            offset = offset + 0.2 * rng.normal(size=4)
            one.partial_fit(draw(150, 0.1)[0] + offset)
            other.partial_fit(draw(150, 0.5)[0])
        drifting += ["nobody can tell" in warning for warning in one.history_["warning"]]
        quiet += ["nobody can tell" in warning for warning in other.history_["warning"]]
    assert np.mean(drifting) > 0.5
    assert np.mean(quiet) < 0.1


def test_a_fault_among_the_first_batches_does_not_stop_a_turn_from_being_followed() -> None:
    X, y, batches = turning(10, degrees=6.0, size=100)
    model = fitted(X, y)
    scores = []
    for t, (B, truth) in enumerate(batches):
        model.partial_fit(B + (50.0 if t == 1 else 0.0))
        scores.append(model.score(B, truth) if t > 3 else 1.0)
    assert min(scores) > 0.95


def test_a_turn_that_batches_are_too_small_to_follow_is_not_lost_in_silence() -> None:
    X, y, batches = turning(12, d=8, size=90)
    model = fitted(X, y)
    wrong = []
    for B, truth in batches:
        model.partial_fit(B)
        wrong.append(model.score(B, truth) < 0.7)
    warned = np.array(["transported source" in warning for warning in model.history_["warning"]])
    assert np.mean(warned[wrong]) > 0.7


def test_a_motion_that_surprises_step_after_step_is_no_fault() -> None:
    """Images turn: the first batches all surprise, and the state before one of them is not returned to."""
    stream = rotated_digits(1, steps=7)
    model = fitted(stream.X, stream.y)
    for B, truth in stream.batches:
        score = model.partial_fit(B).score(B, truth)
    assert model._state.rivalry.overrules
    assert score > 0.85
