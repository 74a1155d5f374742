"""Streams that drift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.drift.families import UNSEEN
from benchmarks.drift.labels import oracle
from benchmarks.drift.moments import standardised, static
from benchmarks.streams import (
    LATENCY,
    SYNTHETIC,
    TABLES,
    Sample,
    Stream,
    crossing_gaussians,
    digits_at_once,
    find_data,
    gas_sensor,
    gears,
    label_shift,
    latency_stream,
    rotated_digits,
    rotating_moons,
    stationary,
    two_crossing,
)

MADE: tuple[Callable[[int], Stream], ...] = (rotating_moons, rotated_digits, *SYNTHETIC)


def nearest() -> KNeighborsClassifier:
    return KNeighborsClassifier(1)


def samples(stream: Stream) -> list[Sample]:
    return [(stream.X, stream.y), *stream.batches, *(stream.tests or [])]


def class_means(sample: Sample) -> np.ndarray:
    X, y = sample
    return np.array([X[y == label].mean(axis=0) for label in np.unique(y)])


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


def test_digits_at_once_are_one_large_batch_and_an_oracle_gets_other_images() -> None:
    stream = digits_at_once(0, degrees=45.0)
    assert stream.tests is None
    assert stream.told is not None
    assert [len(y) for _, y in stream.batches] == [800]
    assert not {row.tobytes() for row in stream.batches[0][0]} & {row.tobytes() for row in stream.told[0][0]}


def test_shares_are_those_of_the_classes_of_the_source() -> None:
    y = np.array([3, 3, 5, 7])
    batches = [(np.zeros((4, 1)), np.array([3, 7, 7, 7])), (np.zeros((2, 1)), np.array([9, 5]))]
    shares = Stream("s", np.zeros((4, 1)), y, batches).shares
    np.testing.assert_allclose(shares, [[0.25, 0.0, 0.75], [0.0, 1.0, 0.0]])


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
    assert min(oracle(stream, nearest)) > 0.95
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


def test_tables_are_cut_into_a_source_and_batches_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    folder.mkdir()
    rows = np.column_stack([np.arange(1130.0), np.zeros(1130)])
    classes = np.arange(1130) % 2
    np.savetxt(folder / "weather_data.csv", rows, delimiter=",", fmt="%g")
    np.savetxt(folder / "sea_data.csv", rows, delimiter=",", fmt="%g")
    np.savetxt(folder / "moving_squares.data", rows, fmt="%g")
    for name in ("weather_class.csv", "sea_class.csv", "moving_squares.labels"):
        np.savetxt(folder / name, classes, fmt="%d")
    with (folder / "luxembourg.csv").open("w") as file:
        file.write("a,b,target\n")
        np.savetxt(file, np.column_stack([rows, classes]), delimiter=",", fmt="%g")
    sizes = {"weather": (365, 365), "luxembourg": (300, 100), "moving squares": (300, 100), "SEA": (500, 500)}
    assert set(TABLES) == set(sizes)
    for name, (first, size) in sizes.items():
        stream = TABLES[name](tmp_path)
        count = (1130 - first) // size
        assert [len(y) for _, y in samples(stream)] == [first] + count * [size]
        np.testing.assert_array_equal(np.vstack([X for X, _ in samples(stream)]), rows[: first + count * size])
        np.testing.assert_array_equal(np.concatenate([y for _, y in samples(stream)]), classes[: first + count * size])
        assert stream.mixed_units == (name in ("weather", "luxembourg"))


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
    assert len(np.unique(stream.y)) == (4 if name in ("4CR", "4CRE-V1", "keystroke") else 2)
    if name not in UNSEEN:
        assert np.mean(oracle(beginning, nearest)) > 0.85


def test_real_gas_is_helped_by_standardising_every_batch() -> None:
    if not (data() / "gas_sensor_drift").is_dir():
        pytest.skip("the gas data are not in the folder")
    stream = gas_sensor(data())
    assert stream.X.shape == (445, 128)
    assert [len(y) for _, y in stream.batches] == [1244, 1586, 161, 197, 2300, 294, 470]
    assert np.mean(standardised(stream, nearest)) > np.mean(static(stream, nearest)) + 0.2
