"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "figure2": (
        "`sum` at λ = 0.01 (condition number 10⁸) was raced before Newton's method took over the path of strengths. "
        "Since then, run by itself on two nearly idle cores, it is certified to 1e-7 after 61 s; the accelerated "
        "solver, run after it, had an objective 2e-4 to 2e-3 above the optimum between 90 and 100 s. The race itself "
        "was not run again. A ratio that begins with > is cut off by the budget of the peer, not by our time."
    ),
    "group_lasso": (
        "POT stops about a hundredth above the optimum where the lasso matters; the ratio compares our time to a "
        "gap of 1e-6 with its time to that. Where it hardly matters, both are plain Sinkhorn and a certificate, "
        "and at 500 × 50 the calls between the passes are most of our time."
    ),
    "entropic": (
        "A ratio that begins with > is cut off by the budget of the peer: 2 s in the older races up to 5000², and 2.5 "
        "times what ours took right before in the newer ones."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps (1 to 20 ms, by the number of strengths on the path) "
        "and about 3 ms for the certificate and the calls around it. Warm starts need a fraction of the steps."
    ),
    "sweep": (
        "In parts, best of many runs on one core (512-bit vectors): forming an entry, with its square root, takes 0.55 "
        "ns and the exponential 0.48 ns in float64, 0.18 and 0.14 ns in float32; both in one loop 0.93 and 0.30. On "
        "two cores that is 0.5 and 0.16 ns. The rest of the iteration sums the columns from four rows that fill the "
        "first-level cache: in processor time over two cores it took 0.75 ns in float64 and 0.29 in float32 where "
        "the table has 1.39 and 0.75 of elapsed time, which includes waiting for the slower of two threads beside "
        "the libraries' own threads. The arithmetic bounds float64 at 0.29 ns. A busy machine shows in the limits "
        "below, too: np.exp is 4 ns in float64 on a quiet one."
    ),
}
