"""The state of a tracker as arrays by name, to be saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.carried import Carried
from driftway.adaptation.heaps import Heaps
from driftway.adaptation.judge import Beliefs, Rivalry
from driftway.adaptation.labels import Sample
from driftway.adaptation.tracker import Tracker, TrackerState, Voice

Arrays = dict[str, npt.NDArray[Any]]

# Entries of what is carried that are no arrays, and those of heaps.
SCALARS: dict[str, Any] = {"still": float, "drifting": bool, "chosen": int, "steps": int}
HEAPS = [field.name for field in fields(Heaps)]


def packed(tracker: Tracker, state: TrackerState, voices: tuple[Voice, ...]) -> Arrays:
    """The state, those that are remembered, and what is needed to go on answering."""
    arrays = _state_arrays(state, "")
    arrays["remembered"] = np.array(len(state.before))
    for number, each in enumerate(state.before):
        arrays |= _state_arrays(each, f"before.{number}.")
    places = {id(each): (p, h) for p, panel in enumerate(tracker.panels) for h, each in enumerate(panel.hypotheses)}
    # The transported source, which is of no panel, answers by its sample.
    arrays["voices"] = np.array([places.get(id(voice.hypothesis), (-1, -1)) for voice in voices]).reshape(-1, 2)
    arrays["weights"] = np.array([voice.weight for voice in voices])
    for number, voice in enumerate(voices):
        arrays |= {f"voice.{number}.{name}": array for name, array in voice.fit.arrays().items()}
    return arrays


def carried_in(arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "") -> Carried:
    """What is carried, of arrays that `packed` made."""
    values: dict[str, Any] = {name: arrays[f"{prefix}carried.{name}"] for name in _entries()}
    values |= {name: kind(values[name]) for name, kind in SCALARS.items()}
    heaps = None
    if f"{prefix}heaps.means" in arrays:
        parts: dict[str, Any] = {name: arrays[f"{prefix}heaps.{name}"] for name in HEAPS}
        heaps = Heaps(**parts | {"classes": int(parts["classes"])})
    return Carried(**values, heaps=heaps)


def unpacked(
    tracker: Tracker, arrays: Mapping[str, npt.NDArray[Any]], sample: Sample
) -> tuple[TrackerState, tuple[Voice, ...]]:
    """The state and the voices that `packed` described."""
    before = [_state_in(tracker, arrays, f"before.{number}.") for number in range(int(arrays["remembered"]))]
    state = replace(_state_in(tracker, arrays, ""), before=tuple(before))
    voices = []
    for number, ((p, h), weight) in enumerate(zip(arrays["voices"], arrays["weights"], strict=True)):
        if p < 0:
            assert tracker.transport is not None
            voices.append(Voice(tracker.transport, tracker.transport.restored(state.carried, sample), float(weight)))
        else:
            hypothesis = tracker.panels[p].hypotheses[h]
            fit = hypothesis.restored(state.panels[p][h], _named(arrays, f"voice.{number}."))
            voices.append(Voice(hypothesis, fit, float(weight)))
    return state, tuple(voices)


def _state_arrays(state: TrackerState, prefix: str) -> Arrays:
    carried: Carried = state.carried
    arrays: Arrays = {f"carried.{name}": np.asarray(getattr(carried, name)) for name in _entries()}
    if carried.heaps is not None:
        arrays |= {f"heaps.{name}": np.asarray(getattr(carried.heaps, name)) for name in HEAPS}
    arrays["rivalry"] = np.array(astuple(state.rivalry), dtype=np.float64)
    arrays["memory"] = np.array([state.aside, state.usual, state.surprised], dtype=np.float64)
    for p, (states, beliefs) in enumerate(zip(state.panels, state.beliefs, strict=True)):
        arrays[f"beliefs.{p}"] = np.stack([beliefs.misfits, beliefs.energies, beliefs.shares])
        arrays[f"heard.{p}"] = np.array(beliefs.heard)
        for h, own in enumerate(states):
            arrays |= {f"state.{p}.{h}.{name}": array for name, array in own.arrays().items()}
    return {f"{prefix}{name}": array for name, array in arrays.items()}


def _state_in(tracker: Tracker, arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> TrackerState:
    advantage, surprise, adapting, left, batches, overrules = map(float, arrays[f"{prefix}rivalry"])
    aside, usual, surprised = arrays[f"{prefix}memory"]
    panels, beliefs = [], []
    for p, panel in enumerate(tracker.panels):
        panels.append(
            tuple(each.state(_named(arrays, f"{prefix}state.{p}.{h}.")) for h, each in enumerate(panel.hypotheses))
        )
        misfits, energies, shares = arrays[f"{prefix}beliefs.{p}"]
        beliefs.append(Beliefs(misfits, energies, shares, int(arrays[f"{prefix}heard.{p}"])))
    return TrackerState(
        panels=tuple(panels),
        beliefs=tuple(beliefs),
        carried=carried_in(arrays, prefix),
        rivalry=Rivalry(advantage, surprise, adapting, left, int(batches), bool(overrules)),
        aside=int(aside),
        usual=float(usual),
        surprised=bool(surprised),
    )


def _entries() -> list[str]:
    """What is carried, but for the heaps, which have entries of their own."""
    return [field.name for field in fields(Carried) if field.name != "heaps"]


def _named(arrays: Mapping[str, npt.NDArray[Any]], prefix: str) -> Arrays:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
