"""Both distributions, with the same bytes whoever builds them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent


def epoch() -> dict[str, str]:
    """The time that files of a distribution have: that of the last commit, if git knows it and none is set."""
    if "SOURCE_DATE_EPOCH" in os.environ or not (ROOT / ".git").exists():
        return {}
    run = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {"SOURCE_DATE_EPOCH": run.stdout.strip()}


def build(source: Path, folder: Path) -> tuple[Path, Path]:
    """Builds the source distribution of a checkout, and from it the wheel."""
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(source)]
    run = subprocess.run(command, env=os.environ | epoch(), capture_output=True, text=True)
    if run.returncode:
        raise SystemExit(f"the build failed:\n{run.stdout}{run.stderr}")
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def unpacked(sdist: Path, folder: Path) -> Path:
    """What a source distribution was made from, unpacked into a folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    (top / "PKG-INFO").unlink()  # the build writes it, and would pack an old one, too
    return top


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def differences(first: tuple[Path, Path]) -> list[str]:
    """Which of two distributions have other bytes if they are built once more from what the first one contains.

    The second build is in another folder, without git, and at another time.
    """
    with tempfile.TemporaryDirectory() as scratch:
        source, out = Path(scratch) / "source", Path(scratch) / "out"
        again = build(unpacked(first[0], source), out)
        return [
            f"{path.name}: built twice, it has two digests, {digest(path)} and {digest(other)}"
            for path, other in zip(first, again, strict=True)
            if digest(path) != digest(other)
        ]
