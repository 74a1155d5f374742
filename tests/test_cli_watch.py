"""A watched folder: each file once, in the order of the names, when it is whole; and a kill changes nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from files import contents, moons, write_stream

from driftway import ContinuousTransportClassifier
from driftway.cli import main
from driftway.cli.stopping import Stop
from driftway.files import write_table

pytest.importorskip("typer")
pytest.importorskip("plotly")

from driftway.cli import run as run_module
from driftway.cli.watching import Arrivals, is_batch


def arguments(source: Path, folder: Path, out: Path, *more: str) -> list[str]:
    watched = ["--watch", str(folder), "--interval", "0.05", "--resume"]
    return ["adapt", str(source), "--label", "kind", "--id", "name", "--out", str(out), *watched, *more]


@pytest.fixture
def stream(tmp_path: Path) -> tuple[Path, Path, dict[str, bytes]]:
    """A source, a folder of five batches, and the predictions of a run that was not disturbed."""
    source, batches = write_stream(tmp_path / "batches", 5)
    source = source.rename(tmp_path / "source.csv")
    given = ["--label", "kind", "--id", "name", "--out", str(tmp_path / "whole"), "--no-report"]
    assert main(["adapt", str(source), *map(str, batches), *given]) == 0
    return source, tmp_path / "batches", contents(tmp_path / "whole" / "predictions")


class Killed(BaseException):
    """As far as the program can tell: it is not there any more."""


class TestKills:
    @pytest.mark.parametrize("window", ["snapshot", "predictions", "ledger", "state", "history"])
    @pytest.mark.parametrize("when", ["before", "after"])
    def test_whenever_it_is_killed_the_next_process_writes_the_same(
        self,
        window: str,
        when: str,
        stream: tuple[Path, Path, dict[str, bytes]],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        source, folder, wanted = stream
        place, name = {
            "snapshot": (run_module.Pages, "keep"),
            "predictions": (run_module, "write_table"),
            "state": (run_module.Run, "_save"),
            "ledger": (run_module.Ledger, "append"),
            "history": (run_module, "append_row"),
        }[window]
        honest = getattr(place, name)
        calls = iter(range(100))

        def killed(*given: object, **named: object) -> object:
            strikes = next(calls) == (2 if window == "ledger" else 3)
            if strikes and when == "before":
                raise Killed
            result = honest(*given, **named)
            if strikes:
                raise Killed
            return result

        monkeypatch.setattr(place, name, killed)
        with pytest.raises(Killed):
            main(arguments(source, folder, tmp_path / "out", "--until-idle", "0"))
        monkeypatch.undo()
        # A file that comes before the one under way must not come between.
        late = folder / "batch00.csv"
        if window in ("predictions", "ledger", "state") and when == "before":
            write_table(late, moons(1)[1][0])
        assert main(arguments(source, folder, tmp_path / "out", "--until-idle", "0")) == 0
        found = contents(tmp_path / "out" / "predictions")
        history = (tmp_path / "out" / "history.csv").read_text().splitlines()
        names = [line.split(",")[1] for line in history[1:]]
        if late.exists():
            assert [name[5:7] for name in names] == ["01", "02", "03", "00", "04", "05"]
            assert {name: found[name] for name in names[:3]} == {name: wanted[name] for name in names[:3]}
        else:
            assert found == wanted
            assert names == sorted(wanted)
        assert len(list((tmp_path / "out" / "steps").iterdir())) == len(names)

    def test_a_real_process_killed_several_times(
        self, stream: tuple[Path, Path, dict[str, bytes]], tmp_path: Path
    ) -> None:
        source, folder, wanted = stream
        out = tmp_path / "out"
        watching = [sys.executable, "-m", "driftway", *arguments(source, folder, out)]  # which never ends by itself
        command = [*watching, "--until-idle", "0"]
        for batches in (1, 3):
            process = subprocess.Popen(watching, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while len(list(out.glob("predictions/*.csv"))) < batches:
                assert process.poll() is None
                time.sleep(0.002)
            process.kill()
            assert process.wait() == -signal.SIGKILL
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, contents(out / "predictions")) == (0, wanted), done.stderr
        assert not list(out.rglob(".*.part"))
        assert len((out / "history.csv").read_text().splitlines()) == 6

    def test_signals_end_it_cleanly(self, stream: tuple[Path, Path, dict[str, bytes]], tmp_path: Path) -> None:
        source, folder, wanted = stream
        out = tmp_path / "out"

        def ask() -> None:
            while not (out / "report.html").exists():
                time.sleep(0.01)
            signal.raise_signal(signal.SIGTERM)

        threading.Thread(target=ask, daemon=True).start()
        assert main(arguments(source, folder, out)) == 0
        assert contents(out / "predictions") == wanted
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class TestArrivals:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "in").mkdir()
        return tmp_path / "in"

    def test_files_come_in_the_order_of_their_names_once(self, folder: Path) -> None:
        for name in ("b.csv", "a.parquet", "c.npz", ".hidden.csv", "d.csv.part", "notes.md", "~e.csv", "f.csv~"):
            (folder / name).write_text("x")
        (folder / "folder.csv").mkdir()
        done: set[str] = set()
        found = []
        for path in Arrivals(folder, done.__contains__, Stop(), 0.001, 0.0).after(None):
            if path is not None:
                found.append(path.name)
                done.add(path.name)
        assert found == ["a.parquet", "b.csv", "c.npz"]

    def test_one_that_grows_is_waited_for_and_holds_back_those_after_it(self, folder: Path) -> None:
        (folder / "a.csv").write_text("")
        (folder / "b.csv").write_text("x")
        looks = iter(range(100))

        def growing(name: str) -> bool:
            if name == "a.csv" and (look := next(looks)) < 5:
                with (folder / "a.csv").open("a") as file:
                    file.write("x" * (look + 1))
            return name in done

        done: set[str] = set()
        found = []
        for path in Arrivals(folder, growing, Stop(), 0.001, 0.0).after(None):
            if path is not None:
                found.append((path.name, path.stat().st_size))
                done.add(path.name)
        assert found == [("a.csv", 15), ("b.csv", 1)]

    def test_one_that_was_refused_comes_again_when_it_has_changed(self, folder: Path) -> None:
        (folder / "a.csv").write_text("x")
        (folder / "b.csv").write_text("x")
        done: set[str] = set()
        arrivals = Arrivals(folder, done.__contains__, Stop(), 0.001, 0.0)
        found = []
        for path in arrivals.after(None):
            if path is None:
                continue
            found.append(path.name)
            if path.read_text() == "x" and path.name == "a.csv":
                arrivals.refuse(path.name)
                assert arrivals.refused == ["a.csv"]
            else:
                done.add(path.name)
                (folder / "a.csv").write_text("xx")
        assert found == ["a.csv", "b.csv", "a.csv"]
        assert arrivals.refused == []

    def test_names_of_batches(self) -> None:
        assert [
            name for name in ("a.csv", "A.CSV", "a.pq", "a.txt", "a", ".a.csv", "a.csv.tmp", "a.json") if is_batch(name)
        ] == [
            "a.csv",
            "A.CSV",
            "a.pq",
            "a.txt",
        ]


class TestFiles:
    def test_half_written_and_bad_files_are_left_alone_until_they_change(
        self, stream: tuple[Path, Path, dict[str, bytes]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, folder, wanted = stream
        last = sorted(folder.iterdir())[-1]
        whole = last.read_bytes()
        assert main(arguments(source, folder, tmp_path / "first", "--until-idle", "0")) == 0
        capsys.readouterr()
        for number, size in enumerate((0, 25, len(whole) // 2, len(whole) - 1)):
            last.write_bytes(whole[:size])
            assert main(arguments(source, folder, tmp_path / "out", "--until-idle", "0")) == 2
            lines = [line for line in capsys.readouterr().err.splitlines() if last.name in line]
            assert len(lines) == 1, number
            assert last.name not in contents(tmp_path / "out" / "predictions")
        last.write_bytes(whole)
        assert main(arguments(source, folder, tmp_path / "out", "--until-idle", "0")) == 0
        assert contents(tmp_path / "out" / "predictions") == wanted

    def test_the_source_and_what_was_done_are_no_batches(
        self, stream: tuple[Path, Path, dict[str, bytes]], tmp_path: Path
    ) -> None:
        source, folder, wanted = stream
        source = source.rename(folder / "a-source.csv")
        for _ in range(2):
            assert main(arguments(source, folder, tmp_path / "out", "--until-idle", "0")) == 0
            assert contents(tmp_path / "out" / "predictions") == wanted
        assert ContinuousTransportClassifier.load(tmp_path / "out" / "state.npz").n_seen_ == 5

    def test_two_processes_do_not_share_a_run(
        self, stream: tuple[Path, Path, dict[str, bytes]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        pytest.importorskip("fcntl")
        from driftway.cli.places import Places

        source, folder, _ = stream
        places = Places(tmp_path / "out", tmp_path / "out" / "state.npz")
        places.prepare()
        with places.locked():
            assert main(arguments(source, folder, tmp_path / "out", "--until-idle", "0")) == 2
        assert "another process is working on this run" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("more", "complaint"),
        [
            (["--watch", "nothing"], "--watch nothing: there is no such folder"),
            (["--out", "{}"], "must not be the watched folder"),
            (["--interval", "0"], "--interval must be positive"),
            (["--until-idle", "-1"], "--until-idle must not be negative"),
        ],
    )
    def test_bad_use(self, more: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        source, _ = write_stream(tmp_path / "in", 0)
        given = [text.format(tmp_path / "in") for text in more]
        assert main(arguments(source, tmp_path / "in", tmp_path / "out", *given)) == 2
        err = capsys.readouterr().err
        assert complaint in err
        assert err.count("\n") == 1
