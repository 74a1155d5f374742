"""Saving and loading, as methods of the estimators."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from driftway.adaptation import saved
from driftway.adaptation.resolution import settings_of


class Saving:
    """Saves an estimator to a file, and loads it."""

    def save(self, path: str | os.PathLike[str], *, notes: Mapping[str, Any] | None = None) -> None:
        """Saves parameters and state to one file.

        The file contains no pickles. It is replaced as a whole: a process that is killed while it saves leaves the old
        file.

        See the example of the class.

        Parameters
        ----------
        path : str or path
            The file.
        notes : mapping that JSON can hold, optional
            Kept in the same file, so that they always belong to this state;
            `driftway.adaptation.persistence.read_notes(path)` returns them.

        """
        check_is_fitted(self)
        saved.save(self, path, notes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, trusted: Iterable[type] = (), **given: Any) -> Self:
        """The estimator of a file that `save` wrote, with its parameters and its state.

        Parameters
        ----------
        path : str or path
            The file.
        trusted : classes of scikit-learn, optional
            That the file may name beside those of `driftway.adaptation.permitted.ESTIMATORS`.
        **given : parameters of the estimator
            Parameters that are objects, such as an estimator of your own, are not in the file and must be given again.

        Returns
        -------
        estimator

        Raises
        ------
        StateError
            A ValueError that names the file, if it is damaged, foreign, or names what it may not.

        Examples
        --------
        An estimator of your own is given again:

        >>> import tempfile
        >>> from pathlib import Path
        >>> from sklearn.linear_model import LogisticRegression
        >>> from driftway import ContinuousTransportClassifier
        >>> model = ContinuousTransportClassifier(LogisticRegression()).fit([[0.0], [1.0], [4.0], [5.0]], [0, 0, 1, 1])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(Path(folder) / "model.npz")
        ...     same = ContinuousTransportClassifier.load(Path(folder) / "model.npz", estimator=LogisticRegression())
        >>> same.predict([[0.5], [4.5]]).tolist()
        [0, 1]

        """
        return saved.loaded(cls, path, tuple(trusted), given)

    def restore(self, path: str | os.PathLike[str]) -> Self:
        """Takes the state of a file that `save` wrote, and keeps the parameters of this estimator.

        See the example of the class.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        self

        """
        settings_of(self, heaps=None)
        saved.take_up(self, path)
        return self
