"""A run: an estimator that adapts to files, one step per file, and survives being killed at any moment.

Two files hold the run. The state is replaced as a whole and has the estimator and the number of its steps. The ledger
has one line per step. All other files follow from these two. A step does, in this order:

1. adapt, in memory;
2. write the snapshot of the step, which names the batch;
3. write the predictions;
4. append the line of the ledger;
5. replace the state, which completes the step;
6. append the line of the history, a copy of the ledger's.

If the process is killed before 5, the next one repeats the step with the same batch and writes the same bytes. If it is
killed after 5, the next one completes the history and goes on. No write grows with the number of steps.
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
from driftway.cli.estimators import Estimator, label_values, option_of
from driftway.cli.failures import UserError, as_user_error
from driftway.cli.ledger import Ledger
from driftway.cli.pages import Pages, draw, kept
from driftway.cli.places import Places
from driftway.files import Columns, Table, append_row, write_table

SAME_OPTIONS = "resume it with the same source and options, or start anew with --overwrite"


class Run:
    """A fitted estimator that adapts to one file after another.

    Parameters
    ----------
    places : Places
        The paths of the run's files.
    estimator : ContinuousTransportClassifier or ContinuousTransportRegressor
        Fitted on the source.
    source : Table
    columns : Columns
        The columns of the source, with the names of its features.
    escape : bool
        Whether to put an apostrophe before texts in CSV that a spreadsheet would execute as a formula.

    """

    def __init__(
        self, places: Places, estimator: Estimator, source: Table, columns: Columns, *, escape: bool = True
    ) -> None:
        self.places, self.estimator, self._escape = places, estimator, escape
        self._columns, self._pages = columns, Pages(places, estimator.encode(source.X))
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
        """Loads a saved run; raises if it was started with another source or other options."""
        state = self.places.state
        with as_user_error():
            header, _ = read(state)
        notes = header["notes"]
        if "steps" not in notes:
            raise UserError(f"{state}: cannot be resumed, it was not saved by this version of driftway adapt")
        _check_notes(state, notes)
        if header["kind"] != type(self.estimator).__name__:
            raise UserError(
                f"{state}: holds a {header['kind']}, but these options need a {type(self.estimator).__name__}"
            )
        started = f"{state}: this run was started with"
        for name, value in self.estimator.get_params(deep=False).items():
            before = header["parameters"].get(name)
            if describe(name, value) != before:
                options = f"{option_of(name, _described(before))}, not {option_of(name, _described(value))}"
                raise UserError(f"{started} {options}; {SAME_OPTIONS}")
        for name in ("features", "label", "id"):
            if notes[name] != self._notes[name]:
                raise UserError(f"{started} {name} {notes[name]!r}, not {self._notes[name]!r}; {SAME_OPTIONS}")
        if notes["source"]["sha256"] != self._notes["source"]["sha256"]:
            raise UserError(f"{started} another labelled file than {self._notes['source']['name']}; {SAME_OPTIONS}")
        self._notes = notes
        self.ledger.read(notes["steps"])
        with as_user_error():
            self.estimator.restore(state)
        if self.estimator.n_steps_ != len(self.ledger):
            raise UserError(f"{state}: damaged: it has {self.estimator.n_steps_} steps and {len(self.ledger)} batches")
        self._outputs = {self.places.predictions(name): name for name in self.ledger.names()}
        self._write_history()

    def delete(self) -> None:
        """Deletes the files of the earlier run in this place."""
        with as_user_error():
            notes = read_notes(self.places.state)
        if "steps" in notes:
            _check_notes(self.places.state, notes)
            self.ledger.read(notes["steps"])
        self.places.clear(list(self.ledger.names()))
        self.ledger.read(0)

    def start(self) -> None:
        """Starts a new run: saves the state before the first step, after deleting what is left of one without state."""
        self.places.clear([])
        self._save()

    def is_done(self, name: str) -> bool:
        """Whether the run has adapted to a batch of this name."""
        return name in self.ledger

    def check(self, name: str, digest: str) -> None:
        """Raises if a batch with other content has this name, or if its predictions would overwrite other ones."""
        self.places.check(name)
        if self.ledger.digest(name) not in (None, digest):
            raise UserError(f"{name}: the run has adapted to another file of this name; rename this one")
        other = self._outputs.get(self.places.predictions(name), name)
        if other != name:
            raise UserError(f"{name}: its predictions would overwrite those of {other}; rename it")

    def unfinished(self) -> str | None:
        """The batch of a step that a killed process did not finish; None if there is none."""
        path = self.places.step(self.estimator.n_steps_ + 1)
        return str(kept(path)["batch"]) if path.exists() else None

    def adapt(self, name: str, batch: Table) -> dict[str, Any]:
        """Makes one step in the order of the module's docstring, and returns its line of the history."""
        with self._undone_on_failure(name), warnings.catch_warnings(record=True) as caught, as_user_error(batch.file):
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
    def _undone_on_failure(self, name: str) -> Iterator[None]:
        """Context manager: undoes a step that raises. The estimator is as before, and the step leaves no files."""
        step, before = self.estimator.n_steps_ + 1, self.ledger.mark
        try:
            with all_or_nothing(self.estimator):
                yield
        except Exception:
            self.ledger.undo(before)
            self._notes["steps"] = len(self.ledger)
            for path in (self.places.step(step), self.places.predictions(name)):
                path.unlink(missing_ok=True)
            raise

    def draw(self) -> Path | None:
        """Writes the report of all steps and returns its path; None if there are no steps."""
        return draw(self.places, self.estimator, f"Adaptation of {self._notes['source']['name']}")

    @property
    def score_name(self) -> str:
        """The name of the score of a batch."""
        return "accuracy" if isinstance(self.estimator, ContinuousTransportClassifier) else "r2"

    def _save(self) -> None:
        self.estimator.save(self.places.state, notes=self._notes)

    def _line(self, entry: dict[str, Any]) -> dict[str, Any]:
        """The line of the history for a step: its record, with the name and score of its batch."""
        record = dict(entry["record"])
        return {"step": record.pop("step"), "batch": entry["name"], **record, self.score_name: entry["score"]}

    def _write_history(self) -> None:
        """Writes the whole history from the ledger."""
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
        """The labels of the batch, for the score only, written as those of the source; None where one is missing."""
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
            # A label that is not a class of the source must differ from every prediction, and be of the same type.
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
    """Raises if the notes in a state are not those that a run writes."""
    steps, source = notes["steps"], notes.get("source")
    whole = type(steps) is int and steps >= 0 and {"features", "label", "id"} <= set(notes)
    if not whole or not isinstance(source, dict) or not isinstance(source.get("sha256"), str):
        raise UserError(f"{state}: damaged: its notes about source, columns and steps are incomplete")


def _described(value: Any) -> Any:
    """A parameter's value in short: an estimator by the name of its class."""
    described = describe("", value) if not isinstance(value, dict) else value
    return described.get("estimator", described) if isinstance(described, dict) else described
