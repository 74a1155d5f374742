"""Drop-in replacements for functions and classes of POT, computed by the solvers of driftway. POT is not needed.

    from driftway.pot import gcg, sinkhorn, SinkhornL1l2Transport    # instead of from ot.optim, ot, ot.da

Names, arguments and return values are those of POT. Results are PyTorch tensors or JAX arrays if the arguments are.
docs/bridges.md says where results differ from POT's, and why.
"""

from driftway.pot.adaptation import SinkhornL1l2Transport, SinkhornTransport, TimeSmoothTransport
from driftway.pot.conditional_gradient import cg, gcg
from driftway.pot.entropic import sinkhorn, sinkhorn2
from driftway.pot.regularized import sinkhorn_l1l2_gl

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
