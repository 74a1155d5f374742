"""Where the n·m work happens: `Threads` on this machine, `Torch` on a GPU, `Dask` on a cluster.

`Engine` is the base class of all of them, and of an engine of your own.
"""

from typing import TYPE_CHECKING

from driftway.arrays.exports import lazily
from driftway.engines.engine import Engine, Kernel, Request, Sweep
from driftway.engines.threads import Threads

__all__ = ["Dask", "Engine", "Kernel", "Request", "Sweep", "Threads", "Torch"]

if TYPE_CHECKING:
    from driftway.engines.dask import Dask
    from driftway.engines.torch import Torch
else:
    __getattr__, __dir__ = lazily(__name__, {"dask": ("Dask",), "torch": ("Torch",)})
