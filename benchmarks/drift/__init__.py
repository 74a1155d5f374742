"""Drift on real tables, real streams and streams of the literature: how right everybody stays without labels.

Run `make evaluate`, or a part of it: `python -m benchmarks.drift --split development --only segment --entrant static`.

The files, each importing only from those before it: `tables` (what there is to drift), `kinds` (how it drifts),
`drifting` (a stream of both), `regression` (tables with a number to predict), `voting` (the classifier that everybody
shares), `protocol`, `moments`, `labels`, `mapping` and `peers` (the reference methods), `entrants` (they and driftway),
`families` (all streams), `summary`, `page` and `run`.
"""
