"""Which columns of a table hold numbers, which hold categories, and what stands for a missing value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import TableError

Number = Callable[[str], float]
Place = Callable[[int], str]

# Texts that say that nothing is there: those that R and pandas write, and pandas reads so.
MISSING_TEXTS = {"", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "null", "NULL"}


def known(text: Any) -> Any:
    """A cell as it is, or None for one that says that nothing is there; a number among texts as its text."""
    if text is None or text != text or (isinstance(text, str) and text.strip() in MISSING_TEXTS):
        return None
    return text if isinstance(text, str) else str(text)


def is_number(text: str, number: Number) -> bool:
    """Whether a text is a number, as its file writes them."""
    try:
        number(text)
    except ValueError:
        return False
    return True


def holds_categories(file: str, name: str, texts: Sequence[Any], number: Number, place: Place) -> bool:
    """Whether texts are categories, none of them a number; a `TableError` if only some are."""
    other = next((row for row, text in enumerate(texts) if text is not None and not is_number(text, number)), None)
    if other is None:
        return False
    among = next((text for text in texts if text is not None and is_number(text, number)), None)
    if among is not None:
        problem = f"{texts[other]!r} is not a number, but {among!r} is; a column holds numbers or categories"
        raise TableError(file, problem, place=place(other), column=name)
    return True


def numbers(file: str, name: str, texts: Sequence[Any], number: Number, place: Place) -> npt.NDArray[np.float64]:
    """Texts as numbers, NaN where one is missing."""
    found = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if text is not None:
            if not is_number(text, number):
                raise TableError(file, f"{text!r} is not a number", place=place(row), column=name)
            found[row] = number(text)
    return found
