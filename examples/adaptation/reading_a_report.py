"""Reading a report
================

A run becomes one HTML page that needs no network: a slider through time, curves, and what looked unsafe. ``make demo``
runs this script, and ``driftway adapt`` writes such a page beside its predictions.

Needs: driftway[report,progress]
"""

# sphinx_gallery_thumbnail_path = 'figures/report.png'
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway import ContinuousTransportClassifier, adapt_stream
from driftway.report import Projection, take_snapshot, write_report


def turned(count, degrees, seed):
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


# %%
# 500 labelled points; then 20 batches of 50 unlabelled ones, turned by 18° each. A snapshot is taken after every step.

X, y = turned(500, 0, seed=0)
model, unadapted = ContinuousTransportClassifier().fit(X, y), KNeighborsClassifier(1).fit(X, y)
batches = {f"{18 * step}°": turned(50, 18 * step, seed=step) for step in range(1, 21)}
projection, shots = Projection.fit(X), []
table = [f"{'step':>4} {'turned':>7} {'accuracy':>9} {'unadapted':>10} {'believed':>9}  track"]
for key, _, record in adapt_stream(model, [(key, points) for key, (points, _) in batches.items()], progress=True):
    points, truth = batches[key]
    shot = take_snapshot(model, key, points, projection, truth, baseline=unadapted)
    shots.append(shot)
    scores = f"{shot.score:>9.1%} {shot.baseline:>10.1%}"
    table.append(f"{record.step:>4} {key:>7} {scores} {record.belief:>9.2f}  {record.track}")
print("\n".join(table))

# %%
# Move the slider; click on a curve or on a warning to go to its step. What the parts say:
# :doc:`the page on the report </report>`.

path = Path(sys.argv[1] if len(sys.argv) > 1 else "report.html")
path.parent.mkdir(parents=True, exist_ok=True)
write_report(path, shots, estimator=model, title="Two moons that turn by 18° per step")
print(f"The report is at {path}: open it in a browser.")
