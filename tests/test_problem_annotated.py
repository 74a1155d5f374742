"""Problems between annotated cells: the same as between their coordinates, with the answer written back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from driftway import PointCloudCost, Problem, solve
from driftway.problem import AnnotatedPair

rng = np.random.default_rng(0)
KIND = np.tile(["B", "T"], 15)
X = rng.normal(size=(30, 4)) + 4.0 * (KIND == "T")[:, None]
DAY = np.repeat(["1", "2", "3"], 10)
MASS = rng.uniform(1.0, 2.0, 30)


def cells(rows: Any = slice(None), *, real: bool = False) -> Any:
    """Cells as AnnData, or as something with the same attributes."""
    if real:
        anndata, pandas = pytest.importorskip("anndata"), pytest.importorskip("pandas")
        obs = pandas.DataFrame({"day": DAY[rows], "kind": KIND[rows], "mass": MASS[rows]})
        obs.index = obs.index.astype(str)
        return anndata.AnnData(X[rows].copy(), obs=obs, obsm={"X_pca": X[rows, :2].copy()})
    obs = {"day": DAY[rows], "kind": KIND[rows], "mass": MASS[rows]}
    return SimpleNamespace(X=csr_array(X[rows]), obs=obs, obsm={"X_pca": X[rows, :2]}, obsp={}, uns={})


@pytest.mark.parametrize("real", [False, True])
def test_two_objects(real: bool) -> None:
    source, target = cells(slice(0, 10), real=real), cells(slice(10, 20), real=real)
    pair = AnnotatedPair(source, target, weights="mass")
    solution = solve(pair.problem(epsilon=0.5))
    a, b = MASS[:10] / MASS[:10].sum(), MASS[10:20] / MASS[10:20].sum()
    expected = solve(Problem(PointCloudCost(X[:10], X[10:20]), a, b, epsilon=0.5))
    assert solution.value == expected.value
    pair.write(solution, key="ot", labels="kind")
    np.testing.assert_array_equal(source.obsm["ot"], expected.plan.barycentric_map(X[10:20]))
    np.testing.assert_array_equal(source.obsm["ot_plan"], expected.plan.dense())
    np.testing.assert_array_equal(np.asarray(target.obs["ot_kind"]), KIND[10:20])
    assert source.uns["ot"]["value"] == expected.value


@pytest.mark.parametrize("real", [False, True])
def test_one_object_with_groups(real: bool) -> None:
    whole = cells(real=real)
    pair = AnnotatedPair(whole, groups="day", between=("3", "1"), representation="X_pca")
    solution = solve(pair.problem(epsilon=0.5, metric="euclidean"))
    pair.write(solution, labels="kind")
    expected = solve(Problem(PointCloudCost(X[20:, :2], X[:10, :2], "euclidean"), epsilon=0.5))
    np.testing.assert_array_equal(whole.obsm["driftway"][20:], expected.plan.barycentric_map(X[:10, :2]))
    assert np.isnan(whole.obsm["driftway"][:20]).all()
    plan = whole.obsp["driftway_plan"].toarray()
    np.testing.assert_array_equal(plan[20:, :10], expected.plan.dense())
    assert plan.sum() == pytest.approx(1.0)
    assert np.mean(np.asarray(whole.obs["driftway_kind"]) == KIND) > 0.9


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "either target, or groups and between"),
        ({"groups": "day"}, "either target, or groups and between"),
        ({"groups": "week", "between": ("1", "2")}, "no column 'week' in obs, which has"),
        ({"groups": "day", "between": ("1", "9")}, "the group '9', which no cell"),
        ({"groups": "day", "between": ("1", "2"), "representation": "X_umap"}, r"'X_umap', but obsm has \['X_pca'\]"),
        ({"groups": "day", "between": ("1", "2"), "weights": "size"}, "no column 'size'"),
    ],
)
def test_what_is_not_there_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AnnotatedPair(cells(), **given)


def test_a_solution_of_another_problem_is_refused() -> None:
    pair = AnnotatedPair(cells(slice(0, 10)), cells(slice(10, 20)))
    other = solve(Problem(PointCloudCost(X[:5], X[:5]), epsilon=0.5))
    with pytest.raises(ValueError, match=r"this pair's problem, 10×10, got a plan of shape \(5, 5\)"):
        pair.write(other)
