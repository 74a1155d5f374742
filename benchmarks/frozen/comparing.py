"""What differs between the results of two versions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Result = dict[str, Array]

# Results that are relative already, also as columns of a history: a difference of theirs is not divided by their size.
RELATIVE = ("gap", "marginal_error")
# Between the name of a case and the name of one of its results; and the name under which the machine stands.
BETWEEN, MACHINE = "|", "machine"


def read(path: Path) -> tuple[dict[str, Result], str]:
    """The results by case, and the machine."""
    cases: dict[str, Result] = {}
    with np.load(path, allow_pickle=False) as file:
        for name in file.files:
            case, between, key = name.partition(BETWEEN)
            if between:
                cases.setdefault(case, {})[key] = file[name]
        return cases, str(file[MACHINE])


def difference(name: str, before: Array, after: Array) -> float:
    """The largest difference relative to the largest magnitude; infinite for other words, shapes, dtypes or NaN."""
    if before.dtype != after.dtype or before.shape != after.shape:
        return np.inf
    if before.tobytes() == after.tobytes():
        return 0.0
    if before.dtype.kind != "f":
        return np.inf
    old, new = before.astype(np.float64), after.astype(np.float64)
    finite = np.isfinite(old)
    if not np.array_equal(finite, np.isfinite(new)) or not np.array_equal(old[~finite], new[~finite], equal_nan=True):
        return np.inf
    largest = float(np.abs(old[finite]).max(initial=0.0))
    scale = 1.0 if name.split(": ")[-1] in RELATIVE or largest == 0.0 else largest
    # Where only the sign of a zero or the bits of a NaN differ, the bits do.
    return max(float(np.abs(new[finite] - old[finite]).max(initial=0.0)) / scale, float(np.finfo(float).tiny))


def same_words(before: Array, after: Array) -> bool:
    """Whether texts differ in numbers alone: those of a gap that is all rounding change with any operation."""
    if before.dtype.kind != "U" or after.dtype.kind != "U" or before.shape != after.shape:
        return False
    return all(
        re.sub(r"\d[\d.]*(e[+-]?\d+)?", "#", one) == re.sub(r"\d[\d.]*(e[+-]?\d+)?", "#", other)
        for one, other in zip(before.ravel().tolist(), after.ravel().tolist(), strict=True)
    )


def differences(before: Result, after: Result, tol: float) -> dict[str, float]:
    """By name, by how much results differ; those that do not are left out. Missing ones differ infinitely."""
    found = {}
    for name in sorted(set(before) | set(after)):
        if name not in before or name not in after:
            found[name] = np.inf
        elif (size := difference(name, before[name], after[name])) > 0:
            found[name] = 0.0 if tol > 0 and same_words(before[name], after[name]) else size
    return found


def compare(before: Path, after: Path, tol: float) -> int:
    """Prints which cases differ; the exit code is 1 if some do by more than `tol`."""
    (old, here), (new, there) = read(before), read(after)
    if here != there:
        print(f"other machines: {here}; {there}")
    names = sorted(set(old) | set(new))
    identical = within = 0
    for name in names:
        if name not in old or name not in new:
            print(f"{name}: missing in {before if name not in old else after}")
            continue
        found = differences(old[name], new[name], tol)
        if not found:
            identical += 1
            continue
        worst = max(found, key=lambda key: found[key])
        within += found[worst] <= tol
        print(f"{name}: {found[worst]:.1e} in {worst!r}; {len(found)} of {len(old[name])} results differ")
    if tol > 0:
        print(f"{identical + within} of {len(names)} within {tol:g}")
    print(f"{identical} of {len(names)} identical bit for bit")
    return int(identical + within < len(names))
