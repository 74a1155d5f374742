"""Stopping and going on
=====================

With ``state=`` a stream's state is one file, replaced as a whole after every batch. Whenever the process is killed,
the next one goes on there, and its answers are bit for bit those of a run that was never stopped.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from driftway import ContinuousTransportClassifier, adapt_stream

rng = np.random.default_rng(0)
kind = np.arange(80) % 2
batches = [rng.normal(size=(80, 2)) + np.outer(kind, [6, 0]) + np.array([0.8, 0.4]) * hour for hour in range(13)]
X, y, stream = batches[0], kind, batches[1:]

# %%
# A run that nobody stops, and one that is stopped after five batches.

whole = [adapted.predicted for adapted in adapt_stream(ContinuousTransportClassifier().fit(X, y), stream)]
state = Path(tempfile.mkdtemp()) / "stream.state"
for count, _ in enumerate(adapt_stream(ContinuousTransportClassifier().fit(X, y), stream, state=state), start=1):
    if count == 5:
        break  # the machine goes down

# %%
# Started again with the same words, it passes over what it has seen. The file holds arrays and JSON, no pickle.

again = ContinuousTransportClassifier().fit(X, y)
rest = [adapted.predicted for adapted in adapt_stream(again, stream, state=state)]
print(f"{len(rest)} batches were left; the state takes {state.stat().st_size / 1024:.0f} KiB")
assert len(rest) == 7
assert all(np.array_equal(one, other) for one, other in zip(whole[5:], rest, strict=True))

# %%
loaded = ContinuousTransportClassifier.load(state)
plt.figure(figsize=(7, 3.4), layout="constrained")
plt.scatter(*stream[-1].T, s=40, color="#c3c9d3", label="the last batch")
plt.scatter(*loaded.transform(X).T, s=8, c=np.array(["#0072b2", "#d55e00"])[y], label="the source, by the loaded state")
plt.legend()
plt.show()
