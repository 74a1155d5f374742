"""Many problems: where the tasks of joblib run, on processes of this machine or on the workers of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from joblib import parallel_config

from driftway.engines.dask.engine import Dask

# The address that stands for a cluster of processes on this machine.
LOCAL = "local"


class NoSchedulerError(ConnectionError):
    """There is no Dask scheduler at the address that was given."""


@contextmanager
def spread(cluster: str | None, jobs: int) -> Iterator[str | None]:
    """Sends whatever runs on joblib to `jobs` processes, or to the workers of the Dask scheduler at `cluster`.

    "local" is a cluster of `jobs` processes that lives as long as the `with` block. Results do not depend on where
    tasks run as long as these carry their seeds. Yields where the cluster can be watched, if there is one; raises
    `NoSchedulerError` if nobody answers at that address.
    """
    if cluster is None:
        with parallel_config("loky", n_jobs=jobs):
            yield None
        return
    with Dask(workers=jobs) if cluster == LOCAL else Dask(cluster, patience=10.0) as engine:
        try:
            dashboard = engine.dashboard
        except (OSError, ValueError) as error:
            raise NoSchedulerError(f"no Dask scheduler answers at {cluster} ({error})") from error
        with parallel_config("dask"):
            yield dashboard
