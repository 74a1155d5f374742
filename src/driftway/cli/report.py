"""`driftway report`: write the report of a run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation.persistence import read
from driftway.cli.failures import UserError, as_user_error
from driftway.cli.options import Debug
from driftway.cli.pages import draw
from driftway.cli.places import Places
from driftway.cli.terminal import print_result

KINDS = {kind.__name__: kind for kind in (ContinuousTransportClassifier, ContinuousTransportRegressor)}


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the run.")] = Path("adapted"),
    state: Annotated[
        Path | None, typer.Option(help="The state of the run. By default DIR/state.npz.", metavar="FILE")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The title of the page.", show_default=False)] = None,
    debug: Debug = False,
) -> None:
    """Write the report of a run of driftway adapt again, from its saved data."""
    if folder.is_file():
        raise UserError(f"{folder}: is a file; give the folder that was --out of driftway adapt")
    places = Places(folder, folder / "state.npz" if state is None else state)
    with as_user_error():
        try:
            header, _ = read(places.state)
            if header["kind"] not in KINDS:
                raise UserError(f"{places.state}: must hold one of {', '.join(KINDS)}, got a {header['kind']}")
            estimator = KINDS[header["kind"]].load(places.state)
        except FileNotFoundError as error:
            raise UserError(f"{error}; driftway adapt makes one") from None
        noted = header["notes"].get("source")
        source = noted.get("name", "a source") if isinstance(noted, dict) else "a source"
        path = draw(places, estimator, title or f"Adaptation of {source}")
    if path is None:
        raise UserError(f"{folder}: there is nothing to show, since the run has made no step yet")
    print_result(str(path))
