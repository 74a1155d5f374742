"""An adaptation to files that can be killed at any moment.

Two files are the run: the state, which is replaced as a whole and says how many steps were made, and the ledger, which
has a line for each of them. All else follows from these two. The order of a step is

1. adapt, in memory;
2. the step's snapshot, which says which batch is under way;
3. the predictions;
4. the line of the ledger;
5. the state: from here on the step is done;
6. the line of the history, which follows from the ledger.

Killed before 5, the next process makes the same step of the same batch and writes the same bytes; killed after 5, it
writes the history and goes on. Nothing that grows with the number of steps is written at any of them.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import r2_score

from driftway import AdaptationWarning, ContinuousTransportClassifier
from driftway.adaptation.attempt import all_or_nothing
from driftway.adaptation.persistence import describe, read, read_notes
from driftway.cli.estimators import Estimator, label_values
from driftway.cli.failures import UserError, users_to_mend
from driftway.cli.ledger import Ledger
from driftway.cli.pages import Pages, draw, kept
from driftway.cli.places import Places
from driftway.files import Columns, Table, append_row, write_table


class Run:
    """A fitted estimator and the files that it adapts to, one after another.

    Parameters
    ----------
    places : Places
    estimator : fitted on the source
    source : Table
    columns : Columns
        Of the source, with the names of its features.
    escape : bool
        Whether texts in CSV that a spreadsheet would take for a formula have an apostrophe before them.

    """

    def __init__(
        self, places: Places, estimator: Estimator, source: Table, columns: Columns, *, escape: bool = True
    ) -> None:
        self.places, self.estimator, self._escape = places, estimator, escape
        self._columns, self._pages = columns, Pages(places, source)
        self._baseline = copy.deepcopy(estimator)
        self.ledger, self._outputs = Ledger(places.ledger), dict[Path, str]()
        self._notes: dict[str, Any] = {
            "source": {"name": Path(source.file).name, "sha256": source.digest},
            "features": list(source.names),
            "label": columns.label,
            "id": columns.id,
            "steps": 0,
        }

    def resume(self) -> None:
        """Takes up what was saved; it must be the same run, with the same settings."""
        state = self.places.state
        with users_to_mend():
            header, _ = read(state)
        notes = header["notes"]
        if "steps" not in notes:
            raise UserError(f"{state}: not saved by this version of driftway adapt, so its batches are not known")
        _check_notes(state, notes)
        if header["kind"] != type(self.estimator).__name__:
            raise UserError(f"{state}: holds a {header['kind']}, and this would be a {type(self.estimator).__name__}")
        for name, value in self.estimator.get_params(deep=False).items():
            before = header["parameters"].get(name)
            if describe(name, value) != before:
                option = name.replace("_", "-")
                raise UserError(f"{state}: the run was begun with {option} {_told(before)}, not {_told(value)}")
        for name in ("features", "label", "id"):
            if notes[name] != self._notes[name]:
                raise UserError(f"{state}: the run was begun with {name} {notes[name]!r}, not {self._notes[name]!r}")
        if notes["source"]["sha256"] != self._notes["source"]["sha256"]:
            raise UserError(f"{state}: the run was begun with another source than this {self._notes['source']['name']}")
        self._notes = notes
        self.ledger.take_up(notes["steps"])
        with users_to_mend():
            self.estimator.restore(state)
        if self.estimator.n_steps_ != len(self.ledger):
            raise UserError(f"{state}: damaged: {self.estimator.n_steps_} steps of {len(self.ledger)} batches")
        self._outputs = {self.places.predictions(name): name for name in self.ledger.names()}
        self._write_history()

    def forget(self) -> None:
        """Removes what an earlier run wrote here."""
        with users_to_mend():
            notes = read_notes(self.places.state)
        if "steps" in notes:
            _check_notes(self.places.state, notes)
            self.ledger.take_up(notes["steps"])
        self.places.clear(list(self.ledger.names()))
        self.ledger.take_up(0)

    def begin(self) -> None:
        """Saves the state of the source, so that there is a run; what was left by one without a state is not its."""
        self.places.clear([])
        self._save()

    def is_done(self, name: str) -> bool:
        """Whether the run has adapted to a batch of this name."""
        return name in self.ledger

    def check(self, name: str, digest: str) -> None:
        """Refuses another batch under the name of one that was adapted to, or whose predictions have that name."""
        self.places.check(name)
        if self.ledger.digest(name) not in (None, digest):
            raise UserError(f"{name}: the run has adapted to another file of this name; rename the new one")
        other = self._outputs.get(self.places.predictions(name), name)
        if other != name:
            raise UserError(f"{name}: its predictions would overwrite those of {other}; rename it")

    def under_way(self) -> str | None:
        """The batch of a step that was begun and not finished, if any."""
        path = self.places.step(self.estimator.n_steps_ + 1)
        return str(kept(path)["batch"]) if path.exists() else None

    def adapt(self, name: str, batch: Table) -> dict[str, Any]:
        """Makes one step, as the module says, and returns its line of the history."""
        with self._as_a_whole(name), warnings.catch_warnings(record=True) as caught, users_to_mend(batch.file):
            truth = self._truth(batch)
            warnings.simplefilter("always")
            self.estimator.partial_fit(batch.X)
            warnings.simplefilter("ignore")
            predicted = self.estimator.predict(batch.X)
            predictions = self._predictions(batch, predicted)
            score = None if truth is None else self._score(truth, predicted)
            self._pages.keep(self.estimator, batch, name, truth, self._baseline)
            write_table(self.places.predictions(name), predictions, escape=self._escape)
            record = dataclasses.asdict(self.estimator.history_[-1])
            entry = {"name": name, "sha256": batch.digest, "score": score, "record": record}
            self.ledger.append(entry)
            self._notes["steps"] = len(self.ledger)
            self._save()
        self._outputs[self.places.predictions(name)] = name
        others = [str(warning.message) for warning in caught if warning.category is not AdaptationWarning]
        line = self._line(entry)
        if self.places.history.exists():
            append_row(self.places.history, line, escape=self._escape)
        else:
            self._write_history()
        return {**line, "warning": "; ".join(filter(None, [line["warning"], *others]))}

    @contextmanager
    def _as_a_whole(self, name: str) -> Iterator[None]:
        """Undoes a step that failed: the estimator is what it was, and nothing is left of it on the disk.

        A process that is killed leaves its files, which the next one takes up.
        """
        step, before = self.estimator.n_steps_ + 1, self.ledger.mark
        try:
            with all_or_nothing(self.estimator):
                yield
        except Exception:
            self.ledger.back_to(before)
            self._notes["steps"] = len(self.ledger)
            for path in (self.places.step(step), self.places.predictions(name)):
                path.unlink(missing_ok=True)
            raise

    def draw(self) -> Path | None:
        """Draws the report of all steps; None if there is none to draw."""
        return draw(self.places, self.estimator, f"Adaptation of {self._notes['source']['name']}")

    @property
    def score_name(self) -> str:
        """What the score of a batch is called."""
        return "accuracy" if isinstance(self.estimator, ContinuousTransportClassifier) else "r2"

    def _save(self) -> None:
        self.estimator.save(self.places.state, notes=self._notes)

    def _line(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The line of the history for a step: its record, with the name and the score of its batch."""
        record = dict(entry["record"])
        return {"step": record.pop("step"), "batch": entry["name"], **record, self.score_name: entry["score"]}

    def _write_history(self) -> None:
        """Writes the whole history, as the ledger has it."""
        lines = [self._line(entry) for entry in self.ledger.entries()]
        if lines:
            columns = {name: [line[name] for line in lines] for name in lines[0]}
            write_table(self.places.history, columns, escape=self._escape)

    def _predictions(self, batch: Table, predicted: npt.NDArray[Any]) -> dict[str, Sequence[Any]]:
        columns: dict[str, Any] = {} if batch.ids is None else {str(self._columns.id): batch.ids}
        columns["predicted"] = predicted
        if isinstance(self.estimator, ContinuousTransportClassifier):
            proba = self.estimator.predict_proba(batch.X)
            columns |= {f"probability_{name}": proba[:, k] for k, name in enumerate(self.estimator.classes_.tolist())}
        return columns

    def _truth(self, batch: Table) -> npt.NDArray[Any] | None:
        """The batch's own labels as the source writes them, with gaps; never seen by the estimator."""
        if batch.labels is None or all(label is None for label in batch.labels):
            return None
        if not isinstance(self.estimator, ContinuousTransportClassifier):
            return label_values(batch, str(self._columns.label), gaps=True)
        classes = self.estimator.classes_.tolist()
        by_text = {str(name): name for name in classes}
        texts = any(isinstance(name, str) for name in classes)

        def named(label: Any) -> Any:
            if label is None or label in classes:
                return label
            # What is no class is wrong whatever is predicted, be it of another kind than the classes are.
            return by_text.get(str(label), str(label) if texts else math.inf)

        truth = np.empty(len(batch.labels), dtype=object)
        truth[:] = [named(label) for label in batch.labels]
        return truth

    def _score(self, truth: npt.NDArray[Any], predicted: npt.NDArray[Any]) -> float | None:
        if isinstance(self.estimator, ContinuousTransportClassifier):
            known = np.array([label is not None for label in truth])
            return float(np.mean([a == b for a, b in zip(truth[known], predicted[known].tolist(), strict=True)]))
        known = ~np.isnan(truth.astype(np.float64))
        return float(r2_score(truth[known], predicted[known])) if known.sum() > 1 else None


def _check_notes(state: Path, notes: dict[str, Any]) -> None:
    """What a run notes in its state."""
    steps, source = notes["steps"], notes.get("source")
    whole = type(steps) is int and steps >= 0 and {"features", "label", "id"} <= set(notes)
    if not whole or not isinstance(source, dict) or not isinstance(source.get("sha256"), str):
        raise UserError(f"{state}: damaged: its notes of source, columns and steps are not those of a run")


def _told(value: Any) -> str:
    described = describe("", value) if not isinstance(value, dict) else value
    return str(described.get("estimator", described)) if isinstance(described, dict) else str(described)
