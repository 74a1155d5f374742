"""Sizes of the experiments: those of the paper, or a small version that runs in two minutes."""

from __future__ import annotations

from dataclasses import dataclass

# Test and validation seeds differ from each other, and from those on which the library's defaults were chosen.
TEST_SEED, VALIDATION_SEED = 3000, 4000


@dataclass(frozen=True)
class Scale:
    """Sizes of the experiments.

    Attributes
    ----------
    sizes : pair of int
        Source and target samples of Figure 2.
    seconds : float
        Processor time of a run of Figure 2 in the normalisation for which the paper's step is meant.
    other_seconds : float
        The same in the other normalisations.
    repetitions : int
        Repetitions of the runs of Figure 2 that are compared.
    strengths : dict
        The grid of λ for Figure 3, by metric.
    time_weights, label_weights : tuple of float
        The grids of η_t and η_c for Figure 3, without 0, which is always added.
    validations, runs : int
        The number of streams on which hyper-parameters are chosen, and of those that are reported.
    horizons : tuple of int
        Lengths of the streams. Hyper-parameters are chosen for each length.

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
