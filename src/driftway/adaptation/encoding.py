"""Tables as the numbers that the estimators compute with, as methods of these."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import OneToOneFeatureMixin
from sklearn.utils.validation import check_is_fitted

from driftway.adaptation.batches import rows_with_gaps
from driftway.adaptation.source.columns import TableColumns

Double = npt.NDArray[np.float64]


class Encoding(OneToOneFeatureMixin):
    """Encodes categories and fills in missing values, with what is usual at present."""

    columns_: TableColumns
    images_: Any

    def encode(self, X: Any) -> Double:
        """The rows of a table as the numbers that the methods of this estimator compute with.

        Categories are columns of 0 and 1, and missing numbers are the present medians. Rows of numbers stay as they
        are.

        Parameters
        ----------
        X : array or data frame of shape (m, d)
            Points distributed like the last batch.

        Returns
        -------
        array of shape (m, D)
            Its columns are named by `get_feature_names_out()`.

        Examples
        --------
        >>> import numpy as np
        >>> from driftway import ContinuousTransportClassifier
        >>> X = np.array([[1.0, "red"], [2.0, "blue"], [3.0, "red"], [4.0, "blue"]], dtype=object)
        >>> model = ContinuousTransportClassifier(estimator=None).fit(X, [0, 1, 0, 1])
        >>> model.encode(np.array([[9.0, "red"], [None, "green"]], dtype=object)).tolist()
        [[9.0, 0.0, 1.0], [2.5, 0.0, 0.0]]

        """
        check_is_fitted(self)
        return self._complete(X)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """The names of the columns that `encode`, `transform` and `inverse_transform` return.

        Parameters
        ----------
        input_features : ignored if the source has categories, else as in scikit-learn

        Returns
        -------
        array of strings

        Examples
        --------
        >>> from driftway import ContinuousTransportClassifier
        >>> X = [[1.0, "red"], [2.0, "blue"], [3.0, "red"], [4.0, "blue"]]
        >>> ContinuousTransportClassifier(estimator=None).fit(X, [0, 1, 0, 1]).get_feature_names_out().tolist()
        ['feature 0', 'feature 1=blue', 'feature 1=red']

        """
        if hasattr(self, "columns_") and self.columns_.categories:
            return np.array(self.columns_.encoded_names, dtype=object)
        names: npt.NDArray[Any] = super().get_feature_names_out(input_features)
        return names

    def _complete(self, X: Any) -> Double:
        """Points of the present, with what is usual now in the place of missing values."""
        points = rows_with_gaps(self, X).points
        missing = np.isnan(points)
        return np.where(missing, np.median(self.images_, axis=0), points) if missing.any() else points
