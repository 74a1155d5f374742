"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "group_lasso": (
        "POT may stop after one or two outer iterations here. Where the lasso hardly matters (ε = 1, η = 0.1) two "
        "of them suffice, which are three solves by Sinkhorn on a stored kernel; ours makes one and then draws up "
        "a certificate, which takes as many passes over arrays. With its default of ten iterations POT took 3 to "
        "12 times as long as ours in an earlier run. Where the lasso matters, POT's line search ends about a "
        "hundredth above the optimum, and it is near that after two to ten iterations; there is no shorter way "
        "for Newton's method to a gap of 1e-2 than to 1e-6, so that our whole time is compared with its time to "
        "that."
    ),
    "entropic": (
        "At 1000² and 2000² and the largest ε a dozen products with a stored kernel are enough, and POT's are as "
        "fast as memory allows. Ours takes as many, then certifies what it has found, by two more passes over all "
        "entries in float64, and given a matrix makes the plan an array, by another. Without that array, which "
        "users of a factored plan do not need, the points in the same tables show what is left."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps and 1.3 ms for the certificate and the calls around "
        "it. A run by itself after other work, as here, takes longer than one of many: those take 2.6, 5.8, 4.4 "
        "and 18 ms in the order of the table. The slowest case, the strongest regulariser at the smallest ε, "
        "needs 127 evaluations along 11 strengths; fewer strengths were faster in some cases and slower in "
        "others."
    ),
    "sweep": (
        "In parts, best of many runs on one core (512-bit vectors): forming an entry with its square root and "
        "exponentiating it in one loop takes 0.87 ns in float64 and 0.28 in float32, the sum over the columns "
        "0.09 and 0.05; that is 0.48 and 0.17 ns on two cores, where 0.56 and 0.23 are measured without other "
        "libraries in the process. The same code took 0.59 and 0.29 ns in the run before this one: the machine "
        "varies by as much as is missing. Five times as fast as OTT-JAX would be 0.51 and 0.18. A reciprocal "
        "square root by its hardware estimate and Newton steps was no faster. The arithmetic bounds float64 at "
        "0.29 ns. OTT-JAX took 4.3 and 1.6 ns in an earlier run on a busy machine: it suffers more from that."
    ),
}
