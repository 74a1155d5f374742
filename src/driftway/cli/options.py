"""The options of `driftway adapt`; those of the method are declared with the estimators' parameters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from driftway.adaptation.parameters import (
    CLASSIFIER,
    CostName,
    HypothesesName,
    LabelsName,
    MapName,
    MarginalsName,
    MotionName,
    ScaleName,
)
from driftway.arrays.parameters import Real, Whole

FILES, WATCHING, METHOD, SOLVER, OUTPUT = "Files", "Watching a folder", "Method", "Transport", "Output"
DECLARED = {parameter.name: parameter for parameter in CLASSIFIER}


def _declared(name: str, panel: str, metavar: str | None = None) -> Any:
    """The option of a parameter, with its declared meaning; other parameters are named as their options are."""
    parameter = DECLARED[name]
    if isinstance(parameter.accepts, Real | Whole):
        metavar = "X" if isinstance(parameter.accepts, Real) else "N"
    told = re.sub("`(\\w+)`", lambda other: f"--{other[1].replace('_', '-')}", parameter.meaning)
    return typer.Option(help=told, metavar=metavar, rich_help_panel=panel)


Source = Annotated[Path, typer.Argument(help="Labelled data: a CSV, Parquet or NPZ file.", metavar="SOURCE")]
Batches = Annotated[
    list[Path] | None, typer.Argument(help="Unlabelled batches, in the order in which they came.", metavar="BATCH")
]
Label = Annotated[
    str, typer.Option(help="The column of the labels.", metavar="COLUMN", rich_help_panel=FILES, show_default=False)
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="A column that is copied to the predictions.", metavar="COLUMN", rich_help_panel=FILES),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="The columns to use, with commas between them; all but label and id by default.",
        metavar="A,B,…",
        rich_help_panel=FILES,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="Of the fields in CSV files; a comma by default, a tab for .tsv.", metavar="C", rich_help_panel=FILES
    ),
]
Out = Annotated[Path, typer.Option(help="The folder for all that is written.", metavar="DIR", rich_help_panel=FILES)]
State = Annotated[
    Path | None,
    typer.Option(
        help="The file that the run is resumed from; OUT/state.npz by default.", metavar="FILE", rich_help_panel=FILES
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Go on where an earlier run stopped, or begin if there is none.", rich_help_panel=FILES
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Forget an earlier run in the same place.", rich_help_panel=FILES)
]
Format = Annotated[
    Literal["csv", "parquet", "npz"] | None,
    typer.Option(help="Of the predictions; that of the batch by default.", rich_help_panel=FILES),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        help="In CSV, an apostrophe before texts that a spreadsheet would execute, such as =1+1.", rich_help_panel=FILES
    ),
]
Watch = Annotated[
    Path | None,
    typer.Option(help="Adapt to the batches of this folder as they arrive.", metavar="DIR", rich_help_panel=WATCHING),
]
Interval = Annotated[
    float,
    typer.Option(
        help="Between two looks. A file must be the same in both.", metavar="SECONDS", rich_help_panel=WATCHING
    ),
]
UntilIdle = Annotated[
    float | None,
    typer.Option(
        help="End after so long without a new file; 0: when those there are done. By default it never ends.",
        metavar="SECONDS",
        rich_help_panel=WATCHING,
    ),
]
Regression = Annotated[
    bool, typer.Option("--regression", help="Labels are quantities, not classes.", rich_help_panel=METHOD)
]
Inner = Annotated[
    Literal["auto", "nearest", "linear", "forest"],
    typer.Option(
        help="What answers: a vote chosen on the source, neighbours, a linear model, trees.", rich_help_panel=METHOD
    ),
]
Neighbours = Annotated[
    int | None,
    typer.Option(help="How many neighbours vote, for --estimator nearest.", metavar="K", rich_help_panel=METHOD),
]
Hypotheses = Annotated[HypothesesName, _declared("hypotheses", METHOD)]
Marginals = Annotated[MarginalsName, _declared("marginals", METHOD)]
Scale = Annotated[Literal[ScaleName, "none"], _declared("scale", METHOD)]
Map = Annotated[MapName, _declared("map", METHOD)]
Motion = Annotated[Literal[MotionName, "none"], _declared("motion", METHOD)]
Labels = Annotated[LabelsName, _declared("labels", METHOD)]
Renew = Annotated[
    bool, typer.Option("--renew", help="Let the labelled batch take the source's place.", rich_help_panel=METHOD)
]
Clusters = Annotated[bool, _declared("clusters", METHOD)]
Stay = Annotated[bool, _declared("stay", METHOD)]
Epsilon = Annotated[float, _declared("epsilon", SOLVER)]
Absolute = Annotated[
    bool,
    typer.Option("--absolute-epsilon", help="Take ε as it is, not times the mean cost.", rich_help_panel=SOLVER),
]
TimeWeight = Annotated[float, _declared("time_weight", SOLVER)]
LabelWeight = Annotated[float, _declared("label_weight", SOLVER)]
Metric = Annotated[str, _declared("metric", SOLVER, "NAME")]
Cost = Annotated[CostName, _declared("cost", SOLVER)]
Tol = Annotated[float, _declared("tol", SOLVER)]
Iterations = Annotated[int, _declared("solver_iterations", SOLVER)]
Json = Annotated[
    bool, typer.Option("--json", help="One line of JSON per batch on standard output.", rich_help_panel=OUTPUT)
]
Report = Annotated[bool, typer.Option(help="Whether to draw OUT/report.html.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback if something fails.")]
