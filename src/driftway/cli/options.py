"""The options of `driftway adapt`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

FILES, WATCHING, METHOD, SOLVER, OUTPUT = "Files", "Watching a folder", "Method", "Transport", "Output"

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
Hypotheses = Annotated[
    Literal["auto", "sensors", "transport"],
    typer.Option(
        help="What may drift: gains, offsets and mix; all that transport follows; or both.", rich_help_panel=METHOD
    ),
]
Marginals = Annotated[
    Literal["balanced", "estimated"],
    typer.Option(help="Whether classes keep their shares, or these are estimated.", rich_help_panel=METHOD),
]
Scale = Annotated[
    Literal["auto", "common", "features", "none"],
    typer.Option(help="One unit for all features, one for each, or as they are.", rich_help_panel=METHOD),
]
Map = Annotated[
    Literal["auto", "barycentric", "affine", "kernel"],
    typer.Option(help="How the source is carried; goes with --motion.", rich_help_panel=METHOD),
]
Motion = Annotated[
    Literal["auto", "none", "affine", "classes"],
    typer.Option(help="Where the source is expected next; goes with --map.", rich_help_panel=METHOD),
]
Labels = Annotated[
    Literal["auto", "classifier", "plan"],
    typer.Option(help="Train on the carried source, or on the batch by the plan.", rich_help_panel=METHOD),
]
Renew = Annotated[
    bool, typer.Option("--renew", help="Let the labelled batch take the source's place.", rich_help_panel=METHOD)
]
Clusters = Annotated[bool, typer.Option(help="Follow classes that are clusters as Gaussians.", rich_help_panel=METHOD)]
Stay = Annotated[bool, typer.Option(help="Answer by the source as long as no drift is seen.", rich_help_panel=METHOD)]
Epsilon = Annotated[float, typer.Option(help="The strength of the entropy ε.", metavar="X", rich_help_panel=SOLVER)]
Absolute = Annotated[
    bool,
    typer.Option("--absolute-epsilon", help="Take ε as it is, not times the mean cost.", rich_help_panel=SOLVER),
]
TimeWeight = Annotated[
    float,
    typer.Option(help="How firmly the source's images stay where expected.", metavar="X", rich_help_panel=SOLVER),
]
LabelWeight = Annotated[
    float, typer.Option(help="How firmly classes are kept apart.", metavar="X", rich_help_panel=SOLVER)
]
Metric = Annotated[
    str, typer.Option(help="Any metric of SciPy's cdist, by its name.", metavar="NAME", rich_help_panel=SOLVER)
]
Cost = Annotated[
    Literal["sequential", "static"],
    typer.Option(help="Transport from where the source is, or from where it began.", rich_help_panel=SOLVER),
]
Tol = Annotated[
    float, typer.Option(help="The gap at which a plan counts as solved.", metavar="X", rich_help_panel=SOLVER)
]
Iterations = Annotated[
    int,
    typer.Option(
        "--solver-iterations", help="Of the solver, per plan, at the most.", metavar="N", rich_help_panel=SOLVER
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="One line of JSON per batch on standard output.", rich_help_panel=OUTPUT)
]
Report = Annotated[bool, typer.Option(help="Whether to draw OUT/report.html.", rich_help_panel=OUTPUT)]
Debug = Annotated[bool, typer.Option("--debug", help="Show a traceback if something fails.")]
