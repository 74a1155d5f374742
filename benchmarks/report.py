"""Readings as text: on the terminal and as the page `benchmarks/README.md`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.reading import Reading, Table
from benchmarks.shortfalls import WHY

WIDEST = 46  # characters of a cell on the terminal; the page has them all
MARKS = {True: "reached", False: "**not reached**", None: "undecided"}


def terminal(reading: Reading) -> str:
    """A part for the eyes of whoever ran it."""
    lines = [f"\n== {reading.title} =="]
    for table in reading.tables:
        lines += ["", table.title, *_aligned(table)]
    lines += [
        "",
        *(f"[{MARKS[target.reached].strip('*'):^12}] {target.text}: {target.measured}" for target in reading.targets),
    ]
    return "\n".join([*lines, *reading.sentences])


def page(parts: Mapping[str, tuple[dict[str, Any], Reading]]) -> str:
    """The whole page, from the data of the parts and what they mean."""
    lines = [
        "# Benchmarks",
        "",
        "Written by `make bench` from `benchmarks/results/*.json`; do not edit. One part: "
        "`python -m benchmarks --part figure2`; a check that everything works, within minutes and without touching the "
        "results: add `--quick`. This page again from the numbers: `--page`.",
        "",
        "**How it is measured.** All entrants of a case run in one process and interleaved: everybody's first "
        "repetition, then everybody's second. Times are medians. The target is checked by our own evaluation of the "
        "plan that each returns: its marginal error in L1, and its objective after rounding onto the marginals, "
        "relative to the best certified lower bound. Peers run with the loosest of a ladder of settings that "
        "reaches the target, found in an untimed calibration; one that no setting brings there is FAILED, with what "
        "it reached. Who needs longer than the budget is over budget, and its ratio a lower bound.",
        "",
        "## Targets",
        "",
        *_markdown(
            Table(
                "",
                ["part", "target", "", "measured"],
                [
                    [reading.title, target.text, MARKS[target.reached], target.measured]
                    for _, reading in parts.values()
                    for target in reading.targets
                ],
            )
        ),
    ]
    short = [name for name, (_, reading) in parts.items() if any(t.reached is False for t in reading.targets)]
    if short:
        lines += ["", "Where a target is not reached, why:", ""]
        lines += [f"- {parts[name][1].title}: {WHY[name]}" for name in short if name in WHY]
    for name, (data, reading) in parts.items():
        lines += ["", f"## {reading.title}", "", reading.about]
        for sentence in reading.sentences:
            lines += ["", sentence]
        for table in reading.tables:
            lines += ["", f"### {table.title}", "", *_markdown(table)]
        for picture in data.get("pictures", []):
            lines += ["", f"![{reading.title}](results/{picture})"]
        if reading.settings:
            lines += ["", "Settings:", ""]
            lines += [f"- {entrant}: {_listed(settings)}" for entrant, settings in reading.settings.items() if settings]
        lines += [
            "",
            f"Measured{_quickly(data)}{_partly(data)} in {data.get('seconds', 0.0) / 60:.1f} minutes on "
            f"{_machine(data)}.",
            "",
        ]
        lines += [f"Data: [results/{name}.json](results/{name}.json)."]
    return "\n".join(lines) + "\n"


def _quickly(data: dict[str, Any]) -> str:
    return " with `--quick`, so these are not the real numbers," if data.get("quick") else ""


def _partly(data: dict[str, Any]) -> str:
    done, expected = len(data["cases"]), data.get("expected", 0)
    return f" ({done} of {expected} cases only)" if done < expected else ""


def _machine(data: dict[str, Any]) -> str:
    machine = data.get("machine", {})
    packages = ", ".join(f"{name} {version}" for name, version in machine.get("packages", {}).items())
    return f"{machine.get('cpu', 'an unknown processor')}, {machine.get('cores', '?')} cores, Python " + (
        f"{machine.get('python', '?')}, {packages}"
    )


def _listed(settings: list[str], most: int = 4) -> str:
    shown = "; ".join(f"`{text}`" for text in settings[:most])
    return shown if len(settings) <= most else f"{shown} and {len(settings) - most} more in the data"


def _markdown(table: Table) -> list[str]:
    escape = lambda row: [str(text).replace("|", "\\|") for text in row]  # noqa: E731
    lines = [f"| {' | '.join(escape(table.header))} |", f"|{'---|' * len(table.header)}"]
    return lines + [f"| {' | '.join(escape(row))} |" for row in table.rows]


def _aligned(table: Table) -> list[str]:
    rows = [[_short(text) for text in row] for row in (table.header, *table.rows)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(table.header))]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _short(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"
