"""An adaptation to files that can be killed at any moment.

One file is the run: the state, which holds the estimator, its history, and the names of the batches it has seen. It is
replaced as a whole, so these never contradict each other. The order of a step is

1. adapt, in memory;
2. the step's snapshot, which says which batch is under way;
3. the predictions;
4. the state: from here on the step is done;
5. the history, which follows from the state.

Killed before 4, the next process makes the same step of the same batch and writes the same bytes; killed after 4, it
writes the history and goes on.
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
from driftway.cli.pages import Pages, draw, kept
from driftway.cli.places import Places
from driftway.files import Columns, Table, write_table


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
        self._baseline, self._done = copy.deepcopy(estimator), set[str]()
        self._notes: dict[str, Any] = {
            "source": {"name": Path(source.file).name, "sha256": source.digest},
            "features": list(source.names),
            "label": columns.label,
            "id": columns.id,
            "batches": [],
        }

    @property
    def batches(self) -> list[dict[str, Any]]:
        """Name, digest and score of every batch that the run has adapted to."""
        return self._notes["batches"]

    def resume(self) -> None:
        """Takes up what was saved; it must be the same run, with the same settings."""
        state = self.places.state
        with users_to_mend():
            header, _ = read(state)
        notes = header["notes"]
        if "batches" not in notes:
            raise UserError(f"{state}: saved by the library, not by driftway adapt, so its batches are not known")
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
        self._notes, self._done = notes, {batch["name"] for batch in notes["batches"]}
        with users_to_mend():
            self.estimator.restore(state)
        if self.estimator.n_steps_ != len(self.batches):
            raise UserError(f"{state}: damaged: {self.estimator.n_steps_} steps of {len(self.batches)} batches")
        self._write_history()

    def forget(self) -> None:
        """Removes what an earlier run wrote here."""
        with users_to_mend():
            notes = read_notes(self.places.state)
        if "batches" in notes:
            _check_notes(self.places.state, notes)
        self.places.clear([batch["name"] for batch in notes.get("batches", [])])

    def begin(self) -> None:
        """Saves the state of the source, so that there is a run; what was left by one without a state is not its."""
        self.places.clear([])
        self._save()

    def is_done(self, name: str) -> bool:
        """Whether the run has adapted to a batch of this name."""
        return name in self._done

    def check(self, name: str, digest: str) -> None:
        """Refuses another batch under the name of one that was adapted to, or whose predictions have that name."""
        self.places.check(name)
        for batch in self.batches:
            if batch["name"] == name and batch["sha256"] != digest:
                raise UserError(f"{name}: the run has adapted to another file of this name; rename the new one")
            if batch["name"] != name and self.places.predictions(batch["name"]) == self.places.predictions(name):
                raise UserError(f"{name}: its predictions would overwrite those of {batch['name']}; rename it")

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
            self.batches.append({"name": name, "sha256": batch.digest, "score": score})
            self._save()
        self._done.add(name)
        self._write_history()
        others = [str(warning.message) for warning in caught if warning.category is not AdaptationWarning]
        line = self._line(-1)
        return {**line, "warning": "; ".join(filter(None, [line["warning"], *others]))}

    @contextmanager
    def _as_a_whole(self, name: str) -> Iterator[None]:
        """Undoes a step that failed: the estimator is what it was, and nothing is left of it on the disk.

        A process that is killed leaves its files, which the next one takes up.
        """
        step, before = self.estimator.n_steps_ + 1, list(self.batches)
        try:
            with all_or_nothing(self.estimator):
                yield
        except Exception:
            self._notes["batches"] = before
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

    def _line(self, number: int) -> dict[str, Any]:
        """A record of the history with the name and the score of its batch."""
        record, batch = dataclasses.asdict(self.estimator.history_[number]), self.batches[number]
        return {"step": record.pop("step"), "batch": batch["name"], **record, self.score_name: batch["score"]}

    def _write_history(self) -> None:
        lines = [self._line(number) for number in range(len(self.batches))]
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
    """What a run notes in its state: the names of files are names alone, so that none leads out of its folder."""
    batches, source = notes["batches"], notes.get("source")
    whole = isinstance(batches, list) and all(map(_is_batch, batches)) and {"features", "label", "id"} <= set(notes)
    if not whole or not isinstance(source, dict) or not isinstance(source.get("sha256"), str):
        raise UserError(f"{state}: damaged: its notes of source, columns and batches are not those of a run")


def _is_batch(noted: Any) -> bool:
    if not isinstance(noted, dict) or not {"name", "sha256", "score"} <= set(noted):
        return False
    name, score = noted["name"], noted["score"]
    named = isinstance(name, str) and "\0" not in name and Path(name).name == name != ".."
    return named and (score is None or isinstance(score, int | float))


def _told(value: Any) -> str:
    described = describe("", value) if not isinstance(value, dict) else value
    return str(described.get("estimator", described)) if isinstance(described, dict) else str(described)
