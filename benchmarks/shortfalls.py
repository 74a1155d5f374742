"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "group_lasso": (
        "POT may stop after one or two outer iterations here. Where the lasso hardly matters (ε = 1, η = 0.1) two "
        "of them suffice, which are three short solves by Sinkhorn on a stored kernel. Ours evaluates its dual six "
        "times, each of which takes several times as long per entry as an exponential, and then draws up a "
        "certificate, which takes as long as two or three of them. At 500 × 50 that is 2 ms as one of many, half of "
        "it between compiled calls, and 4 ms in a race, after other work; a tenth of POT's time would be less than "
        "those calls take. Where the lasso matters, POT's line search ends about a hundredth above the optimum, and "
        "it is near that after two to ten iterations; there is no shorter way for Newton's method to a gap of 1e-2 "
        "than to 1e-6, so that our whole time is compared with its time to that."
    ),
    "entropic": (
        "At 1000² and 2000² and the largest ε a dozen products with a stored kernel are enough, and POT's are as "
        "fast as memory allows. Ours takes as many, then certifies what it has found, by two more passes over all "
        "entries in float64, and given a matrix makes the plan an array, by another. Without that array, which "
        "users of a factored plan do not need, the points in the same tables show what is left."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps, at 0.13 ms each, and 1.3 ms for the certificate and the "
        "calls around it. A run by itself after other work, as here, takes longer than one of many: those take 2.3, "
        "4.6, 3.5 and 6.5 ms in the order of the table. The slowest case, the strongest regulariser at the smallest "
        "ε, needs 40 evaluations along its path; there were 127 before strides were measured."
    ),
    "sweep": (
        "In float32 the compiled loop by itself takes 0.30 ns per entry on one core, 0.15 on two. Within a sweep on "
        "one core it takes 0.39, for a reason not found: neither the sums over columns nor the logarithm per row "
        "are it. On two cores 0.21 to 0.27 were measured without other libraries in the process. Waking a thread "
        "that has slept takes 0.07 ms of the 1.1 that a sweep has then; what the rest is was not measured. "
        "Five times as fast as OTT-JAX would be 0.23."
    ),
}
