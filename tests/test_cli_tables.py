"""Files with columns of texts and empty cells: read, said, counted, and taken up again."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from driftway import ContinuousTransportClassifier
from driftway.cli import main
from driftway.files import Columns, read_table, write_table

pytest.importorskip("typer")


def columns(seed: int, n: int, shift: float) -> dict[str, list[object]]:
    """A column of texts and one of numbers, both with gaps, and the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    colours = np.where(rng.random(n) < 0.8, np.where(y == 1, "red", "blue"), "green").astype(object)
    colours[rng.random(n) < 0.1] = "NA"
    weights = (rng.normal(size=n) + 3.0 * y + shift).tolist()
    weights = [None if rng.random() < 0.1 else weight for weight in weights]
    return {"colour": list(colours), "weight": weights, "kind": ["big" if label else "small" for label in y]}


@pytest.mark.filterwarnings("ignore::driftway.AdaptationWarning")
@pytest.mark.parametrize("ending", ["csv", "npz"])
def test_a_run_over_tables(ending: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, *batches = (tmp_path / f"{name}.{ending}" for name in ("source", "one", "two"))
    write_table(source, columns(0, 100, 0.0))
    for step, batch in enumerate(batches, start=1):
        table = columns(step, 60, 0.5 * step)
        if step == 2:
            table["colour"][:3] = ["violet"] * 3
        write_table(batch, table)
    given = ["--label", "kind", "--hypotheses", "sensors", "--estimator", "linear", "--no-report"]
    given += ["--out", str(tmp_path / "out")]
    assert main(["adapt", str(source), str(batches[0]), *given]) == 0
    told = capsys.readouterr().err
    assert f"{source}: colour holds categories (blue, green, red, missing); " in told
    assert main(["adapt", str(source), *map(str, batches), *given, "--resume"]) == 0
    told = capsys.readouterr().err
    assert "colour has categories that the source does not have, which count as none: 'violet'" in told
    with (tmp_path / "out" / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    assert [line["unseen"] for line in history] == ["0", "3"]
    assert all(int(line["missing"]) > 0 for line in history)

    # As in Python, to the last bit.
    table = read_table(source, Columns(label="kind"))
    again = ContinuousTransportClassifier.load(tmp_path / "out" / "state.npz")
    model = ContinuousTransportClassifier(**again.get_params(deep=False)).fit(table.X, np.array(table.labels))
    for path in batches:
        X = read_table(path, Columns(("colour", "weight"), categories=table.categories)).X
        model.partial_fit(X)
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    assert again.columns_.names == ("colour", "weight")
