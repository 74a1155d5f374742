"""A page to look at: what happened at every step of an adaptation, in one HTML file that needs no network.

    projection = Projection.fit(X_source)
    for key, batch in batches:
        estimator.partial_fit(batch)
        shots.append(take_snapshot(estimator, key, batch, projection))
    write_report("report.html", shots, estimator=estimator)

The curves are drawn by Plotly: it is well kept, works with mouse, touch and keyboard, and its Python package carries
the whole script, so that nothing is downloaded. The script is large (4.8 MB), and is therefore packed: browsers since
2023 unpack gzip by themselves, and a report is about 2 MB. The smaller scripts (Plotly's partial bundles, uPlot, Vega)
are in no Python package of their own and would have to be kept in this one; Bokeh's is half the size but brings
pandas and a web server with it.
"""

from driftway.report.page import write_report
from driftway.report.projection import Projection
from driftway.report.snapshot import Cloud, Snapshot, take_snapshot

__all__ = ["Cloud", "Projection", "Snapshot", "take_snapshot", "write_report"]
