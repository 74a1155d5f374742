"""Arrays of NumPy's files, checked before anything is allocated; nothing is unpickled."""

from __future__ import annotations

import ast
import io
import math
import zipfile
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from driftway.files.errors import in_short, shortened
from driftway.files.limits import unpacked_limit

# Booleans, numbers, texts, dates and durations.
KINDS = "biufcSUmM"
# The names that the two methods of compression have in ZIP archives: none, and zlib's.
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# zlib's own limit: no byte unpacks to more.
MOST_DEFLATED = 1032
# The bit of an entry that says that it is encrypted.
ENCRYPTED = 0x1
# How the length of a header is written, by the version of the format.
LENGTHS = {1: 2, 2: 4, 3: 4}
LONGEST_HEADER = 10_000


def read_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an NPZ file by name; a ValueError, whatever else the content may be.

    The sizes that it declares are compared with its own before an entry is unpacked, and with what is unpacked before
    an array is made of it.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check(entries, len(content))
            return {_name(entry): _array(archive, entry) for entry in entries}
    except Exception as error:  # zipfile and zlib raise many kinds
        raise ValueError(in_short(error)) from error


def array_in(content: bytes) -> npt.NDArray[Any]:
    """The array of a NPY file; a ValueError, whatever else the content may be."""
    try:
        return _array_of(io.BytesIO(content), len(content))
    except Exception as error:
        raise ValueError(in_short(error)) from error


def _check(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [_name(entry) for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("several arrays have one name")
    for name, entry in zip(names, entries, strict=True):
        if entry.flag_bits & ENCRYPTED:
            raise ValueError(f"array {name!r} is encrypted")
        if entry.compress_type not in METHODS:
            raise ValueError(f"array {name!r} is compressed by method {entry.compress_type}, not by zlib or none")
        most = entry.compress_size * (1 if entry.compress_type == zipfile.ZIP_STORED else MOST_DEFLATED)
        if entry.file_size > most:
            raise ValueError(f"array {name!r} declares {entry.file_size} bytes, packed into {entry.compress_size}")
    if (packed := sum(entry.compress_size for entry in entries)) > size:
        raise ValueError(f"its arrays declare {packed} packed bytes, more than the {size} of the file")
    unpacked, limit = sum(entry.file_size for entry in entries), unpacked_limit(size)
    if unpacked > limit:
        raise ValueError(f"its {size} bytes unpack to {unpacked}, more than the {limit} that are allowed for this size")


def _name(entry: zipfile.ZipInfo) -> str:
    entry.filename.encode()  # raises for what is no text
    return entry.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    try:
        with archive.open(entry) as file:
            return _array_of(file, entry.file_size)
    except Exception as error:
        raise ValueError(f"array {shortened(_name(entry))!r}: {in_short(error)}") from error


def _array_of(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array of a file or entry with so many bytes."""
    shape, fortran_order, dtype, left = _header(file, size)
    if dtype.kind not in KINDS or dtype.shape or not dtype.itemsize:
        raise ValueError(f"its entries are of type {dtype}; numbers and strings are wanted")
    # An array without entries takes no memory, but its shape is looped over.
    wanted = math.prod(shape) * dtype.itemsize
    if wanted != left or max(shape, default=0) > size:
        raise ValueError(f"shape {shape} of {dtype} takes {wanted} bytes, there are {left}")
    data = bytearray(file.read(wanted))
    if len(data) != wanted or file.read(1):  # which compares checksums, too
        raise ValueError(f"{wanted} bytes are declared, there are {len(data)}")
    array: npt.NDArray[Any] = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran_order else "C")
    if dtype.kind == "U" and array.size:
        "".join(array.ravel().tolist()).encode()  # raises for what is no text
    return array


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and type of an array, and how many bytes are left for its entries."""
    magic = file.read(len(np.lib.format.MAGIC_PREFIX) + 2)
    version = magic[-2] if magic.startswith(np.lib.format.MAGIC_PREFIX) and len(magic) == 8 else None
    if version not in LENGTHS:
        raise ValueError("no array of NumPy")
    width = LENGTHS[version]
    length = int.from_bytes(file.read(width), "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"a header of {length} bytes is declared, {LONGEST_HEADER} are the most")
    text = file.read(length).decode("utf-8" if version == 3 else "latin1")
    header = ast.literal_eval(text)
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("no header of an array")
    shape, order = header["shape"], header["fortran_order"]
    if not (isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and isinstance(order, bool)):
        raise ValueError(f"shape {shape!r} and order {order!r} are none")
    if not isinstance(header["descr"], str):
        raise ValueError(f"type {header['descr']!r} is none of numbers or strings")
    return shape, order, np.dtype(header["descr"]), size - len(magic) - width - length
