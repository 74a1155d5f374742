"""HTML reports of an adaptation: one self-contained file that shows every step.

    projection = Projection.fit(X_source)
    for key, batch in batches:
        estimator.partial_fit(batch)
        shots.append(take_snapshot(estimator, key, batch, projection))
    write_report("report.html", shots, estimator=estimator)

Plotly draws the curves. It works with mouse, touch and keyboard, and its Python package contains the whole script, so
that the page needs no network. The script has 4.8 MB; compressed by gzip, which browsers since 2023 unpack, a report
has about 2 MB. Smaller scripts (Plotly's partial bundles, uPlot, Vega) come in no Python package and would have to be
copied into this one. Bokeh's is half the size, but its package depends on pandas and a web server.
"""

from driftway.report.page import write_report
from driftway.report.projection import Projection
from driftway.report.snapshot import Cloud, Snapshot, take_snapshot

__all__ = ["Cloud", "Projection", "Snapshot", "take_snapshot", "write_report"]
