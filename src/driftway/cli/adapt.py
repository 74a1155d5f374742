"""`driftway adapt`: a labelled file, then unlabelled ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from driftway.cli import options as given
from driftway.cli.estimators import fitted, inner
from driftway.cli.failures import UserError, users_to_mend
from driftway.cli.places import Places
from driftway.cli.run import Run
from driftway.cli.stopping import Stop, stopping
from driftway.cli.telling import Teller
from driftway.cli.terminal import bar, tell
from driftway.cli.watching import Arrivals
from driftway.tables import Columns, Table, TableError, format_of, read_content, read_table


def adapt(
    source: given.Source,
    batches: given.Batches = None,
    label: given.Label = ...,  # type: ignore[assignment]
    id: given.Id = None,  # noqa: A002 - the option's name
    features: given.Features = None,
    separator: given.Separator = None,
    out: given.Out = Path("adapted"),
    state: given.State = None,
    resume: given.Resume = False,
    overwrite: given.Overwrite = False,
    format: given.Format = None,  # noqa: A002 - the option's name
    watch: given.Watch = None,
    interval: given.Interval = 1.0,
    until_idle: given.UntilIdle = None,
    regression: given.Regression = False,
    estimator: given.Inner = "nearest",
    neighbours: given.Neighbours = None,
    marginals: given.Marginals = "balanced",
    scale: given.Scale = "auto",
    map: given.Map = "auto",  # noqa: A002 - the option's name
    motion: given.Motion = "auto",
    labels: given.Labels = "auto",
    renew: given.Renew = False,
    stay: given.Stay = True,
    epsilon: given.Epsilon = 0.1,
    absolute_epsilon: given.Absolute = False,
    time_weight: given.TimeWeight = 0.0,
    label_weight: given.LabelWeight = 0.0,
    metric: given.Metric = "sqeuclidean",
    cost: given.Cost = "sequential",
    tol: given.Tol = 1e-5,
    solver_iterations: given.Iterations = 1000,
    json: given.Json = False,
    report: given.Report = True,
    debug: given.Debug = False,
) -> int:
    """Learn from labelled data once, then follow unlabelled batches as the data drifts.

    Into --out go predictions with probabilities for every batch, a history, a report to look at, and the state.

    Example: driftway adapt labelled.csv monday.csv tuesday.csv --label species --id plant
    """
    settings: dict[str, Any] = {
        "estimator": inner(estimator, neighbours, regression),
        "marginals": marginals,
        "scale": None if scale == "none" else scale,
        "map": map,
        "motion": None if motion == "none" else motion,
        "labels": labels,
        "source": "renewed" if renew else "kept",
        "stay": stay,
        "epsilon": epsilon,
        "relative_epsilon": not absolute_epsilon,
        "time_weight": time_weight,
        "label_weight": label_weight,
        "metric": metric,
        "cost": cost,
        "tol": tol,
        "solver_iterations": solver_iterations,
    }
    files = _files(batches, watch, out, interval, until_idle)
    _check_names(label, id, separator, resume, overwrite)
    table, columns = _read_source(source, label, id, features, separator)
    model = fitted(table, label, settings, regression=regression)
    reader = _Reader(columns, separator)
    digests = {path.name: reader.read(path).digest for path in files}
    places = Places(out, out / "state.npz" if state is None else state, format)
    _check_predictions(places, files)
    with _opened(Run(places, model, table, columns), resume, overwrite) as run, stopping() as stop:
        for name, digest in digests.items():
            run.check(name, digest)
        teller = Teller(run, label, as_json=json, draws=report)
        if watch is None:
            left = _adapt_to(run, files, reader, teller, stop)
        else:
            own = source.name if source.resolve().parent == watch.resolve() else None
            arrivals = Arrivals(
                watch,
                lambda name: name == own or run.is_done(name),
                stop,
                interval=interval,
                idle=until_idle,
                first=run.under_way(),
            )
            left = _adapt_as_they_arrive(run, arrivals, reader, teller, watch)
        teller.finish()
    if watch is None and left:
        tell(f"driftway: stopped before {left} of {len(files)} batches; --resume goes on from here")
        return 128 + stop.signal
    return 2 if left and not stop else 0


class _Reader:
    """Reads batches with the columns of the source; the label is there or not."""

    def __init__(self, columns: Columns, separator: str | None) -> None:
        self._columns, self._separator = columns._replace(needed=frozenset({"id"})), separator

    def read(self, path: Path, content: bytes | None = None) -> Table:
        try:
            return read_table(path, self._columns, separator=self._separator, content=content)
        except (TableError, ImportError) as error:
            raise UserError(str(error)) from error

    def read_arrived(self, path: Path) -> Table:
        """Reads a file that may not be whole: text without an end of its last line is not."""
        with users_to_mend():
            content = read_content(path)
        if content and format_of(path) == "csv" and not content.endswith((b"\n", b"\r")):
            raise UserError(f"{path}: its last line has no end, so it is left alone as half-written until it changes")
        return self.read(path, content)


def _files(
    batches: list[Path] | None, watch: Path | None, out: Path, interval: float, idle: float | None
) -> list[Path]:
    """The batches that are named, or none if a folder is watched."""
    if watch is None:
        if not batches:
            raise UserError("no batches: name some files after the source, or a folder with --watch")
        if idle is not None:
            raise UserError("--until-idle goes with --watch")
        return batches
    if batches:
        raise UserError(f"either batches or --watch, not both: got {batches[0]} and {watch}")
    if not watch.is_dir():
        raise UserError(f"{watch}: there is no such folder to watch")
    if watch.resolve() == out.resolve():
        raise UserError(f"--out {out} must be another folder than the one that is watched")
    if not interval > 0:
        raise UserError(f"--interval must be positive, got {interval:g}")
    if idle is not None and not idle >= 0:
        raise UserError(f"--until-idle must not be negative, got {idle:g}")
    return []


def _check_names(label: str, id_column: str | None, separator: str | None, resume: bool, overwrite: bool) -> None:
    if label == id_column:
        raise UserError(f"--label and --id must be different columns, got {label!r} for both")
    if id_column == "predicted":
        raise UserError("--id must not be 'predicted', which is the column of the predictions")
    if separator is not None and len(separator) != 1:
        raise UserError(f"--separator must be one character, got {separator!r}")
    if resume and overwrite:
        raise UserError("either --resume or --overwrite, not both")


def _read_source(
    path: Path, label: str, id_column: str | None, features: str | None, separator: str | None
) -> tuple[Table, Columns]:
    """The source, and the columns by their names."""
    chosen = None if features is None else tuple(name.strip() for name in features.split(","))
    for name in chosen or ():
        if name in (label, id_column, ""):
            raise UserError(f"--features must name columns other than label and id, got {name!r}")
    if chosen is not None and len(set(chosen)) < len(chosen):
        raise UserError(f"--features must name every column once, got {features}")
    columns = Columns(chosen, label, id_column, frozenset({"label"}))
    try:
        table = read_table(path, columns, separator=separator)
    except TableError as error:
        hint = "; --features chooses columns" if chosen is None and error.column is not None else ""
        raise UserError(f"{error}{hint}") from error
    except ImportError as error:
        raise UserError(str(error)) from error
    return table, columns._replace(features=table.names)


def _check_predictions(places: Places, files: list[Path]) -> None:
    """Every batch must have predictions of its own."""
    taken: dict[Path, Path] = {}
    for path in files:
        other = taken.setdefault(places.predictions(path.name), path)
        if other is not path:
            raise UserError(f"{path}: its predictions would overwrite those of {other}; rename one of them")


@contextmanager
def _opened(run: Run, resume: bool, overwrite: bool) -> Iterator[Run]:
    """The run, begun or taken up again, and nobody else's meanwhile."""
    places = run.places
    if places.state.exists() and not (resume or overwrite):
        raise UserError(f"{places.state}: there is a run already; --resume goes on with it, --overwrite forgets it")
    places.prepare()
    with places.alone():
        if places.state.exists() and overwrite:
            run.forget()
        if places.state.exists():
            run.resume()
        else:
            run.begin()
        yield run


def _adapt_to(run: Run, files: list[Path], reader: _Reader, teller: Teller, stop: Stop) -> int:
    """Adapts to files in their order, but first to one that was under way; returns how many were not reached."""
    first = run.under_way()
    left = [path for path in files if not run.is_done(path.name)]
    if len(left) < len(files):
        tell(f"driftway: {len(files) - len(left)} of {len(files)} batches were done before")
    with bar(len(left)) as progress:
        for number, path in enumerate(sorted(left, key=lambda path: path.name != first)):
            if stop:
                return len(left) - number
            progress.doing(path.name)
            _step(run, path, reader.read(path), teller)
            progress.advance()
    return 0


def _adapt_as_they_arrive(run: Run, arrivals: Arrivals, reader: _Reader, teller: Teller, folder: Path) -> int:
    """Adapts to files as they come until the end is asked for or there are none; returns how many were refused."""
    with bar(None) as progress:
        for path in arrivals:
            if path is None:
                progress.doing(f"watching {folder}, {len(run.batches)} batches so far")
                teller.draw()
                continue
            progress.doing(path.name)
            try:
                table = reader.read_arrived(path)
                if not arrivals.unchanged(path.name):
                    continue
                run.check(path.name, table.digest)
                _step(run, path, table, teller)
            except UserError as error:
                tell(f"driftway: {error}")
                arrivals.refuse(path.name)
    return len(arrivals.refused)


def _step(run: Run, path: Path, table: Table, teller: Teller) -> None:
    teller.step(run.adapt(path.name, table), table)
