"""`driftway report`: the page of a run, drawn again from its data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from driftway import ContinuousTransportClassifier, ContinuousTransportRegressor
from driftway.adaptation.persistence import read
from driftway.cli.failures import UserError, users_to_mend
from driftway.cli.options import Debug
from driftway.cli.pages import draw
from driftway.cli.places import Places
from driftway.cli.terminal import result

KINDS = {kind.__name__: kind for kind in (ContinuousTransportClassifier, ContinuousTransportRegressor)}


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="What --out of driftway adapt was.")] = Path("adapted"),
    state: Annotated[
        Path | None, typer.Option(help="What --state was; DIR/state.npz by default.", metavar="FILE")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Of the page.", show_default=False)] = None,
    debug: Debug = False,
) -> None:
    """Draw the report of a run again, from what the run saved."""
    places = Places(folder, folder / "state.npz" if state is None else state)
    with users_to_mend():
        try:
            header, _ = read(places.state)
            if header["kind"] not in KINDS:
                raise UserError(f"{places.state}: holds a {header['kind']}, one of {', '.join(KINDS)} is wanted")
            estimator = KINDS[header["kind"]].load(places.state)
        except FileNotFoundError as error:
            raise UserError(f"{error}; driftway adapt makes one") from None
        noted = header["notes"].get("source")
        source = noted.get("name", "a source") if isinstance(noted, dict) else "a source"
        path = draw(places, estimator, title or f"Adaptation of {source}")
    if path is None:
        raise UserError(f"{folder}: the run has made no step yet, there is nothing to draw")
    result(str(path))
