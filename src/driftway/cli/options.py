"""The options of `driftway adapt`. Those of the method come from the declared parameters of the estimators."""

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
    """The option of a declared parameter. Names of other parameters in its meaning become names of options."""
    parameter = DECLARED[name]
    if isinstance(parameter.accepts, Real | Whole):
        metavar = "X" if isinstance(parameter.accepts, Real) else "N"
    told = re.sub("`(\\w+)`", lambda other: f"--{other[1].replace('_', '-')}", parameter.meaning)
    return typer.Option(help=told, metavar=metavar, rich_help_panel=panel)


Source = Annotated[Path, typer.Argument(help="Labelled data: a CSV, Parquet or NPZ file.", metavar="SOURCE")]
Batches = Annotated[list[Path] | None, typer.Argument(help="Unlabelled batches, oldest first.", metavar="BATCH")]
Label = Annotated[
    str, typer.Option(help="The column with the labels.", metavar="COLUMN", rich_help_panel=FILES, show_default=False)
]
Id = Annotated[
    str | None,
    typer.Option("--id", help="A column to copy to the predictions.", metavar="COLUMN", rich_help_panel=FILES),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="The columns to learn from, separated by commas. By default all except label and id.",
        metavar="A,B,…",
        rich_help_panel=FILES,
    ),
]
Separator = Annotated[
    str | None,
    typer.Option(
        help="The separator in CSV files. By default what separates the names in the header.",
        metavar="C",
        rich_help_panel=FILES,
    ),
]
Out = Annotated[Path, typer.Option(help="The folder for all output.", metavar="DIR", rich_help_panel=FILES)]
State = Annotated[
    Path | None,
    typer.Option(
        help="The file with the state of the run. By default OUT/state.npz.", metavar="FILE", rich_help_panel=FILES
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume", help="Continue the run in this folder, or start one if there is none.", rich_help_panel=FILES
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Delete the run in this folder and start anew.", rich_help_panel=FILES)
]
Format = Annotated[
    Literal["csv", "parquet", "npz"] | None,
    typer.Option(help="The format of the predictions. By default that of the batch.", rich_help_panel=FILES),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        help="In CSV, put an apostrophe before texts that a spreadsheet would execute, such as =1+1.",
        rich_help_panel=FILES,
    ),
]
Watch = Annotated[
    Path | None,
    typer.Option(help="Adapt to every file that arrives in this folder.", metavar="DIR", rich_help_panel=WATCHING),
]
Interval = Annotated[
    float,
    typer.Option(
        help="How often to look into the folder. A file is read when it is the same in two looks.",
        metavar="SECONDS",
        rich_help_panel=WATCHING,
    ),
]
UntilIdle = Annotated[
    float | None,
    typer.Option(
        help="Stop after this long without a new file; 0: when the present files are done. By default never.",
        metavar="SECONDS",
        rich_help_panel=WATCHING,
    ),
]
Regression = Annotated[
    bool, typer.Option("--regression", help="Labels are numbers to predict, not classes.", rich_help_panel=METHOD)
]
Inner = Annotated[
    Literal["auto", "nearest", "linear", "forest"],
    typer.Option(
        help="What predicts: a vote of models chosen on the source, nearest neighbours, a linear model, or a forest.",
        rich_help_panel=METHOD,
    ),
]
Neighbours = Annotated[
    int | None,
    typer.Option(help="The number of neighbours for --estimator nearest.", metavar="K", rich_help_panel=METHOD),
]
Hypotheses = Annotated[HypothesesName, _declared("hypotheses", METHOD)]
Marginals = Annotated[MarginalsName, _declared("marginals", METHOD)]
Scale = Annotated[Literal[ScaleName, "none"], _declared("scale", METHOD)]
Map = Annotated[MapName, _declared("map", METHOD)]
Motion = Annotated[Literal[MotionName, "none"], _declared("motion", METHOD)]
Labels = Annotated[LabelsName, _declared("labels", METHOD)]
Renew = Annotated[
    bool,
    typer.Option(
        "--renew", help="After a step, the batch with its predicted labels replaces the source.", rich_help_panel=METHOD
    ),
]
Clusters = Annotated[bool, _declared("clusters", METHOD)]
Stay = Annotated[bool, _declared("stay", METHOD)]
Epsilon = Annotated[float, _declared("epsilon", SOLVER)]
Absolute = Annotated[
    bool,
    typer.Option(
        "--absolute-epsilon", help="Give --epsilon in units of the cost, not of its mean.", rich_help_panel=SOLVER
    ),
]
TimeWeight = Annotated[float, _declared("time_weight", SOLVER)]
LabelWeight = Annotated[float, _declared("label_weight", SOLVER)]
Metric = Annotated[str, _declared("metric", SOLVER, "NAME")]
Cost = Annotated[CostName, _declared("cost", SOLVER)]
Tol = Annotated[float, _declared("tol", SOLVER)]
Iterations = Annotated[int, _declared("solver_iterations", SOLVER)]
Json = Annotated[bool, typer.Option("--json", help="Print one line of JSON per batch.", rich_help_panel=OUTPUT)]
Report = Annotated[bool, typer.Option(help="Write OUT/report.html.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback if the command fails.")]
