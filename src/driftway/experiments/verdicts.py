"""Verdicts on claims: from measurements in several cases to "confirmed" or "not confirmed"."""

from __future__ import annotations

from dataclasses import dataclass

CONFIRMED, CONDITIONAL, REFUTED = "confirmed", "confirmed under a condition", "not confirmed"
UNDECIDED = "not decided"


@dataclass(frozen=True)
class Observation:
    """One case: the values of its factors, what was measured, and whether the claim holds there.

    `held` is None if the data do not decide it.
    """

    factors: dict[str, str]
    measured: str
    held: bool | None

    @property
    def name(self) -> str:
        return ", ".join(self.factors.values())


@dataclass(frozen=True)
class Claim:
    """A claim: its words in the paper, what was measured to test it, and the observations."""

    quote: str
    measure: str
    observations: list[Observation]

    @property
    def verdict(self) -> str:
        known = [each.held for each in self.observations if each.held is not None]
        if not known:
            return UNDECIDED
        return CONFIRMED if all(known) else CONDITIONAL if any(known) else REFUTED

    @property
    def condition(self) -> str:
        """Where the claim holds, if only in some cases: by the factor that decides it, or else as a list of cases."""
        if self.verdict != CONDITIONAL:
            return ""
        known = [each for each in self.observations if each.held is not None]
        for factor in known[0].factors:
            answers: dict[str, set[bool | None]] = {}
            for each in known:
                answers.setdefault(each.factors[factor], set()).add(each.held)
            if all(len(values) == 1 for values in answers.values()):
                return f"it holds for {_listed([value for value, held in answers.items() if held == {True}])}"
        failed = [each.name for each in known if not each.held]
        if 2 * len(failed) < len(known):
            return f"it holds everywhere but for {_listed(failed, '; ')}"
        return f"it holds for {_listed([each.name for each in known if each.held], '; ')}"


def _listed(names: list[str], separator: str = ", ") -> str:
    return separator.join(names[:-1]) + (" and " if names[1:] else "") + names[-1]
