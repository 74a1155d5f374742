"""For users of POT: the import is what changes.

A labelled source and a target that turns by 18° per step. First the class regulariser of POT's
`sinkhorn_l1l2_gl` on one step, with a certificate; then the last batch of the stream, reached by POT's
`SinkhornTransport` in one leap, and step by step by `TimeSmoothTransport`, whose map stays near the last one. A
nearest-neighbour classifier is trained on the transported source. POT need not be installed. The strengths are the
paper's, kept after others had been tried on this very stream: an illustration, no evidence.

Run:  python examples/pot_users.py
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.datasets import make_moons
from sklearn.neighbors import KNeighborsClassifier

from driftway.pot import SinkhornTransport, TimeSmoothTransport, sinkhorn_l1l2_gl  # was: from ot.da import …

Double = npt.NDArray[np.float64]


def moons(count: int, degrees: float, seed: int) -> tuple[Double, npt.NDArray[np.int64]]:
    """Two moons turned about the origin, with their labels."""
    points, labels = make_moons(count, noise=0.05, random_state=seed)
    angle = np.deg2rad(degrees)
    return points @ np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]), labels


def main() -> dict[str, float]:
    """Prints the certificate and the accuracies at the end of the stream, and returns the latter."""
    Xs, ys = moons(200, 0.0, 0)
    stream = [moons(50, 18.0 * step, step) for step in range(1, 11)]

    Xt = stream[0][0]
    M = ((Xs[:, None] - Xt) ** 2).sum(axis=2)
    _, log = sinkhorn_l1l2_gl(np.full(200, 1 / 200), ys, np.full(50, 1 / 50), M, reg=0.05, eta=0.05, log=True)
    print(f"sinkhorn_l1l2_gl: loss {log['loss'][-1]:.6f}, certified gap {log['gap']:.1e}, in {log['niter']} sweeps")

    static = SinkhornTransport(reg_e=0.4, metric="euclidean").fit(Xs=Xs, ys=ys, Xt=stream[-1][0])
    timely = TimeSmoothTransport(reg_e=0.4, reg_t=0.3, metric="euclidean").fit(Xs=Xs, ys=ys, Xt=Xt)
    for batch, _ in stream[1:]:
        timely.partial_fit(Xt=batch)
    last, truth = stream[-1]
    accuracies = {
        name: float(KNeighborsClassifier(1).fit(model.transform(Xs), ys).score(last, truth))
        for name, model in (("static", static), ("time", timely))
    }
    print(f"after 180°: {accuracies['static']:.0%} of the labels right in one leap, {accuracies['time']:.0%} in steps")
    return accuracies


if __name__ == "__main__":
    main()
