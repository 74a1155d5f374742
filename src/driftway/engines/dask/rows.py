"""Arrays whose rows live with the workers of a cluster, and which NumPy computes with as with any other.

Whatever treats rows one by one is noted and computed by the workers when a number is wanted of it; sums over the
rows, maxima and products bring that number, or vectors as long as a row. Nothing else leaves the workers, unless
an array is asked for itself (`np.asarray`), which fetches it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.mixins import NDArrayOperatorsMixin

from driftway.arrays.rowwise import Remote
from driftway.engines.dask.cluster import Sharding, Value

# Functions that treat rows one by one, as they are used here.
BY_ROWS: set[Any] = {np.where, np.zeros_like, np.ones_like, np.full_like, np.empty_like, np.copy}
BY_ROWS |= {np.hstack, np.column_stack, np.tile}


class Rows(NDArrayOperatorsMixin, Remote):
    """An array of n rows, or of n·k entries that were rows of k, in the shards of a cluster.

    Made by `Dask.rows`. `meta` is the same array without rows: it knows the dtype and the shape of a row.

    Examples
    --------
    >>> with Dask(workers=2) as engine:  # doctest: +SKIP
    ...     X = engine.rows(np.arange(6.0).reshape(3, 2))
    ...     print(X, np.sqrt(X).sum(axis=0), np.asarray(2.0 * X[:, 1]))
    Rows(shape=(3, 2), dtype=float64, shards=2) [3.41421356 4.96811879] [ 2.  6. 10.]

    """

    __array_priority__ = 100.0

    def __init__(self, value: Value, meta: npt.NDArray[Any], per: int | None = 1) -> None:
        self.value, self.meta, self.per = value, meta, per

    @property
    def sharding(self) -> Sharding:
        """Where the rows are."""
        return self.value.sharding

    @property
    def shape(self) -> tuple[int, ...]:
        if self.per is None:
            raise TypeError("how many rows were selected is not known before they are counted")
        return (self.sharding.rows * self.per, *self.meta.shape[1:])

    @property
    def ndim(self) -> int:
        return self.meta.ndim

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.meta.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Rows(shape={self.shape}, dtype={self.dtype}, shards={len(self.sharding)})"

    def __reduce__(self) -> tuple[Any, ...]:
        return np.asarray, (np.asarray(self),)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        (array,) = self.sharding.fetched([(self.value, "rows")])
        return np.asarray(array, dtype=dtype)

    def __bool__(self) -> bool:
        raise ValueError("the truth of an array with more than one element is ambiguous; use .any() or .all()")

    def __by_rows__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Rows:
        """A function of rows, to be computed by the workers."""
        return self._mapped(function, arguments, options, self.per)

    def __getitem__(self, key: Any) -> Any:
        rows, *others = key if isinstance(key, tuple) else (key,)
        if isinstance(rows, Rows):
            return self._mapped(operator.getitem, (self, rows), {}, None)
        if not isinstance(rows, slice):
            raise TypeError(f"rows in the shards of a cluster are selected by slices or masks, got {rows!r}")
        if rows != slice(None):
            return self._fetched(rows)[(slice(None), *others)]
        return self._mapped(operator.getitem, (self, key), {}, self.per) if others else self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc is np.matmul:
            return _product(*inputs)
        if method == "outer":
            first, second = inputs
            return ufunc(first[:, None], np.asarray(second)[None, :], **options)
        if method != "__call__":
            return NotImplemented
        (out,) = options.pop("out", (None,))
        if out is None:
            return self._mapped(ufunc, inputs, options, self.per)
        # What is not computed stays what it was.
        result = self._mapped(_into, (ufunc, out, *inputs), options, self.per)
        if isinstance(out, Rows):
            out.value, out.meta = result.value, result.meta
            return out
        return result

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        if function in (np.dot, np.vdot):
            return _inner(function, *arguments)
        if function is np.concatenate and len(arguments[0]) == 2 and not options:
            return Joint(*arguments[0])
        if function is np.split and options.get("axis") == 1:
            _, cuts = arguments
            return [self[:, low:high] for low, high in zip([0, *cuts], [*cuts, self.shape[1]], strict=True)]
        if function in BY_ROWS:
            return self._mapped(function, arguments, options, self.per)
        raise TypeError(f"{function.__name__} is not among what is computed with rows in the shards of a cluster")

    def sum(self, axis: int | None = None) -> Any:
        return self._reduced(np.sum, "sum", axis)

    def max(self, axis: int | None = None, initial: float = -np.inf) -> Any:
        return self._reduced(np.max, "max", axis, initial=initial)

    def min(self, axis: int | None = None, initial: float = np.inf) -> Any:
        return self._reduced(np.min, "min", axis, initial=initial)

    def any(self, axis: int | None = None) -> Any:
        return self._reduced(np.any, "any", axis)

    def all(self, axis: int | None = None) -> Any:
        return self._reduced(np.all, "all", axis)

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> Rows:
        if np.dtype(dtype) == self.dtype and not copy:
            return self
        return self._mapped(_astype, (self, np.dtype(dtype)), {}, self.per)

    def copy(self) -> Rows:
        return self._mapped(np.copy, (self,), {}, self.per)

    def ravel(self) -> Rows:
        return self._mapped(np.ravel, (self,), {}, int(np.prod(self.shape[1:])))

    def reshape(self, shape: tuple[int, ...]) -> Rows:
        value = self.sharding.value(_reshaped, self.value, self.sharding.place, shape[1:])
        return Rows(value, np.empty((0, *shape[1:]), self.dtype))

    def _mapped(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any], per: int | None
    ) -> Rows:
        def without_rows(value: Any) -> Any:
            if isinstance(value, Rows):
                return value.meta
            if isinstance(value, list | tuple):
                return type(value)(without_rows(each) for each in value)
            return value[:0] if self._has_rows(value) else value

        def held(value: Any) -> Any:
            if isinstance(value, Rows):
                return value.value
            if isinstance(value, list | tuple):
                return type(value)(held(each) for each in value)
            return self._leaf(value) if self._has_rows(value) else value

        metas = [without_rows(argument) for argument in arguments]
        with np.errstate(all="ignore"):
            meta = function(*metas, **{key: without_rows(value) for key, value in options.items()})
        value = self.sharding.value(
            function, *map(held, arguments), **{key: held(each) for key, each in options.items()}
        )
        return Rows(value, meta, per)

    def _has_rows(self, value: Any) -> bool:
        """Whether an array of the client has as many rows as this one."""
        if not isinstance(value, np.ndarray) or self.per is None or value.ndim < self.ndim or not value.ndim:
            return False
        return value.shape[0] == self.shape[0]

    def _leaf(self, array: npt.NDArray[Any]) -> Value:
        if self.per != 1:
            array = array.reshape(self.sharding.rows, self.per or 0)
        rows = self.sharding.by_rows(array).computed()  # sent once, however often it is used
        return rows if self.per == 1 else self.sharding.value(np.ravel, rows)

    def _reduced(self, function: Callable[..., Any], how: str, axis: int | None, **options: Any) -> Any:
        if axis not in (None, 0):
            return self._mapped(function, (self,), {"axis": axis} | _finite(options), self.per)
        (result,) = self.sharding.fetched([(self.sharding.value(function, self.value, axis=axis, **options), how)])
        return result

    def _fetched(self, rows: slice) -> npt.NDArray[Any]:
        """Some rows as an array."""
        low, high, _ = rows.indices(self.shape[0])
        value = self.sharding.value(_cut, self.value, self.sharding.place, low, high)
        (result,) = self.sharding.fetched([(value, "rows")])
        return np.asarray(result)


class Joint(NDArrayOperatorsMixin):
    """A vector of which the head is an array of the client, and the tail lies in the shards of a cluster."""

    __array_priority__ = 101.0

    def __init__(self, head: npt.NDArray[Any], tail: Rows) -> None:
        self.head, self.tail = head, tail

    def __getitem__(self, key: slice) -> Any:
        m = len(self.head)
        if key == slice(None, m):
            return self.head
        if key == slice(m, None):
            return self.tail
        raise IndexError(f"a vector of two parts is cut between them, at {m}, got {key!r}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        (out,) = options.pop("out", (None,))
        heads, tails = zip(*map(self._split, inputs), strict=True)
        result = Joint(ufunc(*heads, **options), ufunc(*tails, **options))
        if out is None:
            return result
        out.head, out.tail = result.head, result.tail
        return out

    def __array_function__(
        self, function: Callable[..., Any], types: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        if function is np.dot:
            heads, tails = zip(*map(self._split, arguments), strict=True)
            return np.dot(*heads) + np.dot(*tails)
        if function is np.linalg.norm and len(arguments) == 1 and not options:
            return np.sqrt(np.dot(self.head, self.head) + np.dot(self.tail, self.tail))
        raise TypeError(f"{function.__name__} is not among what is computed with a vector of two parts")

    def _split(self, value: Any) -> tuple[Any, Any]:
        """Both parts of another such vector or of an array of the client; a number counts for both."""
        if isinstance(value, Joint):
            return value.head, value.tail
        m = len(self.head)
        return (value, value) if np.ndim(value) == 0 else (value[:m], value[m:])

    def all(self) -> bool:
        return bool(self.head.all() and self.tail.all())

    def copy(self) -> Joint:
        return Joint(self.head.copy(), self.tail.copy())


def _product(first: Any, second: Any) -> Any:
    """first @ second, where one or both lie in shards."""
    if first.ndim == 2 and isinstance(first, Rows):
        return first._mapped(partial(_times, second), (first,), {}, first.per)
    return _inner(np.matmul, first, second)


def _inner(function: Callable[..., Any], first: Any, second: Any) -> Any:
    """A product that sums over the rows."""
    rows = first if isinstance(first, Rows) else second
    arguments = [each.value if isinstance(each, Rows) else rows._leaf(np.asarray(each)) for each in (first, second)]
    (result,) = rows.sharding.fetched([(rows.sharding.value(function, *arguments), "sum")])
    return result


def _times(right: npt.NDArray[Any], rows: npt.NDArray[Any]) -> Any:
    return rows @ right


def _into(ufunc: np.ufunc, out: npt.NDArray[Any], *inputs: Any, **options: Any) -> Any:
    return ufunc(*inputs, out=out.copy(), **options)


def _astype(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    return array.astype(dtype)


def _reshaped(array: npt.NDArray[Any], place: slice, row: tuple[int, ...]) -> npt.NDArray[Any]:
    return array.reshape(place.stop - place.start, *row)


def _cut(array: npt.NDArray[Any], place: slice, low: int, high: int) -> npt.NDArray[Any]:
    """The rows of a shard that fall between two rows of the whole array."""
    return array[max(low - place.start, 0) : max(high - place.start, 0)]


def _finite(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a reduction, without infinite initial values."""
    return {key: value for key, value in options.items() if np.isfinite(value)}
