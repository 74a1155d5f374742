"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "group_lasso": (
        "Where the lasso matters (ε = 0.1, η = 2) it is reached at all sizes. Where it hardly matters (ε = 1, η = 0.1) "
        "two outer iterations of POT's suffice, which are three short solves by Sinkhorn on a stored kernel. Ours "
        "evaluates its dual five times, each of which takes several times as long per entry as an exponential, writes "
        "the plan and evaluates it; it then has a gap of 1e-13 where 1e-6 was asked for, since Newton's method "
        "arrives in leaps. At 500 × 50 that is 2 ms as one of many, half of it between compiled calls, and twice that "
        "in a race, after a pause; a tenth of POT's time would be less than those calls take."
    ),
    "entropic": (
        "At 1000² and 2000² and the largest ε a dozen products with a stored kernel are enough, and POT's are as "
        "fast as memory allows. Ours takes as many, then certifies what it has found, by two more passes over all "
        "entries in float64, and given a matrix makes the plan an array, by another. Without that array, which "
        "users of a factored plan do not need, the points in the same tables show what is left."
    ),
    "small": (
        "A cold solve is one call of compiled Newton steps, at 0.13 ms each, and 1.3 ms for the certificate and the "
        "calls around it. A run by itself after a pause, as here, takes longer than one of many: those took 2.3, 4.6, "
        "3.5 and 6.5 ms in the order of the table, on a day when this race took 2.6, 5.3, 5.6 and 9.3. The slowest "
        "case, the strongest regulariser at the smallest ε, needs 40 evaluations along its path."
    ),
    "sweep": (
        "The compiled loop takes 0.33 ns per entry in float32 and 0.87 in float64 on one core of this machine, of "
        "which the square root and the exponential keep its units busy: 0.17 and 0.44 on two cores are the limit. "
        "Without other libraries in the process, after the same pauses, 0.23 to 0.31 and 0.49 to 0.57 were measured "
        "in the same hours, so that something in this race costs a fifth to a third more in float64; what it is was "
        "not found. Of a sweep in float32, 0.15 ms of 1.2 are Python and the waking of a thread. On another day the "
        "same race gave 0.55 in float64, 5.0 times as fast as OTT-JAX, and 0.33 in float32, 3.5 times as fast."
    ),
}
