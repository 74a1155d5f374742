"""Benchmarks of driftway against its own older solvers and against the libraries of the field.

Run `make bench`, or one part of it: `python -m benchmarks --part figure2 --quick`.
"""
