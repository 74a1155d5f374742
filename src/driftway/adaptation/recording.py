"""The record of a step, and what to warn of."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.adaptation.history import History, Record, signal
from driftway.adaptation.tracker import Told
from driftway.adaptation.tracking import SHIFTED

Double = npt.NDArray[np.float64]

UNUSUAL = 5.0  # standard deviations of the log-energy beyond which a step warns
# And the nats that a batch leaves unexplained beyond which it does: twice what is usual in the discriminant space.
POORLY = 10.0
# A step warns, too, if a hypothesis that is believed more than the first answers more than the second of the batch
# otherwise: then it hangs on what cannot be known.
PLAUSIBLE, OTHERWISE = 0.1, 0.08
# And if the loudest hypothesis moves and could do without a class that is answered for more than this share of the
# batch, at less than so many nats (odds of seven to one): it may have left, and the map made up for it.
ANSWERED, UNTOLD = 0.15, 2.0
# The transported source objects only to more than this: it is the worse classifier of tables.
OBJECTIONS = 0.2


def of_transport(told: Told, history: History, size: int, classes: int | None, tol: float, seconds: float) -> Record:
    """The record of a step that the transported source answers."""
    assert told.transported is not None
    step, voice = told.transported.step, told.voices[0]
    solution, warning = step.solution, []
    # Among other hypotheses distances are in multiples of chance, as theirs are.
    energy, drift = (told.far, told.drift) if told.fits else (step.energy, step.drift)
    unusual = signal(history, energy)
    shift = np.nan if classes is None else step.class_shift
    if not solution.converged:
        warning.append(f"the plan is not solved to tol={tol:g} (gap {solution.gap:.1e})")
    warning += _put_aside(told) if told.aside else _unusual(unusual)
    if step.denies(SHIFTED):
        warning.append(
            f"about {100 * shift:.0f} % of the mass seems to have changed class, which balanced marginals deny; "
            'consider marginals="estimated"'
        )
    return Record(
        step=history.steps + 1,
        size=size,
        track=step.track.name,
        answer="adapted" if step.moves else "source",
        belief=voice.weight,
        misfit=np.nan,
        transport=step.transport,
        displacement=step.displacement,
        energy=energy,
        signal=unusual,
        drift=drift,
        class_shift=shift,
        gap=solution.gap,
        converged=solution.converged,
        seconds=seconds,
        warning="; ".join(warning),
    )


def of_sensors(
    told: Told,
    history: History,
    size: int,
    names: Any,
    labels: Any,
    seconds: float,
) -> Record:
    """The record of a step that the hypotheses of a panel answer; `labels` is None for a regression."""
    voice = told.voices[0]
    hypothesis, fit, happened = voice.hypothesis, voice.fit, voice.fit.explain()
    unusual, warning = signal(history, told.far), []
    if told.aside:
        warning += _put_aside(told)
    elif _left(told) > POORLY:
        warning.append(f"the batch is not well explained ({_left(told):.0f} nats are left): answers may be wrong")
    if not told.aside:
        warning += _unusual(unusual)
        warning += _in_doubt(told) or _untold(told, labels)
    if dead := [str(names[j]) for j in np.flatnonzero(happened.dead)]:
        warning.append(f"{', '.join(dead[:5])}{' …' if len(dead) > 5 else ''} stand still and were left out")
    mix = np.sum([each.weight * each.fit.explain().mix for each in told.voices], axis=0)
    return Record(
        step=history.steps + 1,
        size=size,
        track=hypothesis.name,
        answer="adapted" if hypothesis.moves else "source",
        belief=float(sum(each.weight for each in told.voices if each.hypothesis.name == hypothesis.name)),
        misfit=float(fit.misfit + fit.energy),
        transport=fit.displacement**2,
        displacement=fit.displacement,
        energy=told.far,
        signal=unusual,
        drift=told.drift,
        class_shift=np.nan if labels is None else 0.5 * float(np.abs(mix - happened.usual).sum()),
        gap=np.nan,
        converged=True,
        seconds=seconds,
        warning="; ".join(warning),
    )


def _put_aside(told: Told) -> list[str]:
    return [
        f"no hypothesis explains the batch ({_left(told):.0f} nats are left): it was answered as well as can be and "
        "has changed nothing; a second one like it will be followed"
    ]


def _unusual(deviations: float) -> list[str]:
    if not deviations > UNUSUAL:
        return []
    return [f"the batch is {deviations:.0f} standard deviations further from what was expected than usual"]


def _in_doubt(told: Told) -> list[str]:
    """Hypotheses that are not refuted and would have answered otherwise."""
    beliefs: dict[str, float] = {}
    answers: dict[str, Double] = {}
    for voice in told.voices:
        name, answer = voice.hypothesis.name, voice.weight * voice.fit.of_batch()
        beliefs[name] = beliefs.get(name, 0.0) + voice.weight
        answers[name] = answers[name] + answer if name in answers else answer
    together = np.sum(list(answers.values()), axis=0)
    if together.ndim == 1:
        return []
    given = together.argmax(axis=1)
    differ = {name: float(np.mean(answer.argmax(axis=1) != given)) for name, answer in answers.items()}
    if told.transported is not None and told.state.rivalry.expected_better and not told.resampled:
        objections = float(np.mean(told.transported.received.argmax(axis=1) != given))
        if objections > OBJECTIONS:
            return [
                f"the transported source, which expected the batches better, would answer {100 * objections:.0f} % of "
                'the batch otherwise; if features turn or mix, consider hypotheses="transport"'
            ]
    return [
        f'"{name}", which is believed by {100 * beliefs[name]:.0f} %, would answer {100 * differ[name]:.0f} % of the '
        "batch otherwise: without labels nobody can tell"
        for name in answers
        if beliefs[name] > PLAUSIBLE and differ[name] > OTHERWISE
    ] or _with_another_mix(told)


def _with_another_mix(told: Told) -> list[str]:
    """A hypothesis that is believed, and would answer otherwise with a mix that the batch does not rule out."""
    for voice in told.voices:
        otherwise = voice.fit.otherwise() if voice.weight > PLAUSIBLE else None
        if otherwise is None:
            continue
        part = float(np.mean(otherwise.argmax(axis=1) != voice.fit.of_batch().argmax(axis=1)))
        if part > OTHERWISE:
            return [
                f'"{voice.hypothesis.name}" would answer {100 * part:.0f} % of the batch otherwise with another mix of '
                "the classes, which is not ruled out: without labels nobody can tell"
            ]
    return []


def _untold(told: Told, labels: Any) -> list[str]:
    """Classes that may have left: the batch would look much the same without them."""
    voice = told.voices[0]
    answers = np.sum([each.weight * each.fit.of_batch() for each in told.voices], axis=0)
    if answers.ndim == 1 or not voice.hypothesis.moves:
        return []
    shares = np.bincount(answers.argmax(axis=1), minlength=answers.shape[1]) / len(answers)
    asked = np.flatnonzero((shares > ANSWERED) & (shares < 1.0))
    gone = [str(labels[group]) for group in asked if voice.fit.without(int(group)) < UNTOLD]
    if not gone:
        return []
    return [
        f"the batch would look much the same without class {' or '.join(gone)}: classes overlap so much that a change "
        "of their mix cannot be told from drift: without labels nobody can tell"
    ]


def _left(told: Told) -> float:
    """The nats that the best hypothesis leaves."""
    return min(fit.misfit + fit.energy for fits in told.fits for fit in fits)
