"""The warning of the estimators."""


class AdaptationWarning(UserWarning):
    """Warning that a step of adaptation may be wrong; its text says why.

    `partial_fit` issues it, for example if a batch is unlike all seen before, or if it is skipped because of
    `on_bad_batch="skip"`. The text is also in the column `warning` of `history_`.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from driftway import AdaptationWarning, ContinuousTransportClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(20, 2)), np.repeat([0, 1], 10)
    >>> model = ContinuousTransportClassifier(None, on_bad_batch="skip").fit(X, y)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", AdaptationWarning)
    ...     model = model.partial_fit(np.zeros((5, 2)))  # all points are equal
    >>> [str(warning.message).split(":")[0] for warning in caught]
    ['batch skipped, nothing was changed']

    """
