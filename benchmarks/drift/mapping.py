"""Reference methods of POT and skada, which map the source to one batch after another; both libraries are optional."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.drift.protocol import Make, Predict, scores, source_units
from benchmarks.drift.voting import same_again
from benchmarks.streams import Double, Stream


def pot_stepwise(stream: Stream, make: Make, strength: float = 0.05) -> list[float]:
    """POT's `SinkhornTransport` step by step: squared distances, uniform marginals.

    The source is mapped to the batch (barycentric images), and what was mapped is the next step's source. ε is
    `strength` times the median cost of the step. No more than the 1000 iterations that POT allows by default, so
    that a column sum may be off by a percent; solved in earnest, a stream on which it was tried scored about the same.
    """
    import ot

    scale = source_units(stream)
    source = scale(stream.X)
    model = make().fit(source, stream.y)

    def adapt(batch: Double) -> Predict:
        nonlocal source
        target = scale(batch)
        cost = ot.dist(source, target)
        epsilon = strength * float(np.median(cost))
        # The iterates are the same; the first is faster, and underflows where costs are large.
        method = "sinkhorn" if cost.max() < 500.0 * epsilon else "sinkhorn_log"
        # The default map, "continuous", takes exp of potentials as they are, which overflows.
        transport = ot.da.SinkhornTransport(epsilon, method=method, tol=1e-6, out_of_sample_map="ferradans")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sinkhorn did not converge")
            source = transport.fit(Xs=source, Xt=target).transform(Xs=source)
        present = same_again(model).fit(source, stream.y)
        return lambda X: present.predict(scale(X))

    return scores(stream, adapt)


def skada_transport(stream: Stream, make: Make) -> list[float]:
    """skada's `OTMapping`, exact and balanced, from the source to every batch anew."""
    from skada import OTMapping

    return _skada(stream, make, OTMapping)


def skada_subspaces(stream: Stream, make: Make) -> list[float]:
    """skada's `SubspaceAlignment`, with as many components as it takes by default, for every batch anew."""
    from skada import SubspaceAlignment

    return _skada(stream, make, lambda base: SubspaceAlignment(base, random_state=0))


def _skada(stream: Stream, make: Make, pipeline: Callable[[Any], Any]) -> list[float]:
    scale = source_units(stream)
    source = scale(stream.X)
    model = make().fit(source, stream.y)
    classes, codes = np.unique(stream.y, return_inverse=True)

    def adapt(batch: Double) -> Predict:
        target = scale(batch)
        unknown = np.full(len(target), -1)  # skada's mark of a label that is not known
        domain = np.r_[np.ones(len(source), dtype=int), np.full(len(target), -2)]
        adapted = pipeline(same_again(model))
        adapted.fit(np.vstack([source, target]), np.r_[codes, unknown], sample_domain=domain)
        return lambda X: classes[adapted.predict(scale(X))]

    return scores(stream, adapt)
