"""Where the n·m work happens: `Threads` on this machine, `Torch` on a GPU, `Dask` on a cluster.

`Engine` is the base class of all of them, and of an engine of your own.
"""

from typing import TYPE_CHECKING

from driftway.engines.engine import Engine, Kernel, Request, Sweep
from driftway.engines.threads import Threads

__all__ = ["Dask", "Engine", "Kernel", "Request", "Sweep", "Threads", "Torch"]

if TYPE_CHECKING:
    from driftway.engines.dask import Dask
    from driftway.engines.torch import Torch
else:

    def __getattr__(name: str) -> object:
        """Loads the engines that few use when they are first asked for, so that `import driftway` stays quick."""
        if name == "Dask":
            from driftway.engines.dask import Dask

            return Dask
        if name == "Torch":
            from driftway.engines.torch import Torch

            return Torch
        raise AttributeError(f"module 'driftway.engines' has no attribute '{name}'")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
