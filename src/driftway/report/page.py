"""The HTML page: one file with its script, style and data."""

from __future__ import annotations

import base64
import gzip
import json
import os
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from driftway.files.atomic import replacing
from driftway.report.content import content
from driftway.report.snapshot import Snapshot
from driftway.report.text import cards, settings_list, steps_table, subtitle, text, warning_list

SCRIPTS = ("colours.js", "cloud.js", "curves.js", "player.js", "start.js")


def write_report(
    path: str | os.PathLike[str], shots: Sequence[Snapshot], *, estimator: Any, title: str = "Adaptation to drift"
) -> None:
    """Writes the report of a run: one HTML file that needs no network.

    Needs Plotly, the extra `driftway[report]`. An existing file is replaced when the new one is complete.

    Parameters
    ----------
    path : path
        The file to write.
    shots : sequence of Snapshot
        One per step, in order. The slider of the page has at most 200 of them; the curves show all.
    estimator : ContinuousTransportClassifier or ContinuousTransportRegressor
        The estimator that made the steps. The page shows its parameters and classes.
    title : str
        The heading of the page.

    Raises
    ------
    ValueError
        If there are no steps.
    ImportError
        If Plotly is missing.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from driftway import ContinuousTransportClassifier
    >>> from driftway.report import Projection, take_snapshot, write_report
    >>> y = np.repeat([0, 1], 20)
    >>> X = np.random.default_rng(0).normal(size=(40, 2)) + 6 * y[:, None]
    >>> model = ContinuousTransportClassifier(estimator=None).fit(X, y).partial_fit(X)
    >>> shots = [take_snapshot(model, "Monday", X, Projection.fit(X))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "report.html"
    ...     write_report(path, shots, estimator=model, title="The first day")
    ...     print("The first day" in path.read_text(encoding="utf-8"))
    True

    """
    if not shots:
        raise ValueError("shots must hold at least one step, got none")
    page = Template(_asset("page.html")).substitute(
        title=text(title),
        subtitle=subtitle(shots, estimator),
        style=_asset("page.css"),
        cards=cards(shots),
        warnings=warning_list(shots),
        settings=settings_list(estimator),
        steps=steps_table(shots),
        library=_library(),
        data=packed(json.dumps(content(shots, estimator), allow_nan=False, separators=(",", ":"))),
        script="\n".join(_asset(name) for name in SCRIPTS),
    )
    with replacing(Path(path)) as part:
        part.write_text(page, encoding="utf-8", errors="backslashreplace")


def packed(content: str) -> str:
    """Text as base64 of gzip; the same bytes for the same text."""
    return base64.b64encode(gzip.compress(content.encode(), compresslevel=9, mtime=0)).decode()


@lru_cache(maxsize=1)
def _library() -> str:
    """Plotly's script, packed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        raise ImportError("write_report needs Plotly: pip install 'driftway[report]'") from None
    return packed(get_plotlyjs())


def _asset(name: str) -> str:
    return files("driftway.report").joinpath("assets", name).read_text(encoding="utf-8")
