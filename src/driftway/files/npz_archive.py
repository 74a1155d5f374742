"""Safe reading of NumPy's files: sizes are checked before memory is taken, and nothing is unpickled."""

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

# Kinds of dtypes that are read: booleans, numbers, strings, dates and durations.
DTYPE_KINDS = "biufcSUmM"
# Compression methods of ZIP archives that are read: none, and zlib's.
COMPRESSIONS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# A limit of zlib itself: one packed byte unpacks to at most this many.
MAX_DEFLATE_RATIO = 1032
# The flag of encrypted ZIP entries.
ENCRYPTED = 0x1
# Bytes of the field with the header's length, by the version of the NPY format.
LENGTH_FIELD_BYTES = {1: 2, 2: 4, 3: 4}
# NumPy's own limit for a header.
MAX_HEADER_BYTES = 10_000


def read_arrays(content: bytes) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an NPZ file by name; raises a ValueError for any other content.

    The declared sizes are checked twice: against the size of the file before an entry is unpacked, and against the
    unpacked bytes before an array is made of them.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check(entries, len(content))
            return {_name(entry): _array(archive, entry) for entry in entries}
    except Exception as error:  # zipfile and zlib raise many kinds
        raise ValueError(in_short(error)) from error


def array_in(content: bytes) -> npt.NDArray[Any]:
    """The array of an NPY file; raises a ValueError for any other content."""
    try:
        return _array_of(io.BytesIO(content), len(content))
    except Exception as error:
        raise ValueError(in_short(error)) from error


def _check(entries: list[zipfile.ZipInfo], size: int) -> None:
    names = [_name(entry) for entry in entries]
    if len(set(names)) < len(names):
        raise ValueError("several arrays have the same name")
    for name, entry in zip(names, entries, strict=True):
        if entry.flag_bits & ENCRYPTED:
            raise ValueError(f"array {name!r} is encrypted")
        if entry.compress_type not in COMPRESSIONS:
            raise ValueError(f"array {name!r} is compressed by method {entry.compress_type}; only zlib is supported")
        most = entry.compress_size * (1 if entry.compress_type == zipfile.ZIP_STORED else MAX_DEFLATE_RATIO)
        if entry.file_size > most:
            raise ValueError(f"array {name!r} declares {entry.file_size} bytes, packed into {entry.compress_size}")
    if (packed := sum(entry.compress_size for entry in entries)) > size:
        raise ValueError(f"its arrays declare {packed} packed bytes, but the file has {size}")
    unpacked, limit = sum(entry.file_size for entry in entries), unpacked_limit(size)
    if unpacked > limit:
        raise ValueError(f"its {size} bytes unpack to {unpacked}, more than the {limit} that are allowed for this size")


def _name(entry: zipfile.ZipInfo) -> str:
    entry.filename.encode()  # raises if the name is not valid text
    return entry.filename.removesuffix(".npy")


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    try:
        with archive.open(entry) as file:
            return _array_of(file, entry.file_size)
    except Exception as error:
        raise ValueError(f"array {shortened(_name(entry))!r}: {in_short(error)}") from error


def _array_of(file: IO[bytes], size: int) -> npt.NDArray[Any]:
    """The array of a file or entry of `size` bytes."""
    shape, fortran_order, dtype, left = _header(file, size)
    if dtype.kind not in DTYPE_KINDS or dtype.shape or not dtype.itemsize:
        raise ValueError(f"its entries must be numbers or strings, got type {dtype}")
    wanted = math.prod(shape) * dtype.itemsize
    # An array without entries takes no memory, whatever its shape is, but code loops over the shape.
    if wanted != left or max(shape, default=0) > size:
        raise ValueError(f"shape {shape} of {dtype} takes {wanted} bytes, but there are {left}")
    data = bytearray(file.read(wanted))
    if len(data) != wanted or file.read(1):  # the last read compares checksums, too
        raise ValueError(f"{wanted} bytes are declared, but there are {len(data)}")
    array: npt.NDArray[Any] = np.frombuffer(data, dtype).reshape(shape, order="F" if fortran_order else "C")
    if dtype.kind == "U" and array.size:
        "".join(array.ravel().tolist()).encode()  # raises if a string is not valid text
    return array


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and type of an array, and the number of bytes that are left for its entries."""
    magic = file.read(len(np.lib.format.MAGIC_PREFIX) + 2)
    version = magic[-2] if magic.startswith(np.lib.format.MAGIC_PREFIX) and len(magic) == 8 else None
    if version not in LENGTH_FIELD_BYTES:
        raise ValueError("it does not begin as NumPy's array files do")
    width = LENGTH_FIELD_BYTES[version]
    length = int.from_bytes(file.read(width), "little")
    if length > MAX_HEADER_BYTES:
        raise ValueError(f"its header declares {length} bytes, more than the {MAX_HEADER_BYTES} that are allowed")
    text = file.read(length).decode("utf-8" if version == 3 else "latin1")
    try:
        header = ast.literal_eval(text)
    except ValueError:  # it tells where in memory what it does not know is
        header = None
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError("its header does not describe an array")
    shape, order = header["shape"], header["fortran_order"]
    if not (isinstance(shape, tuple) and all(type(n) is int and n >= 0 for n in shape) and isinstance(order, bool)):
        raise ValueError(f"its header is invalid: shape {shape!r}, fortran_order {order!r}")
    if not isinstance(header["descr"], str):
        raise ValueError(f"its entries must be numbers or strings, got type {header['descr']!r}")
    return shape, order, np.dtype(header["descr"]), size - len(magic) - width - length
