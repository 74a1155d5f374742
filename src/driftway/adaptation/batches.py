"""Rows that users give: which of them take part, and with what weight."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import _check_sample_weight, validate_data

from driftway.adaptation.scaling import Scaling
from driftway.adaptation.source.cells import Cells, declared_categories, may_hold_texts
from driftway.adaptation.source.columns import Rows, TableColumns
from driftway.arrays.validation import points

Double = npt.NDArray[np.float64]
Held = npt.NDArray[np.bool_]

# How far points may be from the source, in its units: squares of what is further, times a mass, leave float64.
FARTHEST = 1e140
# So many names are listed in a warning.
LISTED = 5


class Source(NamedTuple):
    """The rows of the source that take part, complete, with targets and weights, and what its columns are."""

    points: Double
    targets: npt.NDArray[Any]
    weights: Double
    columns: TableColumns


class Batch(NamedTuple):
    """The rows of a batch that take part, complete, with weights of total 1; which of the batch they are, and gaps."""

    points: Double
    weights: Double
    held: Held
    gaps: Gaps


class Gaps(NamedTuple):
    """What a batch had no numbers for: how many cells are missing and how many categories unseen, and what to say."""

    missing: int
    unseen: int
    warning: str


def source_rows(model: Any, X: Any, y: Any, sample_weight: Any) -> Source:
    """The source as numbers; a missing one is the median of its column."""
    columns, texts = None, may_hold_texts(X)
    if texts:
        columns, cells, targets = _table(model, X, y)
        texts = bool(columns.categories)
    if texts and columns is not None:
        rows = columns.encoded(cells)
    else:
        kinds: Any = {"dtype": np.float64, "order": "C", "ensure_min_samples": 2, "ensure_all_finite": "allow-nan"}
        found, targets = validate_data(model, X, y, **kinds)
        columns, rows = TableColumns(_names_of(model)), Rows(found, np.isnan(found), {})
    weights, held = _held(rows, sample_weight)
    if held.sum() < 2:
        raise ValueError(f"X must have at least two rows that are not empty, got {held.sum()}")
    columns = columns.counted(rows.gaps[held])
    if not rows.points.shape[1]:
        raise ValueError("X must have a column of numbers, or of at least two categories")
    return Source(points("X", filled(rows.points[held])), targets[held], weights[held], columns)


def batch_rows(model: Any, X: Any, sample_weight: Any, scaling: Scaling) -> Batch:
    """A batch as numbers; a missing one is the median of its column, where that has none the present one."""
    rows = rows_with_gaps(model, X)
    weights, held = _held(rows, sample_weight)
    gaps = _gaps(model.columns_, rows, held)
    batch, weights = rows.points[held], weights[held]
    if len(batch):
        batch = filled(batch, model.images_)
    if len(batch) < 2 or not np.ptp(batch, axis=0).any():
        raise ValueError(
            f"a batch must have at least two different points that are not empty, got {len(batch)} "
            f"{'that are all equal' if len(batch) > 1 else 'of them'}"
        )
    with np.errstate(over="ignore"):
        reach = float(np.abs(points("X", scaling(batch))).max())
    if reach > FARTHEST:
        raise ValueError(f"a batch must be within {FARTHEST:g} units of the source, got a point at {reach:.1e}")
    return Batch(batch, weights / weights.sum(), held, gaps)


def rows_with_gaps(model: Any, X: Any) -> Rows:
    """Points with the columns of the source, in which values may be missing."""
    kinds: Any = {"order": "C", "reset": False, "ensure_all_finite": "allow-nan"}
    try:
        if model.columns_.categories:
            return model.columns_.encoded(validate_data(model, X, dtype=object, **kinds))
        if may_hold_texts(X):
            cells = validate_data(model, X, dtype=object, **kinds)
            if any(isinstance(cell, str) for cell in cells.flat):
                return model.columns_.encoded(cells)
        found: Double = validate_data(model, X, dtype=np.float64, **kinds)
    except ValueError as error:
        if "must be in the same order" in str(error):
            raise ValueError(f"{error}They are {', '.join(map(str, model.feature_names_in_))}.") from None
        raise
    return Rows(found, np.isnan(found), {})


def filled(rows: Double, present: Double | None = None) -> Double:
    """Rows with the median of their column in the place of what is missing, or where a column has none the present."""
    missing = np.isnan(rows)
    if not missing.any():
        return rows
    there = ~missing.all(axis=0)
    usual = np.zeros(rows.shape[1]) if present is None else np.median(present, axis=0)
    usual[there] = np.nanmedian(rows[:, there], axis=0)
    return np.where(missing, usual, rows)


def among(held: Held, received: Double) -> Double:
    """What points received among those without weight, who received nothing: equal shares, or no value."""
    if held.all():
        return received
    nothing = np.nan if received.ndim == 1 else 1.0 / received.shape[1]
    out = np.full((held.size, *received.shape[1:]), nothing)
    out[held] = received
    return out


def _table(model: Any, X: Any, y: Any) -> tuple[TableColumns, Cells, npt.NDArray[Any]]:
    """What the columns of a source are that may hold texts, its cells and its targets."""
    kinds: Any = {"dtype": object, "order": "C", "ensure_min_samples": 2, "ensure_all_finite": "allow-nan"}
    cells, targets = validate_data(model, X, y, **kinds)
    return TableColumns.learned(_names_of(model), cells, declared_categories(X, cells.shape[1])), cells, targets


def _names_of(model: Any) -> tuple[str, ...]:
    named = [f"feature {j}" for j in range(model.n_features_in_)]
    return tuple(map(str, getattr(model, "feature_names_in_", named)))


def _held(rows: Rows, sample_weight: Any) -> tuple[Double, Held]:
    """The weights of all rows, and which have one and are not empty."""
    weights = _check_sample_weight(sample_weight, rows.points, dtype=np.float64, ensure_non_negative=True)
    if not weights.sum() > 0:
        raise ValueError("sample_weight must have a positive sum, got only zeros")
    return weights, (weights > 0) & ~rows.empty


def _gaps(columns: TableColumns, rows: Rows, held: Held) -> Gaps:
    """What is missing or unseen in the rows that take part, and a word on columns without values and new categories."""
    gaps = rows.gaps[held]
    told = []
    if len(gaps) and (gone := [name for name, column in zip(columns.names, gaps.T, strict=True) if column.all()]):
        told.append(f"{_listed(gone)} {'has' if len(gone) == 1 else 'have'} no value in the batch")
    unseen = 0
    for name, found in rows.unseen.items():
        if texts := [text for row, text in found.items() if held[row]]:
            unseen += len(texts)
            new = _listed([repr(text) for text in sorted(set(texts))])
            told.append(f"{name} has categories that the source does not have, which count as none: {new}")
    return Gaps(int(gaps.sum()), unseen, "; ".join(told))


def _listed(names: list[str]) -> str:
    return ", ".join(names[:LISTED]) + (" …" if len(names) > LISTED else "")
