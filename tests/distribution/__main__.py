"""Builds both distributions into a folder, checks them, and tests the wheel in a clean environment.

Run:  python -m tests.distribution dist
      python -m tests.distribution dist --extras fast,cli --python python3.13
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from tests.distribution import building, clean_install, contents


def main() -> None:
    """Ends with 1 if anything is wrong, and says what."""
    parser = argparse.ArgumentParser(prog="python -m tests.distribution", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the distributions go; what it had is removed")
    parser.add_argument("--extras", default="", help="extras that the wheel is installed with, separated by commas")
    parser.add_argument("--python", help="the interpreter that the wheel is installed for; without it, this one")
    given = parser.parse_args()
    shutil.rmtree(given.folder, ignore_errors=True)
    distributions = building.build(building.ROOT, given.folder)
    found = contents.check(*distributions) + building.differences(distributions)
    if found:
        sys.exit("\n".join(found))
    for path in distributions:
        print(f"{path.name}: {path.stat().st_size} bytes, sha256 {building.digest(path)}")
    with tempfile.TemporaryDirectory() as scratch:
        clean_install.run(Path(scratch), distributions[1].resolve(), given.extras, given.python)


if __name__ == "__main__":
    main()
