"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "figure2": (
        "In `sum` at λ = 0.01 (condition number 10⁸) the automatic choice takes a path of strengths whose last "
        "stages are slow: minutes to the target, which nobody else reaches, but until then acceleration shows the "
        "smaller gap. A ratio that begins with > is cut off by the budget of the peer, not by our time."
    ),
    "group_lasso": (
        "POT stops about a hundredth above the optimum where the lasso matters; the ratio compares our time to a "
        "gap of 1e-6 with its time to that. Where it hardly matters, both are plain Sinkhorn and a certificate, "
        "and at 500 × 50 the calls between the passes are most of our time."
    ),
    "entropic": (
        "Undecided cases are those in which nobody, we included, meets the target within the budget. At 5000² and "
        "ε = 0.005 of the mean cost we need 2.5 to 2.6 s, and the budget was 2 s."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps (3 to 20 ms, by the number of strengths on the path) "
        "and about 3 ms for the certificate and the calls around it. Warm starts need a fraction of the steps."
    ),
    "sweep": (
        "An exponential is 14 multiplications or fused multiply-adds, which bounds this machine at 0.29 ns per "
        "entry in float64 on two cores; written by hand in C with intrinsics, the exponentials alone took 0.73 to "
        "0.88 ns on one core, and the compiled code here takes 1.0 to 1.2: its dependency chain of 50 cycles "
        "fills the scheduler before the units are full. Alone on a quiet machine the whole iteration ran at 0.85 "
        "to 1.0 ns. A busy machine shows in the limits below: np.exp is 4 ns in float64 on a quiet one."
    ),
}
