"""Streams that drift, and the reference methods that follow them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.adaptation_peers import PEERS, oracle, pot_stepwise, scargc, self_training, standardised, static
from benchmarks.streams import (
    LATENCY,
    SYNTHETIC,
    Sample,
    Stream,
    crossing_gaussians,
    find_data,
    four_expanding_one_fixed,
    gas_sensor,
    gears,
    label_shift,
    latency_stream,
    one_passing_around,
    rotated_digits,
    rotating_moons,
    stationary,
    two_crossing,
)

MADE: tuple[Callable[[int], Stream], ...] = (rotating_moons, rotated_digits, *SYNTHETIC)
BLIND = [peer for peer in PEERS if peer is not oracle]


def samples(stream: Stream) -> list[Sample]:
    return [(stream.X, stream.y), *stream.batches, *(stream.tests or [])]


def class_means(sample: Sample) -> np.ndarray:
    X, y = sample
    return np.array([X[y == label].mean(axis=0) for label in np.unique(y)])


def transformed(stream: Stream, change: Callable[[np.ndarray], np.ndarray], *, mixed_units: bool = False) -> Stream:
    batches = [(change(X), y) for X, y in stream.batches]
    tests = None if stream.tests is None else [(change(X), y) for X, y in stream.tests]
    return Stream(stream.name, change(stream.X), stream.y, batches, tests, mixed_units)


# The streams


@pytest.mark.parametrize("make", MADE)
def test_a_seed_makes_the_same_stream_again_and_another_seed_another_one(make: Callable[[int], Stream]) -> None:
    one, again, other = make(3), make(3), make(4)
    for (X, y), (X_again, y_again) in zip(samples(one), samples(again), strict=True):
        np.testing.assert_array_equal(X, X_again)
        np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(one.X, other.X)
    assert not np.array_equal(one.batches[-1][0], other.batches[-1][0])


@pytest.mark.parametrize("make", SYNTHETIC)
def test_stand_ins_have_a_hundred_batches_of_three_hundred_and_every_class(make: Callable[[int], Stream]) -> None:
    stream = make(0)
    classes = np.unique(stream.y)
    assert len(stream.batches) == 100
    assert stream.tests is None
    assert len(classes) >= 2
    for X, y in samples(stream):
        assert X.shape == (300, stream.X.shape[1])
        assert np.isfinite(X).all()
        assert y.dtype == np.int64
        assert set(y) <= set(classes)
        assert "label" in stream.name or np.bincount(y).min() > 0.5 * 300 / len(classes)


def test_names_tell_the_streams_apart() -> None:
    names = [make(0).name for make in MADE]
    assert len(set(names)) == len(names)
    assert {make(0).X.shape[1] for make in SYNTHETIC} == {2, 3, 5}


def test_a_stream_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        rotating_moons(0, steps=1).name = "other"  # type: ignore[misc]


def test_moons_turn_about_the_point_between_them_by_the_same_angle_in_every_step() -> None:
    stream = rotating_moons(0, steps=4, degrees=30.0, n=2000)
    assert stream.tests is not None
    assert [len(y) for _, y in stream.batches] == [50] * 4
    assert [len(y) for _, y in stream.tests] == [1000] * 4
    start = np.subtract(*class_means((stream.X, stream.y))) @ [1.0, 1.0j]
    for step, test in enumerate(stream.tests, 1):
        turned = np.subtract(*class_means(test)) @ [1.0, 1.0j]
        assert abs(turned - start * np.exp(1j * np.deg2rad(30.0 * step))) < 0.1
        np.testing.assert_allclose(test[0].mean(axis=0), [0.5, 0.25], atol=0.02)


def test_digits_of_the_source_never_come_back_and_a_test_is_not_its_batch() -> None:
    stream = rotated_digits(0, steps=2, degrees=0.0)
    assert stream.tests is not None
    assert stream.X.shape == (500, 64)
    assert 0.0 <= stream.X.min() < stream.X.max() <= 1.0
    source = {row.tobytes() for row in stream.X}
    for (X, _), (Z, _) in zip(stream.batches, stream.tests, strict=True):
        batch, test = {row.tobytes() for row in X}, {row.tobytes() for row in Z}
        assert (len(X), len(Z)) == (150, 1797 - 500 - 150)
        assert not source & (batch | test)
        assert not batch & test


def test_digits_turn() -> None:
    quarter = rotated_digits(0, steps=1, degrees=90.0)
    still = rotated_digits(0, steps=1, degrees=0.0)
    images = still.batches[0][0].reshape(-1, 8, 8)
    np.testing.assert_allclose(quarter.batches[0][0].reshape(-1, 8, 8), np.rot90(images, axes=(1, 2)), atol=1e-12)


@pytest.mark.parametrize("make", [two_crossing, crossing_gaussians])
def test_crossing_classes_trade_places_and_stay_apart(make: Callable[[int], Stream]) -> None:
    stream = make(0)
    first, last = class_means((stream.X, stream.y)), class_means(stream.batches[-1])
    along = first[0] - first[1]
    assert (last[0] - last[1]) @ along < -0.8 * along @ along
    assert min(np.linalg.norm(np.subtract(*class_means(batch))) for batch in stream.batches) > 2.0


def test_stationary_classes_stay_and_label_shift_moves_nothing_but_proportions() -> None:
    for stream in (stationary(0, m=3000, steps=2), label_shift(0, m=3000, steps=2)):
        expected = class_means((stream.X, stream.y))
        for batch in stream.batches:
            np.testing.assert_allclose(class_means(batch), expected, atol=0.35)
    shares = np.bincount(label_shift(0, m=3000, steps=2).batches[0][1]) / 3000
    np.testing.assert_allclose(shares, [0.15, 0.03, 0.82], atol=0.03)
    np.testing.assert_allclose(np.bincount(stationary(0, m=3000, steps=2).batches[0][1]) / 3000, 1 / 3, atol=0.03)


def test_gears_turn_without_touching() -> None:
    stream = gears(0, m=2000, steps=8)
    assert min(oracle(stream)[1:]) > 0.95
    X, y = stream.batches[-1]
    angle = np.angle((X[y == 0] - [-1.05, 0.0]) @ [1.0, 1.0j])
    radius = np.linalg.norm(X[y == 0] - [-1.05, 0.0], axis=1)
    assert (radius <= 1.0 + 0.4 * np.cos(5 * angle) + 1e-9).all()  # after two teeth a star is where it was
    assert radius.max() > 1.3


# Real data


def test_without_the_variable_there_is_no_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("DRIFTWAY_DATA", raising=False)
    assert find_data() is None
    monkeypatch.setenv("DRIFTWAY_DATA", str(tmp_path))
    assert find_data() == tmp_path
    monkeypatch.setenv("DRIFTWAY_DATA", str(tmp_path / "missing"))
    with pytest.raises(ValueError, match="DRIFTWAY_DATA has to name a folder"):
        find_data()


@pytest.mark.parametrize(("name", "size"), [("2CHT", 300), ("keystroke", 200)])
def test_a_latency_file_is_cut_in_order(name: str, size: int, tmp_path: Path) -> None:
    (tmp_path / "verification_latency").mkdir()
    rows = np.column_stack([np.arange(1000.0), np.zeros(1000), 1 + np.arange(1000) % 2])
    np.savetxt(tmp_path / "verification_latency" / f"{name}.txt", rows, delimiter=",", fmt="%g")
    stream = latency_stream(name, tmp_path)
    whole = 1000 // size * size
    np.testing.assert_array_equal(np.vstack([X for X, _ in samples(stream)]), rows[:whole, :2])
    np.testing.assert_array_equal(np.concatenate([y for _, y in samples(stream)]), rows[:whole, 2])
    assert {len(y) for _, y in samples(stream)} == {size}


def test_gas_files_are_read_with_and_without_a_concentration(tmp_path: Path) -> None:
    (tmp_path / "gas_sensor_drift").mkdir()
    for number in range(1, 11):
        lines = f"6;10.500000 1:{number}.5 2:-3.25\n2 1:0 2:1e3\n"
        (tmp_path / "gas_sensor_drift" / f"batch{number}.dat").write_text(lines)
    stream = gas_sensor(tmp_path)
    assert stream.mixed_units
    assert [X[0, 0] for X, _ in samples(stream)] == [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 8.5, 9.5]
    for X, y in samples(stream):
        np.testing.assert_array_equal(y, [6, 2])
        np.testing.assert_array_equal(X[:, 1], [-3.25, 1000.0])


def data() -> Path:
    folder = find_data()
    if folder is None:
        pytest.skip("DRIFTWAY_DATA is not set")
    return folder


@pytest.mark.parametrize("name", LATENCY)
def test_real_latency_streams_are_learnable(name: str) -> None:
    if not (data() / "verification_latency" / f"{name}.txt").is_file():
        pytest.skip(f"{name} is not in the folder")
    stream = latency_stream(name, data())
    beginning = replace(stream, batches=stream.batches[:20])
    assert len(np.unique(stream.y)) == (4 if name in ("4CR", "keystroke") else 2)
    assert np.mean(oracle(beginning)) > 0.85


def test_real_gas_is_helped_by_standardising_every_batch() -> None:
    if not (data() / "gas_sensor_drift").is_dir():
        pytest.skip("the gas data are not in the folder")
    stream = gas_sensor(data())
    assert stream.X.shape == (445, 128)
    assert [len(y) for _, y in stream.batches] == [1244, 1586, 161, 197, 2300, 294, 470]
    assert np.mean(standardised(stream)) > np.mean(static(stream)) + 0.2


# The methods


def short(name: str) -> Stream:
    """A stream of a few small steps."""
    made = {
        "moons": lambda: rotating_moons(0, steps=4, n=200),
        "crossing": lambda: two_crossing(0, steps=6, m=100),
        "expanding": lambda: four_expanding_one_fixed(0, steps=10, m=150),
    }
    return made[name]()


@pytest.mark.parametrize("make", MADE)
def test_static_beats_chance_in_the_first_step(make: Callable[[int], Stream]) -> None:
    stream = make(0)
    first = replace(stream, batches=stream.batches[:1], tests=None if stream.tests is None else stream.tests[:1])
    classes = len(np.unique(stream.y))
    assert static(first)[0] > 1.0 / classes + 0.5 * (1.0 - 1.0 / classes)


@pytest.mark.parametrize("name", ["moons", "crossing", "expanding"])
@pytest.mark.parametrize("peer", PEERS)
def test_every_step_gets_an_accuracy(peer: Callable[[Stream], list[float]], name: str) -> None:
    accuracies = peer(short(name))
    assert len(accuracies) == len(short(name).batches)
    assert all(0.0 <= accuracy <= 1.0 for accuracy in accuracies)
    assert accuracies[0] > 0.75


@pytest.mark.parametrize("peer", BLIND)
def test_no_method_but_the_oracle_sees_the_labels_of_a_batch(peer: Callable[[Stream], list[float]]) -> None:
    stream = short("crossing")
    lied = replace(stream, batches=[(X, 1 - y) for X, y in stream.batches])
    np.testing.assert_allclose(peer(lied), 1.0 - np.array(peer(stream)))


@pytest.mark.parametrize("peer", PEERS)
def test_the_unit_of_measurement_does_not_matter(peer: Callable[[Stream], list[float]]) -> None:
    stream = short("moons")
    assert peer(transformed(stream, lambda X: 1000.0 * X)) == peer(stream)
    mixed = transformed(stream, lambda X: X, mixed_units=True)
    assert peer(transformed(stream, lambda X: X * [1.0, 1e4], mixed_units=True)) == pytest.approx(peer(mixed), abs=0.01)


@pytest.mark.parametrize("peer", PEERS)
def test_a_feature_that_is_constant_changes_nothing(peer: Callable[[Stream], list[float]]) -> None:
    stream = transformed(short("crossing"), lambda X: X, mixed_units=True)
    wider = transformed(stream, lambda X: np.column_stack([X, np.full(len(X), 0.1)]), mixed_units=True)
    assert peer(wider) == pytest.approx(peer(stream), abs=0.01)


def test_a_feature_that_is_constant_in_the_source_only_does_not_explode() -> None:
    stream = transformed(short("crossing"), lambda X: X, mixed_units=True)
    rng = np.random.default_rng(0)
    batches = [(np.column_stack([X, 0.1 + 0.01 * rng.normal(size=len(X))]), y) for X, y in stream.batches]
    wider = replace(stream, X=np.column_stack([stream.X, np.full(len(stream.X), 0.1)]), batches=batches)
    assert static(wider) == pytest.approx(static(stream), abs=0.02)


def test_the_oracle_is_at_least_as_good_as_no_adaptation_on_moons() -> None:
    stream = rotating_moons(0)
    told, still = np.array(oracle(stream)), np.array(static(stream))
    assert (told >= still - 0.01).all()
    assert told.mean() > still.mean() + 0.3
    assert still.min() < 0.1 < still[-1]  # half a turn is wrong nearly everywhere; the whole turn is home again


def test_without_tests_the_oracle_learns_from_the_batch_before() -> None:
    stream = two_crossing(0, steps=3, m=100)
    assert oracle(stream)[0] == static(stream)[0]
    shifted = Stream("shifted", *stream.batches[0], batches=stream.batches[1:])
    assert oracle(shifted) == pytest.approx(oracle(stream)[1:], abs=0.02)


@pytest.mark.parametrize("make", [one_passing_around, four_expanding_one_fixed])
def test_clustering_follows_slow_drift_of_classes_that_do_not_cross(make: Callable[..., Stream]) -> None:
    stream = make(0, steps=50)
    followed = np.array(scargc(stream))
    assert (followed > np.array(oracle(stream)) - 0.05).all()
    assert followed.mean() > np.mean(static(stream)) + 0.03


def test_clustering_takes_another_number_of_clusters() -> None:
    stream = rotating_moons(0, steps=10)
    assert np.mean(scargc(stream, clusters=16)) > np.mean(scargc(stream)) + 0.1
    assert scargc(stream, clusters=2) == scargc(stream)


def test_classes_that_cross_are_followed_where_no_adaptation_fails() -> None:
    stream = two_crossing(0, steps=40, m=150)
    assert static(stream)[-1] < 0.1
    for peer in (self_training, scargc):
        assert peer(stream)[-1] > 0.95


def test_stepwise_transport_undoes_translations() -> None:
    # The optimal map between a cloud and the same cloud moved is the move, however far it is.
    still = two_crossing(0, steps=1, m=150)
    moves = [np.array([6.0, 0.0]) * step for step in (1, 2, 3)]
    moved = replace(still, batches=[(still.X + move, still.y) for move in moves])
    assert min(pot_stepwise(moved)) > 0.98
    assert max(static(moved)[1:]) < 0.6


def test_standardising_undoes_a_change_of_scale_and_offset() -> None:
    still = rotating_moons(0, steps=3, degrees=0.0, m=500)
    moved = replace(
        still,
        batches=[(5.0 * X + 7.0, y) for X, y in still.batches],
        tests=[(5.0 * X + 7.0, y) for X, y in still.tests or []],
    )
    assert standardised(moved) == pytest.approx(standardised(still))
    assert min(standardised(moved)) > 0.98
    assert max(static(moved)) < 0.75


def test_self_training_survives_a_batch_of_one_class() -> None:
    stream = two_crossing(0, steps=20, m=200)
    X, y = stream.batches[0]
    lonely = replace(stream, batches=[(X[y == 0], y[y == 0]), *stream.batches])
    assert min(self_training(lonely)[:5]) > 0.9
