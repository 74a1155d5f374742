"""The page and the README's table, written from the stored runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.drift import faults, regression, summary, tables
from benchmarks.drift.families import DEVELOPMENT_ONLY, FAMILIES
from benchmarks.drift.peers import TOLD
from benchmarks.drift.summary import Run

PAGE = Path(__file__).resolve().parent.parent / "ADAPTATION.md"
README = PAGE.parent.parent / "README.md"
MARKS = "<!-- written by make evaluate -->", "<!-- to here -->"
IN_README = ("driftway", "static", "standardised", "CORAL", "label shift", "self-training", "SCARGC", "oracle")

PROTOCOL = """# Continuous adaptation

Written by `make evaluate`. Protocol: adapt to an unlabelled batch, then predict it, or a fresh sample of its
distribution where there is one. driftway runs with its defaults, one setting for all streams. Every peer has the same
base classifier ([drift/voting.py](drift/voting.py)) but SCARGC, which has its own.

**What was chosen on what.** Numbers were chosen on the development split: the tables {development} and, for
regression, {regression}, the hard tables of [drift/hard.py](drift/hard.py), seeds below 1000, and the streams marked †
below. All others are held out. Which tables are among them was decided by size and kind: those of KEEL and
scikit-learn that are numeric and have at least {smallest} rows. Left out: {left_out}. The held-out tables were run
eight times. The first run showed that features of two values were never moved, also where they had drifted, and that
rule was changed. The second one showed losses where classes overlap, also where nothing drifts. The cause, answers
that followed the mix of single batches, was then found and mended on tables that are left out here, with their words
as numbers. The third run was of one seed and led to no change but that of one rule, chosen on the same tables that are
left out: from four times the degrees of freedom to a quantile of χ². The fourth showed losses where classes vanish or
overlap. A fifth, of a version that was not kept, told how much of them can be mended by rules that were chosen on
development tables and on those left out; such rules were built anew. The sixth was of one seed and most of a second.
After it a rule for faults was mended, which had lost turning streams of small batches, and a free mix of more than two
classes was made dearer, which keystroke had shown. The seventh, of three seeds, showed what was still lost where mixes
change and classes vanish or overlap. Hard tables were then added to the development split, and the filter of
correlated features, the prior of the mix and its price, and the two ways of standing still were chosen on it. What
follows is the eighth run, of three seeds. The regression tables were run eight times. The first run showed that a
space of features in which the estimator fails had half of the answer. The third one, of three seeds, showed
regressions that fail under the noise of the batches, on one table (midwest) seven times worse than doing nothing.
Since then regressors are compared on features that are slightly off, which was found on a development table, and a
space of features that leaves more of the batches unexplained than another loses its voice. After the sixth a
regression was made to move on clearer evidence only. The seventh showed that logarithms which begin lower, as they do
for classes since then, magnify the noise of small values on midwest; for a regression they begin at the median again.
On development tables that makes no difference. What follows is the eighth run.
A table is 300 labelled rows (or half of it), then 16 batches of 100 of the other rows.

**Who is told more than there is.** {told}: the first two know the shares of the classes in every batch, the oracle has
labelled points of every step's distribution. Nobody else sees a label after the source.

**To enter a method**, add it to `PEERS` in [drift/peers.py](drift/peers.py): a function of a stream and a maker of
classifiers that returns an accuracy per step. Develop it with `python -m benchmarks.drift --split development --entrant
NAME`, then let `make evaluate ARGS="--entrant NAME"` add its column here.

Accuracies are in per cent; for regression, errors in per cent of those of the model that was not adapted. *Margin* is
driftway less the better of static and standardised on the same stream, in points, positive if driftway is better;
*warned* is the share of steps in which driftway warned; *below* the share of steps in which it was more than 5 points
below the better of the two in that step.
"""


def page(runs: list[Run]) -> str:
    """The whole page."""
    parts = [_protocol(), "## In short", short_table(runs), "## How driftway compares, stream by stream"]
    parts += [distribution(runs), "### The ten worst streams", worst_table(runs)]
    for family, group in _families(runs).items():
        parts += [f"## {FAMILIES[family].capitalize()}", *tables_of(family, group)]
    parts += faults.section()
    return "\n\n".join(parts) + "\n"


def short_table(runs: list[Run]) -> str:
    """A line per family, with the stream on which driftway compares worst."""
    entrants = [name for name in IN_README if any(name in run["found"] for run in runs)]
    lines = [_row(["", "streams", *entrants, "worst stream: margin, warned"]), _rule(len(entrants) + 3)]
    for family, group in _families(runs).items():
        (name, margin, warned, _), *_ = summary.worst(group, 1) or [("–", np.nan, np.nan, np.nan)]
        cells = [_cell(summary.mean(group, entrant)) for entrant in entrants]
        told = f"{name}: {margin:+.1f}, {100 * warned:.0f} %"
        lines.append(_row([FAMILIES[family], str(len(summary.streams(group))), *cells, told]))
    missing = [kind for family, kind in FAMILIES.items() if family not in (*_families(runs), *DEVELOPMENT_ONLY)]
    return "\n".join(lines) + (f"\n\nNot evaluated yet in this version: {'; '.join(missing)}." if missing else "")


def distribution(runs: list[Run]) -> str:
    """Quantiles of the margins over streams, by family, and how often they are low."""
    names = [f"{100 * quantile:.0f} %" for quantile in summary.QUANTILES]
    names[0], names[-1] = "lowest", "highest"
    lines = [_row(["margin", "streams", *names, "below −2", "below −5"]), _rule(len(names) + 4)]
    for family, group in {**_families(runs), "all": runs}.items():
        found = list(summary.margins(group).values())
        if not found:
            continue
        cells = [f"{value:+.1f}" for value in np.quantile(found, summary.QUANTILES)]
        low = [f"{100 * summary.share_below(found, points):.0f} %" for points in (2.0, 5.0)]
        lines.append(_row([FAMILIES.get(family, "**all**"), str(len(found)), *cells, *low]))
    return "\n".join(lines)


def worst_table(runs: list[Run], count: int = 10) -> str:
    """The streams on which driftway compares worst, and how often it said so."""
    lines = [_row(["stream", "margin", "warned", "below"]), _rule(4)]
    for name, margin, warned, below in summary.worst(runs, count):
        lines.append(_row([name, f"{margin:+.1f}", f"{100 * warned:.0f} %", f"{100 * below:.0f} %"]))
    return "\n".join(lines)


def table(groups: dict[str, list[Run]], first: str) -> str:
    """A line per group of runs, a column per entrant."""
    entrants = summary.entrants([run for group in groups.values() for run in group])
    lines = [_row([first, "runs", *entrants, "margin", "warned"]), _rule(len(entrants) + 4)]
    for name, group in groups.items():
        cells = [_cell(summary.mean(group, entrant)) for entrant in entrants]
        found = list(summary.margins(group).values())
        margin = f"{np.mean(found):+.1f}" if found else "–"
        seen = " †" if all(run["seen"] for run in group) else ""
        lines.append(_row([name + seen, str(len(group)), *cells, margin, f"{100 * summary.warned(group):.0f} %"]))
    return "\n".join(lines)


def write(runs: list[Run]) -> None:
    """Writes the page, and the README's table between its marks."""
    PAGE.write_text(page(runs), encoding="utf-8")
    README.write_text(between_marks(README.read_text(encoding="utf-8"), short_table(runs)), encoding="utf-8")


def between_marks(text: str, new: str) -> str:
    """The text with what stands between the marks replaced."""
    (before, _, rest), (first, last) = text.partition(MARKS[0]), MARKS
    return f"{before}{first}\n{new}\n{last}{rest.partition(last)[2]}"


def tables_of(family: str, runs: list[Run]) -> list[str]:
    """By stream; streams of tables by kind of drift and by table instead."""
    if family not in ("tables", "hard", "regression"):
        return [table(summary.streams(runs), "stream")]
    by_kind = summary.grouped(runs, lambda run: run["stream"].partition(", ")[2])
    by_table = summary.grouped(runs, lambda run: run["stream"].partition(", ")[0].removeprefix("regression: "))
    return [table(by_kind, "drift"), table(by_table, "table")]


def _families(runs: list[Run]) -> dict[str, list[Run]]:
    """The runs by family, in the order of the families."""
    found = summary.grouped(runs, lambda run: run["family"])
    return {family: found[family] for family in FAMILIES if family in found}


def _protocol() -> str:
    reasons: dict[str, list[str]] = {}
    for name, reason in tables.LEFT_OUT.items():
        reasons.setdefault(reason, []).append(name)
    return PROTOCOL.format(
        development=", ".join(tables.DEVELOPMENT),
        regression=", ".join(regression.DEVELOPMENT),
        smallest=tables.SMALLEST,
        left_out="; ".join(f"{', '.join(names)} ({reason})" for reason, names in reasons.items()),
        told=" and ".join(f"*{name}*" for name in TOLD),
    ).strip()


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def _cell(mean: float | None) -> str:
    """A score in per cent; a dash for who did not run."""
    return "–" if mean is None else "failed" if np.isnan(mean) else f"{100 * mean:.1f}"
