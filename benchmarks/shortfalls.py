"""Why a target is not reached, as far as it is known: shown on the page where one is not."""

from __future__ import annotations

WHY = {
    "group_lasso": (
        "Where the lasso matters (ε = 0.1, η = 2) it is reached at all sizes, and where it hardly matters (ε = 1, η "
        "= 0.1) from 2000 × 500 on. Below that two outer iterations of POT's suffice, which are three short solves "
        "by Sinkhorn on a stored kernel. Ours evaluates its dual three times, each of which takes several times as "
        "long per entry as an exponential, writes the plan and evaluates it. As one of many that is 1.6 ms at 500 × "
        "50, a third of it between compiled calls, and 4.5 ms at 1000 × 200; in a race, after a pause, it is nearly "
        "twice that. A tenth of POT's time would be 0.8 and 4.1 ms."
    ),
    "entropic": (
        "At 1000² and 2000² and the largest ε a dozen products with a stored kernel are enough, and POT's are as "
        "fast as memory allows. Ours takes as many, then certifies what it has found, by two more passes over all "
        "entries in float64, and given a matrix makes the plan an array, by another. Without that array, which "
        "users of a factored plan do not need, the points in the same tables show what is left."
    ),
    "small": (
        "A cold solve is compiled Newton steps, at 0.13 ms each, and 1.3 ms for the certificate and the calls around "
        "them. A run by itself after a pause, as here, takes longer than one of many: those took 2.3, 4.6, "
        "3.5 and 6.5 ms in the order of the table, on a day when this race took 2.6, 5.3, 5.6 and 9.3. The slowest "
        "case, the strongest regulariser at the smallest ε, needs 40 evaluations along its path."
    ),
    "sweep": (
        "The compiled loop takes 0.33 ns per entry in float32 and 0.85 in float64 on one core of this machine. By "
        "themselves its exponentials take 0.16 and 0.47, its square roots 0.17 and 0.54: they are all it does, and "
        "hardly overlap. So 0.17 and 0.43 on two cores are the limit. A sweep in float32 adds 0.1 ms of Python and up "
        "to 0.2 ms for the waking of a thread to 0.8 ms of that. OTT-JAX gains more from float32 than ours does. "
        "Figures of this part scatter by a fifth and more from one hour to the next; 0.75 and 0.30 were seen, too. For "
        "stretches of many sweeps one of the cores takes 3.1 ms for the half of one that takes it 2.2 at other times, "
        "while nothing else runs here. Other libraries in the process made no difference that could be told from that."
    ),
}
