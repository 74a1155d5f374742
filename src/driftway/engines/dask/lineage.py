"""What the client of a cluster knows of values that live with the workers: how each came about.

A value is a node: a function of other nodes. It is computed when it is first wanted, kept by the workers while
somebody holds its handle, and computed again, for a shard whose worker is lost, from what it came from.
"""

from __future__ import annotations

import tempfile
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from driftway.engines.dask.shard import Program, Ref, Step, same

_numbers = count()
# Bytes from which a constant that was sent waits on disk for the case that it has to be sent again.
LARGE = 2**18


class Node:
    """A value of every shard: `function(*arguments, **options)`, rows of an array, or a source that is elsewhere."""

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.number = next(_numbers)
        self.function = function
        # What is still to be computed keeps what it needs; what was computed only remembers how.
        self.pins: list[Value] = list(_found((arguments, options), Value))
        self.arguments: tuple[Any, ...] = _mapped(arguments, _node)
        self.options: dict[str, Any] = _mapped(options, _node)
        self.computed = False
        self.handle: Callable[[], Value | None] = lambda: None
        self.array: npt.NDArray[Any] | Stowed | None = None
        self.by_rows = False
        self.sources: list[Any] | None = None

    def settle(self) -> None:
        """Notes that all shards have computed it."""
        if not self.computed:
            self.computed, self.pins = True, []
            # A hint that was taken is not needed again.
            self.arguments, self.options = _mapped(self.arguments, _unhinted), _mapped(self.options, _unhinted)
            if isinstance(self.array, np.ndarray) and not self.by_rows and self.array.nbytes > LARGE:
                self.array = Stowed(self.array)

    @property
    def constant(self) -> npt.NDArray[Any]:
        """The array that it is."""
        assert self.array is not None
        return self.array.again() if isinstance(self.array, Stowed) else self.array


class Stowed:
    """An array on disk, for as long as somebody may need it; its file is closed, since there may be thousands."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        with tempfile.NamedTemporaryFile(prefix="driftway-", suffix=".npy", delete=False) as file:
            np.save(file, array)
        self.path = Path(file.name)
        weakref.finalize(self, self.path.unlink, missing_ok=True)

    def again(self) -> npt.NDArray[Any]:
        """The array, read again."""
        array: npt.NDArray[Any] = np.load(self.path)
        return array


class Hint:
    """An argument that helps and is not needed: `None` takes its place where it is lost."""

    def __init__(self, value: Any) -> None:
        self.value = value


class Value:
    """The handle of a node: while it lives, the workers keep the value."""

    def __init__(self, sharding: Sharding, node: Node) -> None:
        self.sharding, self.node = sharding, node
        node.handle = weakref.ref(self)
        weakref.finalize(self, _release, weakref.ref(sharding), node.number)


class Sharding:
    """Consecutive rows shared among workers: where each shard is, and which values it holds."""

    def __init__(self, bounds: list[slice]) -> None:
        self.session, self.bounds = uuid4().hex, bounds
        self.homes: list[str | None] = [None] * len(bounds)
        self.present: list[set[int]] = [set() for _ in bounds]
        self._garbage: list[list[int]] = [[] for _ in bounds]
        # Arrays that come again and again, by what is in them.
        self.sent: OrderedDict[bytes, Value] = OrderedDict()

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.bounds[-1].stop

    def __len__(self) -> int:
        return len(self.bounds)

    def value(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Value:
        """A value to be computed when it is wanted."""
        return Value(self, Node(function, arguments, options))

    def leaf(self, array: npt.NDArray[Any], *, by_rows: bool) -> Value:
        """An array of the client: its rows go to their shards, or all of it to all of them."""
        value = self.value(same, None)
        value.node.array, value.node.by_rows = array, by_rows
        return value

    def source(self, futures: list[Any]) -> Value:
        """Rows that are with the workers already, one future per shard."""
        value = self.value(same, None)
        value.node.sources = futures
        return value

    def lose(self, shard: int) -> None:
        """Notes that the worker of a shard is gone, and all that it held."""
        self.homes[shard] = None
        self.present[shard].clear()
        self._garbage[shard].clear()

    def release(self, number: int) -> None:
        """Notes that nobody needs a value any more."""
        for present, garbage in zip(self.present, self._garbage, strict=True):
            if number in present:
                present.discard(number)
                garbage.append(number)

    def program(
        self, shard: int, wanted: list[Value], returned: list[tuple[Value, str]]
    ) -> tuple[Program, dict[int, Any], dict[int, Any], list[Node]]:
        """What a shard has to do for these values: its program, constants that all shards share, sources, nodes."""
        nodes = self._missing(shard, [value.node for value in (*wanted, *(value for value, _ in returned))])
        garbage, self._garbage[shard] = self._garbage[shard], []
        bounds = self.bounds[shard]
        program = Program(bounds.start, bounds.stop - bounds.start, drop=garbage)
        shared: dict[int, Any] = {}
        sources: dict[int, Any] = {}
        for node in nodes:
            if node.sources is not None:
                sources[node.number] = node.sources[shard]
            elif node.array is not None and not node.by_rows:
                shared[node.number] = node.constant
            else:
                program.steps.append(self._step(shard, node))
            if node.handle() is not None:
                program.keep.add(node.number)
        program.returned = [(value.node.number, how) for value, how in returned]
        return program, shared, sources, nodes

    def _step(self, shard: int, node: Node) -> Step:
        if node.array is not None:
            return Step(node.number, same, (np.ascontiguousarray(node.constant[self.bounds[shard]]),), {})

        def reference(value: Any) -> Any:
            if isinstance(value, Node):
                return Ref(value.number)
            if isinstance(value, Hint):
                usable = isinstance(value.value, Node) and self._usable(shard, value.value)
                return Ref(value.value.number) if usable else None
            return value

        arguments, options = _mapped(node.arguments, reference), _mapped(node.options, reference)
        return Step(node.number, node.function, arguments, options)

    def _usable(self, shard: int, hinted: Node) -> bool:
        return hinted.number in self.present[shard] or not hinted.computed

    def _missing(self, shard: int, nodes: list[Node]) -> list[Node]:
        """The nodes that a shard has to compute for these, each after what it needs."""
        present, order, seen = self.present[shard], [], set()
        stack = [(node, False) for node in reversed(nodes)]
        while stack:
            node, ready = stack.pop()
            if ready:
                order.append(node)
            elif node.number not in present and node.number not in seen:
                seen.add(node.number)
                stack.append((node, True))
                needed = list(_found((node.arguments, node.options), Node))
                hints = _found((node.arguments, node.options), Hint)
                needed += [h.value for h in hints if isinstance(h.value, Node) and self._usable(shard, h.value)]
                stack.extend((each, False) for each in needed)
        return order


def _release(sharding: Callable[[], Sharding | None], number: int) -> None:
    if (alive := sharding()) is not None:
        alive.release(number)


def _node(value: Any) -> Any:
    if isinstance(value, Hint):
        return Hint(_node(value.value))
    return value.node if isinstance(value, Value) else value


def _unhinted(value: Any) -> Any:
    return None if isinstance(value, Hint) else value


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """A nest of lists, tuples and dictionaries with a function applied to all that is in it."""
    if isinstance(value, list | tuple):
        return type(value)(_mapped(each, function) for each in value)
    if isinstance(value, dict):
        return {key: _mapped(each, function) for key, each in value.items()}
    return function(value)


def _found(value: Any, kind: type[Any]) -> Iterator[Any]:
    """Everything of a kind in such a nest; a value in a hint counts as one."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _found(each, kind)
    elif isinstance(value, dict):
        for each in value.values():
            yield from _found(each, kind)
    elif isinstance(value, Hint) and kind is Value:
        yield from _found(value.value, kind)
