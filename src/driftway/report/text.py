"""The text of the page, readable without scripts: summary, warnings, settings, and the table of steps."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from driftway.report.content import class_names, settings
from driftway.report.snapshot import Snapshot

# The largest number of steps, and of warnings, that a page lists.
MAX_LINES = 1000


def text(value: Any) -> str:
    """A value as text for HTML, escaped."""
    return html.escape(str(value), quote=True)


def subtitle(shots: Sequence[Snapshot], estimator: Any) -> str:
    """The line under the heading: the estimator and the sizes of its data."""
    names = class_names(estimator)
    parts = [
        type(estimator).__name__,
        f"{len(shots)} step{'s' if len(shots) > 1 else ''}",
        f"{shots[0].source.size} source points",
        f"{estimator.n_features_in_} feature{'s' if estimator.n_features_in_ > 1 else ''}",
        *([] if names is None else [f"{len(names)} classes"]),
    ]
    return text(" · ".join(parts))


def cards(shots: Sequence[Snapshot]) -> str:
    """The summary as HTML: scores, confidence, distance, certificates, warnings."""
    classes = shots[0].confidence is not None
    name, form = _score_name(shots), _percent if classes else _two
    found = []
    scores, without = ([value for shot in shots if (value := getattr(shot, key)) is not None] for key in _SCORES)
    if scores:
        beside = f"without adaptation {form(_mean(without))}" if without else f"last step {form(scores[-1])}"
        found.append((f"mean {name}", form(_mean(scores)), beside))
    if classes:
        confidence = [shot.confidence for shot in shots if shot.confidence is not None]
        found.append(("mean confidence", _percent(_mean(confidence)), f"lowest {_percent(min(confidence))}"))
    last = shots[-1].record
    found.append(
        (
            "distance from the source",
            f"{_formed(last['drift'], '.2g' if (last['drift'] or 0) < 100 else '.0f')} ×",
            "what chance explains, at the last step",
        )
    )
    plans = [shot.record for shot in shots if shot.record["gap"] is not None or not shot.record["converged"]]
    if plans:  # other steps were answered without transport
        gaps = [record["gap"] for record in plans]
        worst = "a gap is unknown" if None in gaps else f"largest gap {max(gaps):.1e}"
        found.append(("plans certified", f"{sum(record['converged'] for record in plans)} of {len(plans)}", worst))
    warned = sum(bool(shot.record["warning"]) for shot in shots)
    found.append(("steps with warnings", str(warned), "nothing looked unsafe" if not warned else "listed below"))
    return "".join(
        f"<div class=card><dt>{text(label)}</dt><dd>{text(value)}<small>{text(beside)}</small></dd></div>"
        for label, value, beside in found
    )


def warning_list(shots: Sequence[Snapshot]) -> str:
    """The warnings as HTML, each with a button that moves the slider to its step."""
    warned = [(number, shot) for number, shot in enumerate(shots) if shot.record["warning"]]
    if not warned:
        return "<p>No step looked unsafe.</p>"
    lines = (
        f"<li><button type=button data-at={number}>step {shot.record['step']} · {text(shot.key)}</button> "
        f"{text(shot.record['warning'])}</li>"
        for number, shot in warned[:MAX_LINES]
    )
    return f"<ul class=warnings>{''.join(lines)}</ul>{_rest(len(warned))}"


def settings_list(estimator: Any) -> str:
    """The parameters of the estimator as HTML; those that differ from the default are highlighted."""
    lines = (
        f"<div{' class=changed' if changed else ''}><dt>{text(name)}</dt><dd><code>{text(value)}</code></dd></div>"
        for name, value, changed in settings(estimator)
    )
    return f"<dl class=settings>{''.join(lines)}</dl>"


def steps_table(shots: Sequence[Snapshot]) -> str:
    """The history as an HTML table; a long one is cut to its last steps."""
    columns = [column for column in _COLUMNS if any(_value(shot, column[1]) is not None for shot in shots)]
    header = "".join(f"<th scope=col>{text(label or _score_name(shots))}</th>" for label, _, _ in columns)
    lines = (
        "<tr>" + "".join(f"<td>{text(_formed(_value(shot, key), form))}</td>" for _, key, form in columns) + "</tr>"
        for shot in shots[-MAX_LINES:]
    )
    return (
        f"<table class=steps><thead><tr>{header}</tr></thead><tbody>{''.join(lines)}</tbody></table>{_rest(len(shots))}"
    )


_SCORES = ("score", "baseline")
# Label ("" for the name of the score), name in the snapshot or its record, and format of the table's columns.
_COLUMNS = (
    ("step", "step", "d"),
    ("batch", "key", "s"),
    ("points", "size", "d"),
    ("track", "track", "s"),
    ("answer", "answer", "s"),
    ("", "score", ".3f"),
    ("without adaptation", "baseline", ".3f"),
    ("confidence", "confidence", ".3f"),
    ("signal", "signal", ".1f"),
    ("drift", "drift", ".3g"),
    ("transport", "transport", ".4g"),
    ("moved", "displacement", ".3g"),
    ("class shift", "class_shift", ".2f"),
    ("gap", "gap", ".1e"),
    ("seconds", "seconds", ".3f"),
)


def _score_name(shots: Sequence[Snapshot]) -> str:
    return "R²" if shots[0].confidence is None else "accuracy"


def _value(shot: Snapshot, key: str) -> Any:
    return shot.record[key] if key in shot.record else getattr(shot, key)


def _formed(value: Any, form: str) -> str:
    return "–" if value is None else format(value, form)


def _rest(count: int) -> str:
    return f"<p>{MAX_LINES} of {count} are listed.</p>" if count > MAX_LINES else ""


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _two(value: float) -> str:
    return f"{value:.2f}"
