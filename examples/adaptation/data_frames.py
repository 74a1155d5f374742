"""A stream from a data frame
==========================

Events with a time stamp, in one data frame. What ``groupby`` yields goes into ``adapt_stream`` as it is: keys come
back with the answers, columns are told apart by name, and the history becomes a data frame again.

Needs: driftway[river]
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from driftway import ContinuousTransportClassifier, adapt_stream

rng = np.random.default_rng(0)


def events(day, size):
    """Two species of iris-like flowers, measured by an instrument that drifts by the day."""
    species = rng.choice(["north", "south"], size)
    south = species == "south"
    return pd.DataFrame(
        {
            "length": 4 + 1.5 * south + 0.3 * rng.normal(size=size) + 0.12 * day,
            "width": 2 + 0.6 * south + 0.3 * rng.normal(size=size) - 0.05 * day,
            "species": species,
            "time": pd.Timestamp("2026-05-01") + pd.Timedelta(days=day) + pd.to_timedelta(rng.random(size), unit="D"),
        }
    )


# %%
labelled, stream = events(0, 200), pd.concat([events(day, 60) for day in range(1, 15)], ignore_index=True)
print(stream.head(3))

features = ["length", "width"]
by_day = stream.groupby(pd.Grouper(key="time", freq="D"))
model = ContinuousTransportClassifier().fit(labelled[features], labelled["species"])
answers = {day: predicted for day, predicted, record in adapt_stream(model, by_day[features])}
accuracy = pd.Series({day: (answers[day] == truth).mean() for day, truth in by_day["species"]})
assert accuracy.mean() > 0.95

# %%
# ``history_`` has a row per step, to plot, to keep and to alarm on.

history = pd.DataFrame(model.history_.to_dict(), index=list(answers))
print(history[["track", "belief", "signal", "drift"]].tail(4).round(2))
figure, axes = plt.subplots(2, 1, figsize=(7, 4.6), sharex=True, layout="constrained")
(100 * accuracy).plot(ax=axes[0], style="o-", ylim=(0, 104), ylabel="accuracy, %")
history["drift"].plot(ax=axes[1], style="o-", color="#8b93a1", ylabel="distance from the source")
plt.show()
