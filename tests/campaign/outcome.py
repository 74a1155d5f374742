"""What came of a trial."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """What was wrong: its kind, which stays the same while a trial is simplified, where, and the particulars."""

    kind: str
    where: str
    detail: str


@dataclass
class Outcome:
    """Failures, and counts of what is told but no failure."""

    failures: list[Failure] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def fail(self, kind: str, where: str, detail: str) -> None:
        self.failures.append(Failure(kind, where, detail))
