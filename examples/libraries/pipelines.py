"""scikit-learn: pipelines and domains
===================================

The estimators are scikit-learn's own kind: ``fit``, ``partial_fit``, ``predict``, ``get_params``. Here small images of
digits turn by 5° more from batch to batch, behind a projection that was fitted on the upright ones. The settings are
the defaults, but for transport as the only explanation: images turn here, and no sensor ages.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import sklearn
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from driftway import AdaptationWarning, ContinuousTransportClassifier
from driftway.adaptation import DomainTransportClassifier

images, digits = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(images))
X, y = images[order].reshape(-1, 8, 8), digits[order]
domain = np.zeros(len(X), int)  # 0 is the source; then −1, −2, …
for step in range(1, 13):
    rows = slice(len(X) - 100 * step, len(X) - 100 * (step - 1))
    domain[rows] = -step
    X[rows] = rotate(X[rows], 5.0 * step, axes=(2, 1), reshape=False, order=1)
points, source = X.reshape(len(X), -1), domain == 0

# %%
# Source and batches go into one ``fit``; ``sample_domain`` is passed on by scikit-learn's metadata routing. Labels of
# the batches are masked by −1.

warnings.simplefilter("ignore", AdaptationWarning)
with sklearn.config_context(enable_metadata_routing=True):
    model = make_pipeline(PCA(20), DomainTransportClassifier(ContinuousTransportClassifier(hypotheses="transport")))
    model.fit(points, np.where(source, y, -1), sample_domain=domain)
    found = model.predict(points, sample_domain=domain)
still = make_pipeline(PCA(20), KNeighborsClassifier(1)).fit(points[source], y[source]).predict(points)

# %%
figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", width_ratios=(1, 1.4))
axes[0].imshow(np.hstack([X[domain == -step][2] for step in (1, 6, 12)]), cmap="Greys")
axes[0].set(title="turned by 5°, 30°, 60°", xticks=[], yticks=[])
for name, answers in (("adapted", found), ("as trained", still)):
    scores = [100 * np.mean(answers[domain == -step] == y[domain == -step]) for step in range(1, 13)]
    axes[1].plot(range(5, 61, 5), scores, "o-", label=name)
    print(f"{name:>10}: {np.mean(scores):.0f} % on average")
axes[1].set(xlabel="turned by, degrees", ylabel="accuracy, %")
axes[1].legend()
plt.show()
