"""`python -m benchmarks.choosing`: whether settings can be chosen without target labels, and how well.

On every stream each setting of a grid is scored by `CircularScore`, which sees no target label, and by its true mean
accuracy. Told are the accuracy of the setting that the score chose, of the default, of the best and of the mean
setting, and the rank correlation of score and accuracy. Seeds are those of the evaluation.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import spearmanr
from sklearn.model_selection import ParameterGrid

from benchmarks import storage, streams
from benchmarks.drift import families
from benchmarks.drift.entrants import ours
from driftway import CircularScore, ContinuousTransportClassifier
from driftway.engines import Threads

FIRST_SEED = families.FIRST_SEED["evaluation"]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "choosing.md"
MODELS = [
    {},
    {"clusters": [False]},
    {"map": ["affine"], "motion": ["affine"]},
    {"map": ["barycentric"], "motion": [None], "labels": ["classifier", "plan"]},
]
GRID = list(ParameterGrid([{"epsilon": [0.03, 0.1, 0.3], **model} for model in MODELS]))
DEFAULT = GRID.index({"epsilon": 0.1})
STREAMS = {
    "moons, 18° per step": lambda: streams.rotating_moons(FIRST_SEED, steps=12),
    "moons, 36° per step": lambda: streams.rotating_moons(FIRST_SEED, steps=12, degrees=36.0),
    "moons, noise 0.15": lambda: streams.rotating_moons(FIRST_SEED, steps=12, noise=0.15),
    "two crossing": lambda: streams.two_crossing(FIRST_SEED, steps=20, m=150),
    "four rotating, expanding": lambda: streams.four_rotating_expanding(FIRST_SEED, steps=60, m=150),
    "label shift": lambda: streams.label_shift(FIRST_SEED, steps=20, m=150),
}
USE = """# Choosing hyper-parameters without target labels

In use nobody has labels of the batches, so the usual search over settings has nothing to score them by. `CircularScore`
goes there and back: the estimator adapts from the labelled source through all batches; the last batch, with the labels
it was given, is then a source itself, and a copy adapts back through the batches to the points of the first source,
where labels are known. It is a `scoring` for scikit-learn's search tools:

```python
import numpy as np
from sklearn.model_selection import GridSearchCV
from driftway import CircularScore, ContinuousTransportClassifier

everything = np.arange(len(X))
search = GridSearchCV(
    ContinuousTransportClassifier(),
    {"epsilon": [0.03, 0.1, 0.3], "clusters": [True, False]},
    scoring=CircularScore(batches),
    cv=[(everything, everything)],  # the batches are the test, not a part of the source
)
model = search.fit(X, y).best_estimator_
```

A setting that loses the classes on the way scores low. The converse does not hold: a setting that does nothing at all,
or that swaps two classes there and back again, comes back unharmed, and fast drift is where that happens. So compare
settings of one kind rather than kinds, and look at `history_` of what was chosen. By default the estimator lets several
hypotheses of motion compete while the batches come (see [adaptation.md](adaptation.md)), which asks the data at every
step; a search should have a reason to leave it, as the table shows.

## What was measured

Written by `python -m benchmarks.choosing`; """


def measure(name: str) -> dict[str, Any]:
    """The score and the accuracy of every setting on a stream."""
    stream, found = STREAMS[name](), []
    for setting in GRID:
        setting = {"engine": Threads(workers=1), **setting}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            score = CircularScore([X for X, _ in stream.batches])(
                ContinuousTransportClassifier(**setting), stream.X, stream.y
            )
        found.append((score, float(np.mean(ours(stream, **setting)[0]))))
    return {"stream": name, "scores": [score for score, _ in found], "accuracies": [mean for _, mean in found]}


def table(runs: list[dict[str, Any]]) -> str:
    """What was chosen, as Markdown; accuracies in per cent."""
    lines = ["| stream | chosen | default | best | mean setting | rank correlation |", "|---|---|---|---|---|---|"]
    rows = []
    for run in runs:
        scores, accuracies = np.array(run["scores"]), np.array(run["accuracies"])
        # Nothing is in no order: where all scores or all accuracies are the same, there is nothing to choose.
        rank = spearmanr(scores, accuracies).statistic if np.ptp(scores) and np.ptp(accuracies) else 0.0
        rows.append((accuracies[scores.argmax()], accuracies[DEFAULT], accuracies.max(), accuracies.mean(), rank))
        lines.append(_line(run["stream"], rows[-1]))
    return "\n".join([*lines, _line("**mean**", tuple(np.mean(rows, axis=0)))])


def _line(name: str, row: tuple[float, ...]) -> str:
    *accuracies, rank = row
    return f"| {name} | " + " | ".join(f"{100 * accuracy:.1f}" for accuracy in accuracies) + f" | {rank:.2f} |"


def main(arguments: list[str] | None = None) -> None:
    """Measures all streams, stores the numbers and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choosing", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", action="append", help="streams whose name contains this; may be repeated")
    parser.add_argument("--output", type=Path, help="directory for results, instead of benchmarks/results")
    options = parser.parse_args(arguments)
    names = [name for name in STREAMS if not options.only or any(part in name for part in options.only)]
    runs = Parallel(n_jobs=options.jobs, verbose=1)(delayed(measure)(name) for name in names)
    storage.save({"part": "choosing", "runs": runs}, options.output or storage.RESULTS, "choosing")
    print(table(runs))
    if options.output is None:
        PAGE.write_text(page(runs), encoding="utf-8")


def page(runs: list[dict[str, Any]]) -> str:
    """The how-to and the numbers."""
    return f"{USE}{len(GRID)} settings on each stream, mean accuracy over the steps in per cent.\n\n{table(runs)}\n"


if __name__ == "__main__":
    main()
