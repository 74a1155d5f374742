"""skada: a sequence of domains
============================

skada's adapters map the source to all targets at once, which is lost after a few domains of a drift. The adapter of
driftway goes from domain to domain, and adapts to new ones as they come: one import changes.

Needs: driftway[skada]
"""

import matplotlib.pyplot as plt
import numpy as np
from skada import EntropicOTMapping
from skada.datasets import DomainAwareDataset
from sklearn.datasets import make_moons
from sklearn.svm import SVC

from driftway.skada import ContinuousTransport

data = DomainAwareDataset()
for step in range(11):
    points, labels = make_moons(300 if step == 0 else 80, noise=0.05, random_state=step)
    angle = np.deg2rad(18 * step)
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    data.add_domain((points - [0.5, 0.25]) @ turn, labels, domain_name=f"step {step}")

# %%
# Both are fitted on the source and the first six targets, whose labels are masked.

known = [f"step {step}" for step in range(1, 7)]
X, y, domain = data.pack(as_sources=["step 0"], as_targets=known, mask_target_labels=True)
theirs = EntropicOTMapping(SVC(), reg_e=0.1).fit(X, y, sample_domain=domain)
ours = ContinuousTransport(SVC()).fit(X, y, sample_domain=domain)

# %%
# Then come domains that nobody had seen: ours adapts to them without labels and without training again.

adapter = ours.named_steps["continuoustransportadapter"].get_estimator()
scores = []
for step in range(1, 11):
    X, y, domain = data.pack(as_sources=[], as_targets=[f"step {step}"], mask_target_labels=False)
    if step > 6:
        adapter.fit_new_domain(X, sample_domain=domain)
    scores.append([100 * np.mean(model.predict(X, sample_domain=domain) == y) for model in (theirs, ours)])
print(f"on average {np.mean(scores, axis=0)[0]:.0f} % by EntropicOTMapping, {np.mean(scores, axis=0)[1]:.0f} % by ours")
assert np.mean(scores, axis=0)[1] > 90

# %%
plt.figure(figsize=(7, 3.4), layout="constrained")
for name, values in zip(("EntropicOTMapping", "ContinuousTransport"), np.transpose(scores), strict=True):
    plt.plot(range(1, 11), values, "o-", label=name)
plt.axvspan(6.5, 10.2, color="#f0f1f4", label="domains that came later")
plt.xlabel("domain, each turned by 18° more")
plt.ylabel("accuracy, %")
plt.legend()
plt.show()
