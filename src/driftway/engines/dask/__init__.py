"""The engine of a cluster: rows on the workers of Dask."""

from driftway.engines.dask.engine import Dask

__all__ = ["Dask"]
