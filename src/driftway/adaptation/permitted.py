"""The estimators that a saved state may name: learners of scikit-learn that read no files and call no foreign code."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

# By the public module of scikit-learn that they are in.
MODULES: dict[str, tuple[str, ...]] = {
    "discriminant_analysis": ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    "dummy": ("DummyClassifier", "DummyRegressor"),
    "ensemble": (
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "GradientBoostingClassifier",
        "GradientBoostingRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ),
    "gaussian_process": ("GaussianProcessClassifier", "GaussianProcessRegressor"),
    "kernel_ridge": ("KernelRidge",),
    "linear_model": (
        "BayesianRidge",
        "ElasticNet",
        "HuberRegressor",
        "Lasso",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Perceptron",
        "Ridge",
        "RidgeClassifier",
        "SGDClassifier",
        "SGDRegressor",
    ),
    "naive_bayes": ("BernoulliNB", "GaussianNB"),
    "neighbors": (
        "KNeighborsClassifier",
        "KNeighborsRegressor",
        "NearestCentroid",
        "RadiusNeighborsClassifier",
        "RadiusNeighborsRegressor",
    ),
    "neural_network": ("MLPClassifier", "MLPRegressor"),
    "svm": ("SVC", "SVR", "LinearSVC", "LinearSVR", "NuSVC", "NuSVR"),
    "tree": ("DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"),
}
ESTIMATORS = {name: f"sklearn.{module}" for module, names in MODULES.items() for name in names}


def permitted(name: str, trusted: Iterable[type]) -> Any | None:
    """The class of this name: one of the user's own choice, or one of the list; None if it is neither."""
    for kind in trusted:
        if kind.__name__ == name:
            return kind
    return getattr(importlib.import_module(ESTIMATORS[name]), name) if name in ESTIMATORS else None
