"""Choosing settings without target labels
=======================================

After the source nobody has labels, so a search has nothing to score by. ``CircularScore`` adapts through all batches
and back again to the source, where labels are known. The labels of the batches are looked at on this page only after
the choice, and do not change it.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import GridSearchCV

from driftway import AdaptationWarning, CircularScore, ContinuousTransportClassifier

X, y = make_moons(150, noise=0.1, random_state=0)
stream = []
for step in range(1, 7):
    points, truth = make_moons(60, noise=0.1, random_state=step)
    angle = np.deg2rad(15 * step)
    stream.append((points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), truth))
batches = [points for points, _ in stream]

# %%
# Only transport answers here, so that ``epsilon`` matters. A setting that does nothing at all comes back unharmed,
# too: compare settings of one kind, as here.

everything = np.arange(len(X))
warnings.simplefilter("ignore", AdaptationWarning)  # settings on trial may lose the classes
search = GridSearchCV(
    ContinuousTransportClassifier(hypotheses="transport"),
    {"epsilon": [0.01, 0.03, 0.1, 0.3, 1.0]},
    scoring=CircularScore(batches),
    cv=[(everything, everything)],
).fit(X, y)
print(search.best_params_)

# %%
# How well the circular score told the settings apart can be seen here, since the data were made.

settings = search.cv_results_["param_epsilon"].astype(float)
forward = []
for epsilon in settings:
    model = ContinuousTransportClassifier(hypotheses="transport", epsilon=epsilon).fit(X, y)
    forward.append(np.mean([model.partial_fit(points).score(points, truth) for points, truth in stream]))
plt.figure(figsize=(7, 3.4), layout="constrained")
plt.semilogx(settings, 100 * search.cv_results_["mean_test_score"], "o-", label="circular score: no target labels")
plt.semilogx(settings, 100 * np.array(forward), "o--", label="accuracy, known afterwards")
plt.xlabel("epsilon")
plt.ylabel("%")
plt.legend()
plt.show()
