"""What happened, in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from driftway.adaptation.history import Record
from driftway.adaptation.hypotheses.hypothesis import Moved

# Features and classes that are worth a word: a fifth of a deviation, a fifth of the spread, a twentieth of the points.
SHIFT, GAIN, SHARE = 0.2, 0.2, 0.05
# So many are named, those that moved most.
NAMED = 3


def in_words(moved: Moved, features: Sequence[str], classes: Sequence[Any]) -> str:
    """One sentence on the features and classes that moved most since the source."""
    parts = []
    by_shift = np.argsort(-np.abs(moved.shift))[:NAMED]
    parts += [
        f"{features[j]} {'rose' if moved.shift[j] > 0 else 'fell'} by {abs(moved.shift[j]):.1f} standard deviations"
        for j in by_shift
        if abs(moved.shift[j]) >= SHIFT
    ]
    by_gain = np.argsort(-np.abs(np.log(np.maximum(moved.gain, 1e-12))))[:NAMED]
    parts += [
        f"the spread of {features[j]} is {moved.gain[j]:.2g} times what it was"
        for j in by_gain
        if abs(np.log(max(float(moved.gain[j]), 1e-12))) >= GAIN
    ]
    if len(classes) == len(moved.mix):
        change = moved.mix - moved.usual
        parts += [
            f"{100 * moved.mix[k]:.0f} % are {classes[k]} instead of {100 * moved.usual[k]:.0f} %"
            for k in np.argsort(-np.abs(change))[:NAMED]
            if abs(change[k]) >= SHARE
        ]
    return "since the source, " + "; ".join(parts) if parts else "nothing moved since the source"


def gaps_in_words(record: Record) -> str:
    """What of the last batch was missing or new, to be put behind that sentence."""
    parts = []
    if record.missing:
        parts.append(f"{record.missing} cell{'s' if record.missing > 1 else ''} of the last batch had no value")
    if record.unseen:
        parts.append(f"{record.unseen} had a category that the source does not have")
    return "; " + "; ".join(parts) if parts else ""
