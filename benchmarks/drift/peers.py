"""Every reference method by its name; each takes a stream and a maker of classifiers, and gives a score per step."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from benchmarks.drift import labels, mapping, moments
from benchmarks.drift.protocol import Make, error
from benchmarks.streams import Stream

Peer = Callable[[Stream, Make], list[float]]

PEERS: dict[str, Peer] = {
    "static": moments.static,
    "standardised": moments.standardised,
    "told the mix": moments.told_the_mix,
    "told the mix, corrected": lambda stream, make: moments.told_the_mix(stream, make, corrected=True),
    "CORAL": moments.coral,
    "label shift": labels.label_shift,
    "self-training": labels.self_training,
    "SCARGC": lambda stream, make: labels.scargc(stream),
    "POT step by step": mapping.pot_stepwise,
    "skada transport": mapping.skada_transport,
    "skada subspaces": mapping.skada_subspaces,
    "oracle": labels.oracle,
}
OF_REGRESSION: dict[str, Peer] = {
    "static": lambda stream, make: moments.static(stream, make, error),
    "standardised": lambda stream, make: moments.standardised(stream, make, error),
    "CORAL": lambda stream, make: moments.coral(stream, make, error),
    "oracle": lambda stream, make: labels.oracle(stream, make, error),
}
TOLD = ("told the mix", "told the mix, corrected", "oracle")  # those who see what nobody has
NEEDS = {"POT step by step": "ot", "skada transport": "skada", "skada subspaces": "skada"}


def installed(name: str) -> bool:
    """Whether the library that a peer needs is there."""
    return name not in NEEDS or importlib.util.find_spec(NEEDS[name]) is not None
