"""A folder that is watched
========================

Files arrive in a folder, and each is answered once, as by ``driftway adapt labelled.csv --label kind --watch
incoming --resume``. Here the files come from a drifting process, and the command is told to end when all is done.

Needs: driftway[cli]
"""

import csv
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from driftway.cli import main
from driftway.files import write_table

rng = np.random.default_rng(0)


def write(path, step, size):
    """A table of two kinds, whose measurements drift from step to step."""
    kind = np.arange(size) % 2
    points = rng.normal(size=(size, 2)) + np.outer(kind, [5, 2]) + np.array([0.4, 0.6]) * step
    names = np.array(["pump", "valve"])[kind]
    write_table(path, {"pressure": points[:, 0], "heat": points[:, 1], "kind": names})


folder = Path(tempfile.mkdtemp())
(folder / "incoming").mkdir()
write(folder / "labelled.csv", 0, 200)
for day in range(1, 9):
    write(folder / "incoming" / f"day{day}.csv", day, 80)

# %%
# The same words as in a terminal. Labels of the batches are there only to be scored; they are never used to adapt.

options = ["--watch", str(folder / "incoming"), "--resume", "--until-idle", "0", "--out", str(folder / "out")]
code = main(["adapt", str(folder / "labelled.csv"), "--label", "kind", *options])
assert code == 0

# %%
# What it wrote: predictions with probabilities, a line of history per file, the report, and the state to go on from.

print(*sorted(path.relative_to(folder).as_posix() for path in (folder / "out").glob("*")), sep="\n")
with (folder / "out" / "history.csv").open() as lines:
    history = list(csv.DictReader(lines))
plt.figure(figsize=(7, 3.2), layout="constrained")
plt.plot([row["batch"] for row in history], [100 * float(row["accuracy"]) for row in history], "o-")
plt.ylim(0, 104)
plt.ylabel("accuracy, %")
plt.show()
