"""For users of skada: a drift over many target domains, followed by changing one import.

Needs: driftway[skada]

Two moons turn by 18° from one domain to the next. skada's adapters map the source to all targets at once, which is
lost after a few domains; the adapter of driftway goes from domain to domain, and adapts to new ones as they come.

Run:  python examples/skada_users.py
"""

from __future__ import annotations

import numpy as np
from skada import EntropicOTMapping
from skada.datasets import DomainAwareDataset
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from driftway.skada import ContinuousTransport

STEPS, KNOWN = 10, 6


def turning_moons() -> DomainAwareDataset:
    """A source, and targets that turn by 18° each."""
    data = DomainAwareDataset()
    for step in range(STEPS + 1):
        points, labels = make_moons(300 if step == 0 else 80, noise=0.05, random_state=step)
        angle = np.deg2rad(18 * step)
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        data.add_domain((points - [0.5, 0.25]) @ turn, labels, domain_name=f"step {step}")
    return data


def main() -> None:
    """Fits both on the first targets, adapts ours to the others as they come, and prints the accuracies."""
    data = turning_moons()
    known = [f"step {step}" for step in range(1, KNOWN + 1)]
    X, y, domain = data.pack(as_sources=["step 0"], as_targets=known, mask_target_labels=True)
    theirs = EntropicOTMapping(SVC(), reg_e=0.1).fit(X, y, sample_domain=domain)
    ours = ContinuousTransport(SVC()).fit(X, y, sample_domain=domain)
    adapter = ours.named_steps["continuoustransportadapter"].get_estimator()
    print(f"{'target':>8} {'EntropicOTMapping':>18} {'ContinuousTransport':>20}")
    for step in range(1, STEPS + 1):
        X, y, domain = data.pack(as_sources=[], as_targets=[f"step {step}"], mask_target_labels=False)
        if step > KNOWN:  # a domain that nobody had seen: no labels, no training again
            adapter.fit_new_domain(X, sample_domain=domain)
        scores = [np.mean(model.predict(X, sample_domain=domain) == y) for model in (theirs, ours)]
        print(f"{step:>8} {scores[0]:>18.0%} {scores[1]:>20.0%}{'  new' if step > KNOWN else ''}")


if __name__ == "__main__":
    main()
