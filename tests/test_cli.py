"""The command line: what the library gives, to the last bit; and one line when something is wrong."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from files import contents, moons, write_stream

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor, solve
from driftway.cli import main
from driftway.files import Columns, read_table, write_table
from driftway.problem.problem import Problem

pytest.importorskip("typer")
pytest.importorskip("plotly")
pytest.importorskip("pyarrow")


def arguments(source: Path, batches: list[Path], out: Path, *more: str) -> list[str]:
    return ["adapt", str(source), *map(str, batches), "--label", "kind", "--id", "name", "--out", str(out), *more]


def frame(columns: dict[str, np.ndarray]) -> object:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({name: columns[name] for name in ("east", "north")})


def predictions(path: Path) -> tuple[list[str], list[str], np.ndarray]:
    table = read_table(path, Columns(None, "predicted", "name"))
    assert table.names == ("probability_lower", "probability_upper")
    return table.ids or [], table.labels or [], table.X


class TestAdapt:
    @pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "npz"])
    def test_it_gives_exactly_what_the_library_gives(self, ending: str, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 4, ending)
        assert main(arguments(source, batches, tmp_path / "out", "--neighbours", "5", "--time-weight", "0.1")) == 0
        columns, streamed = moons(4)
        from sklearn.neighbors import KNeighborsClassifier

        model = ContinuousTransportClassifier(KNeighborsClassifier(5), time_weight=0.1)
        model.fit(frame(columns), columns["kind"])
        for path, batch in zip(batches, streamed, strict=True):
            model.partial_fit(frame(batch))
            ids, predicted, proba = predictions(tmp_path / "out" / "predictions" / path.name)
            assert ids == batch["name"].tolist()
            assert predicted == model.predict(frame(batch)).tolist()
            np.testing.assert_array_equal(proba, model.predict_proba(frame(batch)))
        saved = ContinuousTransportClassifier.load(tmp_path / "out" / "state.npz")
        np.testing.assert_array_equal(saved.images_, model.images_)

    def test_history_report_and_lines(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, batches = write_stream(tmp_path / "in", 3)
        assert main(arguments(source, batches, tmp_path / "out", "--json")) == 0
        out, err = capsys.readouterr()
        lines = [json.loads(line) for line in out.splitlines()]
        assert [line["batch"] for line in lines] == [path.name for path in batches]
        assert [line["accuracy"] for line in lines] == [None, 1.0, None]
        assert all(Path(line["predictions"]).is_file() for line in lines)
        assert err == f"driftway: {batches[1]} has labels (kind): they are scored, never adapted to\n"
        model = ContinuousTransportClassifier.load(tmp_path / "out" / "state.npz")
        history = (tmp_path / "out" / "history.csv").read_text().splitlines()
        assert history[0].split(",")[:3] == ["step", "batch", "size"]
        for row, record in zip(history[1:], model.history_, strict=True):
            fields = dict(zip(history[0].split(","), row.split(","), strict=True))
            assert float(fields["transport"]) == record.transport
            assert fields["signal"] == ("" if np.isnan(record.signal) else str(record.signal))
        page = (tmp_path / "out" / "report.html").read_text()
        assert all(path.name in page for path in batches)

    def test_labels_of_batches_change_nothing_but_the_score(self, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 2)
        assert main(arguments(source, batches, tmp_path / "a")) == 0
        columns = moons(2)[1][1]
        write_table(batches[1], {**columns, "kind": ["?", ""] * 15})
        assert main(arguments(source, batches, tmp_path / "b")) == 0
        assert contents(tmp_path / "a" / "predictions") == contents(tmp_path / "b" / "predictions")
        assert (tmp_path / "a" / "history.csv").read_text().endswith(",1.0\n")
        assert (tmp_path / "b" / "history.csv").read_text().endswith(",0.0\n")

    def test_columns_in_another_order_and_more_of_them(self, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 2)
        assert main(arguments(source, batches, tmp_path / "a")) == 0
        for path, columns in zip(batches, moons(2)[1], strict=True):
            write_table(path, {"more": ["x"] * 30, **dict(reversed(columns.items()))})
        assert main(arguments(source, batches, tmp_path / "b", "--features", "east,north")) == 0
        assert contents(tmp_path / "a" / "predictions") == contents(tmp_path / "b" / "predictions")

    def test_numbers_are_classes_too_and_are_recognised(self, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 2)
        columns, (_, second) = moons(2)
        write_table(source, {**columns, "kind": (columns["kind"] == "upper").astype(int)})
        write_table(batches[1], {**second, "kind": (second["kind"] == "upper").astype(float)})
        assert main(arguments(source, batches, tmp_path / "out")) == 0
        table = read_table(tmp_path / "out" / "predictions" / "batch02.csv", Columns(None, "predicted", "name"))
        assert table.names == ("probability_0", "probability_1")
        assert set(table.labels or []) == {0, 1}
        assert (tmp_path / "out" / "history.csv").read_text().endswith(",1.0\n")

    def test_a_regression(self, tmp_path: Path) -> None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 2))
        values = X[:, 0] + 2 * X[:, 1]
        batch = rng.normal(size=(40, 2)) + np.array([3.0, 0.0])
        truth = batch[:, 0] - 3 + 2 * batch[:, 1]
        write_table(tmp_path / "s.csv", {"a": X[:, 0], "b": X[:, 1], "y": values})
        write_table(tmp_path / "b.csv", {"a": batch[:, 0], "b": batch[:, 1], "y": [np.nan, *truth[1:]]})
        options = ["--label", "y", "--regression", "--out", str(tmp_path / "out"), "--format", "parquet"]
        assert main(["adapt", str(tmp_path / "s.csv"), str(tmp_path / "b.csv"), *options]) == 0
        model = ContinuousTransportRegressor().fit(X, values).partial_fit(batch)
        found = read_table(tmp_path / "out" / "predictions" / "b.parquet", Columns())
        assert found.names == ("predicted",)
        np.testing.assert_array_equal(found.X[:, 0], model.predict(batch))
        line = dict(
            zip(*[row.split(",") for row in (tmp_path / "out/history.csv").read_text().splitlines()], strict=True)
        )
        assert float(line["r2"]) == model.score(batch[1:], truth[1:]) > 0.5

    def test_without_the_means_to_draw_there_is_no_report_and_all_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, batches = write_stream(tmp_path / "in", 1)

        def cannot(*_: object, **__: object) -> None:
            raise ImportError("it needs Plotly: pip install 'driftway[report]'")

        monkeypatch.setattr("driftway.report.write_report", cannot)
        assert main(arguments(source, batches, tmp_path / "out")) == 0
        assert "driftway: no report: it needs Plotly: pip install 'driftway[report]'\n" in capsys.readouterr().err
        assert "history.csv" in contents(tmp_path / "out")
        assert main(["report", str(tmp_path / "out")]) == 2
        monkeypatch.undo()
        assert main(["report", str(tmp_path / "out")]) == 0

    def test_a_label_that_is_no_number_is_refused_before_anything_is_adapted_to(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        rng = np.random.default_rng(0)
        columns = {name: rng.normal(size=20) for name in "aby"}
        for name in ("s.csv", "in/1.csv", "in/3.csv"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            write_table(tmp_path / name, columns)
        write_table(tmp_path / "in" / "2.csv", {**columns, "y": ["high"] * 20})
        given = ["--label", "y", "--regression", "--no-report", "--out"]
        files = [str(tmp_path / f"in/{k}.csv") for k in (1, 2, 3)]
        assert main(["adapt", str(tmp_path / "s.csv"), *files, *given, str(tmp_path / "out")]) == 2
        assert (
            "2.csv: line 2, column 'y': 'high' is not a number; --regression needs numbers" in capsys.readouterr().err
        )
        assert not (tmp_path / "out").exists()
        watched = ["--watch", str(tmp_path / "in"), "--interval", "0.01", "--until-idle", "0"]
        assert main(["adapt", str(tmp_path / "s.csv"), *watched, *given, str(tmp_path / "out")]) == 2
        assert main(["adapt", str(tmp_path / "s.csv"), files[0], files[2], *given, str(tmp_path / "two")]) == 0
        assert contents(tmp_path / "out" / "predictions") == contents(tmp_path / "two" / "predictions")

    def test_every_option_reaches_the_estimator(self, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 1)
        given = "--metric euclidean --epsilon 0.4 --absolute-epsilon --scale none --time-weight 0.3 --label-weight 0.1"
        given += " --map barycentric --motion none --labels classifier --no-stay --cost static --marginals estimated"
        given += " --renew --no-clusters --tol 1e-4 --solver-iterations 500 --estimator linear --hypotheses transport"
        assert main(arguments(source, batches, tmp_path / "out", *given.split())) == 0
        found = ContinuousTransportClassifier.load(tmp_path / "out" / "state.npz").get_params(deep=False)
        assert type(found.pop("estimator")).__name__ == "LogisticRegression"
        wanted = {"metric": "euclidean", "epsilon": 0.4, "relative_epsilon": False, "scale": None, "time_weight": 0.3}
        wanted |= {"label_weight": 0.1, "map": "barycentric", "motion": None, "labels": "classifier", "stay": False}
        wanted |= {"cost": "static", "marginals": "estimated", "clusters": False, "source": "renewed", "tol": 1e-4}
        wanted |= {"solver_iterations": 500, "on_bad_batch": "raise", "engine": None, "hypotheses": "transport"}
        assert found == wanted

    def test_warnings_are_one_line(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, batches = write_stream(tmp_path / "in", 1)
        unsolved = ["--hypotheses", "transport", "--solver-iterations", "1", "--tol", "1e-300"]
        assert main(arguments(source, batches, tmp_path / "out", *unsolved)) == 0
        lines = [line for line in capsys.readouterr().err.splitlines() if "driftway: warning: " in line]
        assert len(lines) == 1
        assert "batch01.csv: the plan is not solved to tol=1e-300" in lines[0]


class TestResuming:
    def test_it_goes_on_where_it_stopped(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, batches = write_stream(tmp_path / "in", 4)
        assert main(arguments(source, batches, tmp_path / "whole")) == 0
        state = tmp_path / "elsewhere" / "s.npz"
        options = ("--state", str(state), "--resume")
        assert main(arguments(source, batches[:2], tmp_path / "parts", *options)) == 0
        assert main(arguments(source, batches, tmp_path / "parts", *options)) == 0
        assert "2 of 4 batches are done already" in capsys.readouterr().err
        assert contents(tmp_path / "parts" / "predictions") == contents(tmp_path / "whole" / "predictions")
        assert len((tmp_path / "parts" / "history.csv").read_text().splitlines()) == 5
        assert all(path.name in (tmp_path / "parts" / "report.html").read_text() for path in batches)
        assert main(["report", str(tmp_path / "parts"), "--state", str(state), "--title", "Again"]) == 0
        assert "Again" in (tmp_path / "parts" / "report.html").read_text()

    def test_another_run_is_not_taken_for_this_one(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, batches = write_stream(tmp_path / "in", 2)
        out = tmp_path / "out"
        assert main(arguments(source, batches[:1], out)) == 0
        before = contents(out)
        assert main(arguments(source, batches, out)) == 2
        assert main(arguments(source, batches, out, "--resume", "--epsilon", "0.2")) == 2
        assert main(arguments(source, batches, out, "--resume", "--neighbours", "3")) == 2
        assert main(arguments(source, batches, out, "--resume", "--features", "east")) == 2
        assert main(arguments(source, batches, out, "--resume", "--overwrite")) == 2
        write_table(batches[0], moons(2)[1][1])
        assert main(arguments(source, batches, out, "--resume")) == 2
        write_table(source, {name: column[:50] for name, column in moons(0)[0].items()})
        assert main(arguments(source, batches[1:], out, "--resume")) == 2
        lines = [line for line in capsys.readouterr().err.splitlines() if "state.npz: " in line or "rename" in line]
        told = (
            "there is a run already",
            "--epsilon 0.1, not --epsilon 0.2; resume it with",
            "--estimator auto, not --estimator KNeighborsClassifier",
        )
        told += (
            "features ['east', 'north'], not ['east']",
            "another file of this name",
            "another labelled file than source.csv",
        )
        assert [part in line for part, line in zip(told, lines, strict=True)] == [True] * 6
        assert contents(out) == before

    def test_files_of_others_are_not_overwritten(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, batches = write_stream(tmp_path / "in", 1)
        mine = tmp_path / "in" / "history.csv"
        mine.write_text("mine")
        for more in ((), ("--resume",)):
            assert main(arguments(source, batches, tmp_path / "in", *more)) == 2
            assert "history.csv: exists and belongs to no run" in capsys.readouterr().err
        assert mine.read_text() == "mine"
        assert main(arguments(source, batches, tmp_path / "in", "--overwrite")) == 0
        assert mine.read_text() != "mine"

    def test_a_run_is_forgotten_if_asked_for(self, tmp_path: Path) -> None:
        source, batches = write_stream(tmp_path / "in", 3)
        assert main(arguments(source, batches[:2], tmp_path / "out")) == 0
        assert main(arguments(source, batches[2:], tmp_path / "out", "--overwrite", "--scale", "none")) == 0
        assert main(arguments(source, batches[2:], tmp_path / "fresh", "--scale", "none")) == 0
        names = set(contents(tmp_path / "out"))
        assert names == set(contents(tmp_path / "fresh"))
        assert "predictions/batch03.csv" in names


class TestOtherCommands:
    def test_solve_gives_what_the_library_gives(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        rng = np.random.default_rng(0)
        C, a, b = rng.random((6, 5)), rng.random(6), rng.random(5)
        a, b = a / a.sum(), b / b.sum()
        for name, array in (("c", C), ("a", a), ("b", b)):
            np.save(tmp_path / f"{name}.npy", array)
        files = [str(tmp_path / f"{name}.npy") for name in "cab"]
        given = ["solve", files[0], "--epsilon", "0.1", "--a", files[1], "--b", files[2]]
        assert main([*given, "--json", "--out", str(tmp_path / "plan.npz")]) == 0
        solution = solve(Problem(C, a, b, epsilon=0.1))
        told = json.loads(capsys.readouterr().out)
        assert told["value"] == solution.value
        assert told["converged"] is True
        with np.load(tmp_path / "plan.npz") as found:
            np.testing.assert_array_equal(found["plan"], solution.plan.dense())
            np.testing.assert_array_equal(found["f"], solution.potentials[0])
        assert main([*given, "--out", str(tmp_path / "plan.npy")]) == 0
        np.testing.assert_array_equal(np.load(tmp_path / "plan.npy"), solution.plan.dense())
        assert f"{solution.value:.12g}" in capsys.readouterr().out

    def test_not_converging_is_a_failure(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        np.save(tmp_path / "c.npy", np.random.default_rng(0).random((20, 20)))
        assert main(["solve", str(tmp_path / "c.npy"), "--epsilon", "1e-5", "--max-iter", "1", "--tol", "1e-17"]) == 1
        assert "driftway: not converged" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("array", "more", "complaint"),
        [
            (np.zeros(3), [], "the cost must be a matrix, got shape (3,)"),
            (np.array([["a"]]), [], "cost must hold real numbers"),
            (np.zeros((2, 2)), ["--epsilon", "-1"], "epsilon must be"),
            (np.zeros((2, 2)), ["--a", "nothing.npy"], "nothing.npy: there is no such file"),
            (np.zeros((2, 2)), ["--out", "plan.txt"], "--out must end in .npy or .npz"),
            (np.zeros((2, 2)), ["--out", "no/plan.npy"], "there is no folder"),
            (np.array([[None]]), [], "not a .npy file of numbers"),
        ],
    )
    def test_bad_problems_are_one_line(
        self, array: np.ndarray, more: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        np.save(tmp_path / "c.npy", array)
        assert main(["solve", str(tmp_path / "c.npy"), "--epsilon", "0.1", *more]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert complaint in err
        assert err.count("\n") == 1

    def test_reproduce_asks_for_the_figures(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        experiments = pytest.importorskip("driftway.experiments")
        asked = []

        def record(figures: tuple[str, ...], out: Path, **options: object) -> list[Path]:
            asked.append((figures, out, options))
            return [out / "page.md"]

        monkeypatch.setattr(experiments, "reproduce", record)
        assert main(["reproduce", "figure2", "--quick", "--jobs", "3", "--out", str(tmp_path)]) == 0
        assert main(["reproduce", "--out", str(tmp_path)]) == 0
        assert asked[0] == (("figure2",), tmp_path, {"quick": True, "jobs": 3, "progress": False, "redraw": False})
        assert asked[1][0] == ("figure1", "figure2", "figure3")
        assert capsys.readouterr().out.splitlines() == [str(tmp_path / "page.md")] * 2


class TestFailures:
    def test_a_missing_extra_is_one_line(
        self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for name in [name for name in sys.modules if name.startswith("driftway.cli.")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "typer", None)
        assert main(["adapt"]) == 2
        assert capsys.readouterr().err == "driftway: the command line needs typer: pip install 'driftway[cli]'\n"

    @pytest.mark.parametrize(
        ("given", "complaint"),
        [
            (["adapt"], "Missing argument"),
            (["adapt", "s.csv", "--labl", "y"], "No such option"),
            (["adapt", "s.csv", "b.csv", "--label", "y", "--cost", "free"], "Invalid value for '--cost'"),
            (["adopt"], "No such command 'adopt'"),
            (["reproduce", "figure4"], "Invalid value"),
            (["report", "nothing"], "there is no saved state at nothing/state.npz"),
        ],
    )
    def test_bad_use_is_one_line(self, given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(given) == 2
        err = capsys.readouterr().err
        assert complaint in err
        assert err.count("\n") == 1

    def test_a_failure_is_one_line_and_a_traceback_if_asked_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, batches = write_stream(tmp_path / "in", 1)

        def broken(*_: object, **__: object) -> None:
            raise RuntimeError("the roof\nleaks")

        monkeypatch.setattr(ContinuousTransportClassifier, "partial_fit", broken)
        assert main(arguments(source, batches, tmp_path / "out")) == 1
        assert capsys.readouterr().err == "driftway: failed: RuntimeError: the roof leaks (--debug shows where)\n"
        assert main(arguments(source, batches, tmp_path / "out", "--resume", "--debug")) == 1
        assert "Traceback" in capsys.readouterr().err

    def test_help_and_version(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        # Some machines ask for colours by the environment, whoever reads.
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        monkeypatch.setattr("typer.rich_utils.FORCE_TERMINAL", None, raising=False)
        assert main(["--version"]) == 0
        assert capsys.readouterr().out.startswith("driftway ")
        for command in ("adapt", "report", "solve", "reproduce"):
            assert main([command, "--help"]) == 0
            out = capsys.readouterr().out
            assert command in out
            assert "\x1b" not in out

    def test_an_end_asked_for_comes_between_two_steps(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, batches = write_stream(tmp_path / "in", 3)
        honest = ContinuousTransportClassifier.partial_fit

        def interrupted(self: ContinuousTransportClassifier, X: object) -> ContinuousTransportClassifier:
            signal.raise_signal(signal.SIGTERM)
            return honest(self, X)

        monkeypatch.setattr(ContinuousTransportClassifier, "partial_fit", interrupted)
        assert main(arguments(source, batches, tmp_path / "out")) == 128 + signal.SIGTERM
        assert "stopped before 2 of 3 batches; --resume continues" in capsys.readouterr().err
        assert [path.name for path in (tmp_path / "out" / "predictions").iterdir()] == ["batch01.csv"]
        monkeypatch.undo()
        assert main(arguments(source, batches, tmp_path / "out", "--resume")) == 0
        assert main(arguments(source, batches, tmp_path / "whole")) == 0
        assert contents(tmp_path / "out" / "predictions") == contents(tmp_path / "whole" / "predictions")


def test_the_module_is_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "driftway", "adopt"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
