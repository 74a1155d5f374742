"""Output of `driftway adapt`: a line per batch, or one of JSON, and the report."""

from __future__ import annotations

from typing import Any

from driftway.cli.run import Run
from driftway.cli.terminal import print_json, print_message, print_result
from driftway.files import Table


class Output:
    """Prints a line for every step, writes the report, and says at the end where the files are."""

    def __init__(self, run: Run, label: str, *, as_json: bool, draws: bool) -> None:
        self._run, self._label, self._as_json, self._draws = run, label, as_json, draws
        self._steps, self._drawn, self._labels_told = 0, -1, False

    def step(self, line: dict[str, Any], batch: Table) -> None:
        """Prints one step."""
        if batch.labels is not None and not self._labels_told:
            self._labels_told = True
            print_message(f"driftway: {batch.file} has labels ({self._label}): they are scored, never adapted to")
        if line["warning"]:
            print_message(f"driftway: warning: {batch.file}: {line['warning']}")
        if self._as_json:
            print_json({**line, "predictions": str(self._run.places.predictions(line["batch"]))})
        else:
            if not self._steps:
                print_result(
                    f"{'step':>5}  {'points':>6}  {'answer':<25}  {'moved':>7}  {'drift':>7}  {'score':>6}  batch"
                )
            print_result(_row(line, line[self._run.score_name]))
        self._steps += 1

    def draw(self) -> None:
        """Writes the report, unless no step was made since the last time."""
        steps = len(self._run.ledger)
        if not self._draws or steps == self._drawn:
            return
        self._drawn = steps
        try:
            self._run.draw()
        except Exception as error:  # a run goes on without its report
            print_message(f"driftway: no report: {error}")

    def finish(self) -> None:
        """Writes the report and prints where all files are."""
        self.draw()
        if self._as_json:
            return
        places = self._run.places
        steps = "1 batch" if self._steps == 1 else f"{self._steps} batches"
        there = f"{places.out / 'predictions'}, {places.history}"
        there += f", {places.report}" if places.report.exists() else ""
        print_message(f"driftway: adapted to {steps}" + (f": {there}" if len(self._run.ledger) else ""))


def _row(line: dict[str, Any], score: float | None) -> str:
    answer = f"{line['answer']} ({line['track']})" if line["answer"] == "adapted" else line["answer"]
    shown = "" if score is None else f"{score:.3f}"
    return (
        f"{line['step']:>5}  {line['size']:>6}  {answer:<25}  {line['displacement']:>7.3g}  {line['drift']:>7.3g}  "
        f"{shown:>6}  {line['batch']}"
    )
