"""The command line of the benchmarks: `python -m benchmarks [--part NAME] [--quick]`."""

from __future__ import annotations

import argparse
import importlib
import math
import tempfile
from pathlib import Path
from typing import Any

from benchmarks import machine, plots, storage
from benchmarks.ledger import Ledger
from benchmarks.reading import Reading
from benchmarks.report import page, terminal
from benchmarks.scale import Scale

PARTS = ("figure2", "group_lasso", "entropic", "growth", "small", "newton", "sweep")
PAGE = "README.md"


def main(arguments: list[str] | None = None) -> None:
    """Runs the parts asked for, which store their numbers case by case, draws them and writes the page."""
    options = _options(arguments)
    folder = options.output
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="driftway-bench-")) if options.quick else storage.RESULTS
    scale = Scale(options.quick, options.largest, options.patience, options.minutes)
    if not options.page:
        machine.import_everything()
    for name in () if options.page else options.part or PARTS:
        part = importlib.import_module(f"benchmarks.parts.{name}")
        about = {"quick": scale.quick, "machine": machine.describe()}
        part.run(scale, Ledger(folder, name, resume=options.resume, again=options.again, **about))
        data = storage.load(folder, name)
        print(terminal(part.read(data)) if data else f"{name}: no case was measured", flush=True)
    written = write_page(folder)
    print(f"\nresults and pictures: {_shown(folder)}\npage: {_shown(written)}" if written else "\nno results yet")


def write_page(folder: Path) -> Path | None:
    """Draws all parts that have numbers and writes the page: beside the results folder for the real ones."""
    parts: dict[str, tuple[dict[str, Any], Reading]] = {}
    for name in PARTS:
        data = storage.load(folder, name)
        if data is not None and data["cases"]:
            data["pictures"] = plots.draw(name, data, folder)
            parts[name] = data, importlib.import_module(f"benchmarks.parts.{name}").read(data)
    if not parts:
        return None
    real = folder == storage.RESULTS
    text = page(parts)
    path = (folder.parent if real else folder) / PAGE
    path.write_text(text if real else text.replace("(results/", "("), encoding="utf-8")
    return path


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--part", action="append", choices=PARTS, help="only this part; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small sizes, into a temporary directory")
    parser.add_argument("--largest", type=int, default=100_000, help="largest n of the growth and entropic parts")
    parser.add_argument("--patience", type=float, default=1.0, help="factor on the seconds that everybody has per run")
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no further entropic case after that")
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results")
    parser.add_argument("--resume", action="store_true", help="keep the stored cases and run those that are missing")
    parser.add_argument(
        "--again",
        action="append",
        default=[],
        metavar="TEXT",
        help="like --resume, but run cases with TEXT in their label",
    )
    parser.add_argument("--page", action="store_true", help="only draw and write the page from stored results")
    return parser.parse_args(arguments)


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


if __name__ == "__main__":
    main()
