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
from driftway.adaptation.shapes import Shapes
from driftway.adaptation.tracker import REMEMBERED, Tracker, TrackerState, Voice

Arrays = dict[str, npt.NDArray[Any]]

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


def carried_in(
    arrays: Mapping[str, npt.NDArray[Any]], prefix: str = "", *, features: int, classes: int | None
) -> Carried:
    """What is carried, of arrays that `packed` made, checked for so many features and classes (None: a regression)."""
    shapes, groups = Shapes(arrays, d=features), classes or 1
    heaps = _heaps_in(shapes, prefix, groups)
    numbers = groups if heaps is None else len(heaps.means)
    at = f"{prefix}carried."
    points = shapes.take(f"{at}source", "nd")
    targets = f"{at}targets", "n"
    now = shapes.take(f"{at}now", "tnd")
    return Carried(
        source=points,
        targets=shapes.take(*targets) if classes is None else shapes.take(*targets, "i", least=0, most=groups - 1),
        groups=shapes.take(f"{at}groups", "n", "i", least=0, most=groups - 1),
        heaps=heaps,
        members=shapes.take(f"{at}members", "n", "i", least=0, most=numbers - 1),
        weights=shapes.shares(f"{at}weights", "n", whole=True),
        now=now,
        expected=shapes.take(f"{at}expected", "tnd"),
        masses=shapes.shares(f"{at}masses", "tn"),
        scores=shapes.take(f"{at}scores", "t"),
        still=float(shapes.take(f"{at}still", "")),
        drifting=bool(shapes.take(f"{at}drifting", "", "b")),
        chosen=int(shapes.take(f"{at}chosen", "", "i", least=0, most=len(now) - 1)),
        steps=int(shapes.take(f"{at}steps", "", "i", least=0)),
    )


def _heaps_in(shapes: Shapes, prefix: str, classes: int) -> Heaps | None:
    at = f"{prefix}heaps."
    if f"{at}means" not in shapes:
        return None
    covariances = shapes.take(f"{at}covariances", "hdd")
    if not (np.linalg.eigvalsh(covariances) > 0).all():
        raise ValueError(f"array {at + 'covariances'!r} holds matrices that are no covariances")
    heaps = shapes.sizes["h"]
    return Heaps(
        means=shapes.take(f"{at}means", "hd"),
        covariances=covariances,
        masses=shapes.shares(f"{at}masses", "h"),
        owners=shapes.take(f"{at}owners", "h", "i", least=0, most=classes - 1),
        parents=shapes.take(f"{at}parents", "h", "i", least=0, most=heaps - 1),
        velocities=shapes.take(f"{at}velocities", "hd"),
        paces=shapes.take(f"{at}paces", "h", least=0.0),
        evidence=shapes.take(f"{at}evidence", "h"),
        classes=int(shapes.take(f"{at}classes", "", "i", least=classes, most=classes)),
    )


def unpacked(
    tracker: Tracker, arrays: Mapping[str, npt.NDArray[Any]], sample: Sample, classes: int | None
) -> tuple[TrackerState, tuple[Voice, ...]]:
    """The state and the voices that `packed` described."""
    shapes = Shapes(arrays)
    remembered = int(shapes.take("remembered", "", "i", least=0, most=REMEMBERED))
    before = [_state_in(tracker, arrays, f"before.{number}.", classes) for number in range(remembered)]
    state = replace(_state_in(tracker, arrays, "", classes), before=tuple(before))
    places = shapes.take("voices", "v2", "i", least=-1)
    weights = shapes.shares("weights", "v", whole=True) if len(places) else shapes.take("weights", "v")
    if tracker.panels and not len(places):
        raise ValueError("array 'voices' is empty, so nobody answers")
    voices = []
    for number, ((p, h), weight) in enumerate(zip(places, weights, strict=True)):
        if p < 0:
            if tracker.transport is None:
                raise ValueError("array 'voices' names the transported source, which these settings do not have")
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


def _state_in(
    tracker: Tracker, arrays: Mapping[str, npt.NDArray[Any]], prefix: str, classes: int | None
) -> TrackerState:
    shapes = Shapes(arrays)
    advantage, surprise, adapting, left, batches, overrules = map(
        float, shapes.take(f"{prefix}rivalry", "6", infinite=True)
    )
    if not 0 <= batches < np.inf:
        raise ValueError(f"array {prefix + 'rivalry'!r} counts {batches:g} batches")
    if overrules and tracker.transport is None:
        raise ValueError(f"array {prefix + 'rivalry'!r} is of a transported source, which these settings do not have")
    aside, usual, surprised = shapes.take(f"{prefix}memory", "3")
    carried = carried_in(arrays, prefix, features=tracker.carried.source.shape[1], classes=classes)
    if carried.now.shape[0] != len(tracker.carried.now) or (carried.heaps is None) != (tracker.carried.heaps is None):
        raise ValueError(f"what is carried ({prefix}carried) is of other tracks than these settings have")
    if tracker.panels and len(carried.source) != len(tracker.carried.source):
        raise ValueError(f"{len(carried.source)} points are carried, the source has {len(tracker.carried.source)}")
    panels, beliefs = [], []
    for p, panel in enumerate(tracker.panels):
        panels.append(
            tuple(each.state(_named(arrays, f"{prefix}state.{p}.{h}.")) for h, each in enumerate(panel.hypotheses))
        )
        believed = Shapes(arrays, h=len(panel.hypotheses))
        misfits, energies, shares = believed.take(f"{prefix}beliefs.{p}", "3h", infinite=True)
        if not (np.isfinite(shares).all() and shares.min() >= 0.0 and shares.sum() > 0.0):
            raise ValueError(f"array '{prefix}beliefs.{p}' holds beliefs {shares}")
        heard = int(believed.take(f"{prefix}heard.{p}", "", "i", least=0))
        beliefs.append(Beliefs(misfits, energies, shares, heard))
    return TrackerState(
        panels=tuple(panels),
        beliefs=tuple(beliefs),
        carried=carried,
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
