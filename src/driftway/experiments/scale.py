"""How much is computed: the paper's sizes, or a small version that shows within two minutes that all of it runs."""

from __future__ import annotations

from dataclasses import dataclass

# Test seeds are apart from validation seeds, and both from the seeds on which the library's defaults were chosen.
TEST_SEED, VALIDATION_SEED = 3000, 4000


@dataclass(frozen=True)
class Scale:
    """Sizes of the experiments.

    Attributes
    ----------
    sizes : source and target samples of Figure 2
    seconds : processor time of a run of Figure 2, with the normalisation for which the paper's step is meant
    other_seconds : the same with the other normalisations
    repetitions : of the runs of Figure 2 that are compared
    strengths : λ by metric, of the grid search of Figure 3
    time_weights, label_weights : η_t and η_c of the grid search
    validations, runs : how many streams choose the hyper-parameters, and how many are reported
    horizons : lengths of the streams, each with hyper-parameters of its own

    """

    sizes: tuple[int, int]
    seconds: float
    other_seconds: float
    repetitions: int
    strengths: dict[str, tuple[float, ...]]
    time_weights: tuple[float, ...]
    label_weights: tuple[float, ...]
    validations: int
    runs: int
    horizons: tuple[int, ...]


FULL = Scale(
    sizes=(5000, 1000),
    seconds=20.0,
    other_seconds=6.0,
    repetitions=3,
    strengths={"euclidean": (0.2, 0.3, 0.35, 0.4, 0.5), "sqeuclidean": (0.4, 0.6, 0.8, 1.0, 1.2)},
    time_weights=(0.1, 0.3, 1.0, 2.0),
    label_weights=(0.3, 1.0, 3.0),
    validations=2,
    runs=10,
    horizons=(10, 20, 40),
)

QUICK = Scale(
    sizes=(600, 150),
    seconds=1.0,
    other_seconds=0.4,
    repetitions=1,
    strengths={"euclidean": (0.2, 0.4), "sqeuclidean": (0.6, 1.0)},
    time_weights=(0.3,),
    label_weights=(0.3,),
    validations=1,
    runs=3,
    horizons=(10, 20),
)
