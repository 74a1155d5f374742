"""`driftway adapt`: learn from a labelled file, then adapt to unlabelled ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from driftway.cli import options as given
from driftway.cli.estimators import fitted_estimator, settings_of, told_of_columns
from driftway.cli.failures import UserError, message_of
from driftway.cli.inputs import Reader, check_predictions, read_source
from driftway.cli.output import Output
from driftway.cli.places import Places
from driftway.cli.run import Run
from driftway.cli.stopping import Stop, stopping
from driftway.cli.terminal import bar, print_message
from driftway.cli.watching import Arrivals


def adapt(
    context: typer.Context,
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
    escape_formulas: given.EscapeFormulas = True,
    watch: given.Watch = None,
    interval: given.Interval = 1.0,
    until_idle: given.UntilIdle = None,
    regression: given.Regression = False,
    estimator: given.Inner = "auto",
    neighbours: given.Neighbours = None,
    hypotheses: given.Hypotheses = "auto",
    marginals: given.Marginals = "balanced",
    clusters: given.Clusters = True,
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
    """Learn from labelled data, then adapt to unlabelled batches as the data drifts, and predict each.

    The folder --out gets the predictions for every batch, a history of the steps, an HTML report, and the saved state.

    Example: driftway adapt labelled.csv monday.csv tuesday.csv --label species --id plant
    """
    settings = settings_of(context.params)
    files = _files(batches, watch, out, interval, until_idle)
    _check_names(label, id, separator, resume, overwrite)
    table, columns = read_source(source, label, id, features, separator)
    model = fitted_estimator(table, label, settings, regression=regression)
    reader = Reader(columns, separator, regression=regression)
    digests = {path.name: reader.read(path).digest for path in files}
    places = Places(out, out / "state.npz" if state is None else state, format)
    check_predictions(places, files)
    run = Run(places, model, table, columns, escape=escape_formulas)
    with _opened(run, resume, overwrite), stopping() as stop:
        for name, digest in digests.items():
            run.check(name, digest)
        if told := told_of_columns(model.columns_):
            print_message(f"driftway: {source}: {told}")
        output = Output(run, label, as_json=json, draws=report)
        if watch is None:
            left = _adapt_to(run, files, reader, output, stop)
        else:
            within = (path.name for path in (source, source.resolve()) if path.parent.resolve() == watch.resolve())
            own = next(within, None)
            arrivals = Arrivals(watch, lambda name: name == own or run.is_done(name), stop, interval, until_idle)
            left = _adapt_as_they_arrive(run, arrivals, reader, output)
        output.finish()
    if watch is None and left:
        print_message(f"driftway: stopped before {left} of {len(files)} batches; --resume continues")
        return 128 + stop.signal
    return 2 if left and not stop else 0


def _files(
    batches: list[Path] | None, watch: Path | None, out: Path, interval: float, idle: float | None
) -> list[Path]:
    """The given batches, or none if a folder is watched; raises if the options contradict each other."""
    if watch is None:
        if not batches:
            raise UserError("no batches: name files after the source, or a folder with --watch")
        if idle is not None:
            raise UserError("--until-idle needs --watch")
        folder = next((path for path in batches if path.is_dir()), None)
        if folder is not None:
            raise UserError(f"{folder}: is a folder; name its files, or use --watch {folder}")
        return batches
    if batches:
        raise UserError(f"give either batches or --watch, not both: got {batches[0]} and {watch}")
    if not watch.is_dir():
        raise UserError(f"--watch {watch}: there is no such folder")
    if watch.resolve() == out.resolve():
        raise UserError(f"--out {out} must not be the watched folder")
    if not interval > 0:
        raise UserError(f"--interval must be positive, got {interval:g}")
    if idle is not None and not idle >= 0:
        raise UserError(f"--until-idle must not be negative, got {idle:g}")
    return []


def _check_names(label: str, id_column: str | None, separator: str | None, resume: bool, overwrite: bool) -> None:
    if label == id_column:
        raise UserError(f"--label and --id must be different columns, got {label!r} for both")
    if id_column is not None and (id_column == "predicted" or id_column.startswith("probability_")):
        raise UserError(f"--id must not be {id_column!r}, which is a column of the predictions")
    if separator is not None and len(separator) != 1:
        raise UserError(f"--separator must be one character, got {separator!r}")
    if resume and overwrite:
        raise UserError("give either --resume or --overwrite, not both")


@contextmanager
def _opened(run: Run, resume: bool, overwrite: bool) -> Iterator[None]:
    """Context manager: starts or resumes the run, and locks it for this process."""
    places = run.places
    existing = None if overwrite or (resume and places.state.exists()) else places.existing()
    if existing == places.state:
        raise UserError(f"{existing}: there is a run already; --resume continues it, --overwrite deletes it")
    if existing is not None:
        raise UserError(f"{existing}: exists and belongs to no run; --overwrite replaces it")
    places.prepare()
    with places.locked():
        if places.state.exists() and overwrite:
            run.delete()
        if places.state.exists():
            run.resume()
        else:
            run.start()
        yield


def _adapt_to(run: Run, files: list[Path], reader: Reader, output: Output, stop: Stop) -> int:
    """Adapts to files in their order, an unfinished one first; returns how many are left when it is stopped."""
    first = run.unfinished()
    left = [path for path in files if not run.is_done(path.name)]
    if len(left) < len(files):
        print_message(f"driftway: {len(files) - len(left)} of {len(files)} batches are done already")
    with bar(len(left)) as progress:
        for number, path in enumerate(sorted(left, key=lambda path: path.name != first)):
            if stop:
                return len(left) - number
            progress.doing(path.name)
            table = reader.read(path)
            output.step(run.adapt(path.name, table), table)
            progress.advance()
    return 0


def _adapt_as_they_arrive(run: Run, arrivals: Arrivals, reader: Reader, output: Output) -> int:
    """Adapts to files as they arrive, until stopped or idle; returns how many are refused."""
    with bar(None) as progress:
        for path in arrivals.after(run.unfinished()):
            if path is None:
                progress.doing(f"waiting for batches, {len(run.ledger)} so far")
                output.draw()
                continue
            progress.doing(path.name)
            try:
                table = reader.read_arrived(path)
                if not arrivals.unchanged(path.name):
                    continue
                run.check(path.name, table.digest)
                output.step(run.adapt(path.name, table), table)
            except OSError:  # a full disk, for example, is not an error of the file
                raise
            except Exception as error:
                if not arrivals.unchanged(path.name):  # it is not what was refused any more, or gone
                    continue
                told = str(error) if isinstance(error, UserError) else f"{path}: {message_of(error)}"
                print_message(f"driftway: {told}")
                arrivals.refuse(path.name)
    return len(arrivals.refused)
