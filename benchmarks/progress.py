"""Progress of long work: tqdm if it is installed, silence if not."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")
Announce = Callable[[str], None]


@contextmanager
def cases(items: Sequence[T], name: str) -> Iterator[tuple[Iterator[T], Announce]]:
    """The items one by one, and a function that says what is being done with the present one."""
    try:
        from tqdm import tqdm
    except ImportError:
        yield iter(items), lambda text: None
        return
    with tqdm(items, desc=name, file=sys.stderr, dynamic_ncols=True) as bar:

        def announce(text: str) -> None:
            bar.set_postfix_str(text)

        yield iter(bar), announce
