"""Drop-ins for POT: its names, arguments and return conventions, our solvers. POT itself is not needed.

    from driftway.pot import gcg, sinkhorn, SinkhornL1l2Transport    # instead of from ot.optim, ot, ot.da

PyTorch tensors and JAX arrays come back in kind. docs/bridges.md says where results differ, and why.
"""

from driftway.pot.adaptation import SinkhornL1l2Transport, SinkhornTransport, TimeSmoothTransport
from driftway.pot.entropic import sinkhorn, sinkhorn2
from driftway.pot.regularized import cg, gcg, sinkhorn_l1l2_gl

__all__ = [
    "SinkhornL1l2Transport",
    "SinkhornTransport",
    "TimeSmoothTransport",
    "cg",
    "gcg",
    "sinkhorn",
    "sinkhorn2",
    "sinkhorn_l1l2_gl",
]
