"""What the distributions have to contain, and what they must not."""

from __future__ import annotations

import subprocess
import tarfile
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

from tests.distribution.building import ROOT

FIELDS = ("Name", "Version", "Summary", "Author", "License-Expression", "License-File", "Requires-Python", "Keywords")
LIMIT = 5_000_000  # bytes of a source distribution: twice what it has


def tracked() -> set[str]:
    """The files of the checkout that git knows."""
    run = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in run.stdout.split("\0") if name and (ROOT / name).exists()}


def of_sdist(sdist: Path) -> set[str]:
    """The files of a source distribution, without its folder and what the build adds."""
    with tarfile.open(sdist) as archive:
        names = {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}
    return names - {"PKG-INFO"}


def of_wheel(wheel: Path) -> set[str]:
    """The files of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata(wheel: Path) -> Message:
    """The metadata of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def faults(sdist: set[str], wheel: set[str], known: set[str], about: Message) -> list[str]:
    """What is missing or too much in both, given the files that git knows and the metadata."""
    package = {name.removeprefix("src/") for name in known if name.startswith("src/")}
    information = {name for name in wheel if ".dist-info/" in name}
    found = [f"the source distribution lacks {name}" for name in sorted(known - sdist)]
    found += [f"the source distribution has {name}, which git does not know" for name in sorted(sdist - known)]
    found += [f"the wheel lacks {name}" for name in sorted(package - wheel)]
    found += [
        f"the wheel has {name}, which is not part of the package" for name in sorted(wheel - package - information)
    ]
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in information):
        found.append("the wheel lacks the licence")
    found += [f"the metadata lack {field}" for field in FIELDS if not about[field]]
    return found


def check(sdist: Path, wheel: Path) -> list[str]:
    """What is wrong with two distributions that were built from this checkout."""
    found = faults(of_sdist(sdist), of_wheel(wheel), tracked(), metadata(wheel))
    if sdist.stat().st_size > LIMIT:
        found.append(f"the source distribution has {sdist.stat().st_size} bytes, more than {LIMIT}")
    return found
