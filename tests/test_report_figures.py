"""Figures for papers: what is drawn is what was given, and the same figure is the same file."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_moons

from driftway import ContinuousTransportClassifier, PointCloudCost, Problem, TimeSmoothness, solve
from driftway.report import figures as plotting

pytest.importorskip("matplotlib")


@pytest.mark.parametrize("kind", ["png", "pdf", "svg"])
def test_the_same_figure_is_the_same_file(kind: str, tmp_path: Path) -> None:
    import matplotlib as mpl

    def written(name: str) -> bytes:
        with plotting.paper_style():
            ax = plotting.plot_accuracy({"ours": np.linspace(0.9, 1.0, 12).reshape(3, 4)})
        return plotting.save(ax.figure, tmp_path / f"{name}.{kind}").read_bytes()

    first = written("first")
    with mpl.rc_context({"lines.linewidth": 9.0, "svg.hashsalt": "other"}):
        assert written("second") == first


def test_accuracy_is_a_mean_and_a_band_from_worst_to_best() -> None:
    runs = np.array([[0.5, 0.9], [0.7, 1.0]])
    ax = plotting.plot_accuracy({"ours": runs, "theirs": [0.1, 0.2]}, dashed=["theirs"])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [60.0, 95.0])
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [10.0, 20.0])
    (band,) = ax.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (50.0, 100.0)


def test_convergence_leaves_out_what_a_logarithm_cannot_show() -> None:
    ax = plotting.plot_convergence({"one": ([0.0, 0.2, 0.3], [1.0, 0.5, 0.0]), "two": ([1.0], [np.nan])}, floor=1e-6)
    np.testing.assert_allclose(ax.lines[0].get_xdata(), [0.2, 0.3])
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.5, 1e-6])
    assert not len(ax.lines[1].get_xdata())
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(15, 2))
    trace = solve(Problem(PointCloudCost(X, Y), epsilon=0.1, regularizer=TimeSmoothness(Y, X, 1.0))).trace
    assert len(plotting.plot_convergence({"a solve": (trace.seconds, trace.gap)}).lines) == 1


def test_domains_and_mappings_show_every_point() -> None:
    X, y = make_moons(30, random_state=0)
    ax = plotting.plot_mapping(X, y, X[:7] + 1.0)
    assert sorted(len(points.get_offsets()) for points in ax.collections) == [7, 15, 15]
    assert len(plotting.plot_domain(X).collections) == 1
    with pytest.raises(ValueError, match="one label per row of X"):
        plotting.plot_domain(X, y[:3])
    with pytest.raises(ValueError, match="two columns"):
        plotting.plot_domain(np.zeros((4, 3)))


def test_a_history_is_drawn_step_by_step() -> None:
    X, y = make_moons(60, noise=0.05, random_state=0)
    model = ContinuousTransportClassifier().fit(X, y)
    with pytest.raises(ValueError, match="at least one step"):
        plotting.plot_history(model.history_)
    for step in range(3):
        model.partial_fit(X + 0.1 * step)
    figure = plotting.plot_history(model.history_, columns=("transport", "energy"))
    assert len(figure.axes) == 2
    np.testing.assert_allclose(figure.axes[0].lines[0].get_ydata(), model.history_["transport"])


def test_errors_name_the_file_and_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ax = plotting.plot_accuracy({"ours": [0.5]})
    with pytest.raises(ValueError, match=r"\.png, \.pdf or \.svg"):
        plotting.save(ax.figure, tmp_path / "figure.gif")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"driftway\[experiments\]"):
        plotting.plot_accuracy({"ours": [0.5]})
