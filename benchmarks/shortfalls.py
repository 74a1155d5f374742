"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "group_lasso": (
        "POT stops about a hundredth above the optimum where the lasso matters; there is no shorter way for Newton's "
        "method to a gap of 1e-2 than to 1e-6, so that our whole time is compared with its time to that. Where the "
        "lasso hardly matters, both are plain Sinkhorn, and ours draws up a certificate on top: at 500 × 50 about "
        "half of its time are the 3,000 calls between the passes, at 1000 × 200 the passes over arrays for the "
        "certificate. Ten times is reached from 2000 × 500 on there."
    ),
    "entropic": (
        "A ratio that begins with > is cut off by the budget of the peer: 2 s in the older races up to 5000², and 2.5 "
        "times what ours took right before in the newer ones."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps (2 to 21 ms) and 1.3 ms for the certificate and the calls "
        "around it; a run by itself after other work, as here, takes a third longer than one of many. A Newton step "
        "takes 0.35 ms, half of it the product of a 50 × 1500 matrix with itself. The slowest case, the strongest "
        "regulariser at the smallest ε, needs 127 evaluations along 11 strengths; fewer strengths were faster in "
        "some cases and slower in others."
    ),
    "sweep": (
        "In parts, best of many runs on one core (512-bit vectors): forming an entry with its square root and "
        "exponentiating it in one loop takes 0.87 ns in float64 and 0.28 in float32, the sum over the columns 0.09 and "
        "0.05; that is 0.48 and 0.17 ns on two cores, where 0.56 and 0.23 are measured without other libraries in the "
        "process. Five times as fast as OTT-JAX would be 0.51 and 0.18. A reciprocal square root by its hardware "
        "estimate and Newton steps was no faster. The arithmetic bounds float64 at 0.29 ns. OTT-JAX took 4.3 and 1.6 "
        "ns in an earlier run on a busy machine: it suffers more from that."
    ),
}
