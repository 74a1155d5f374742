"""Without any optional package everything else works, and what needs one names the extra to install."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# What needs which extra.
NEEDS = [
    ("fast", "driftway.engines.Threads(compiled=True)"),
    ("progress", "driftway.solve(problem, progress=True)"),
    ("progress", "list(driftway.adapt_stream(model, [B], progress=True))"),
    ("torch", "driftway.solve(driftway.Problem(C, epsilon=0.1, regularizer=driftway.Custom(f, autodiff='torch')))"),
    ("jax", "driftway.solve(driftway.Problem(C, epsilon=0.1, regularizer=driftway.Custom(f, autodiff='jax')))"),
    ("skada", "import driftway.skada"),
    ("river", "import driftway.river"),
    ("onnx", "driftway.adaptation.PresentClassifier.of(model).to_onnx()"),
]
BLOCKED = ("numba", "llvmlite", "tqdm", "ot", "torch", "jax", "jaxlib", "skada", "river", "pandas", "polars")
BLOCKED += ("onnx", "skl2onnx", "onnxruntime")

SCRIPT = f"""
import json, sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {BLOCKED!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())

import importlib.util
_find = importlib.util.find_spec
def find(name, package=None):
    return None if name.split(".")[0] in {BLOCKED!r} else _find(name, package)
importlib.util.find_spec = find

import numpy as np
import driftway

rng = np.random.default_rng(0)
X, B = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)) + 0.3
y = np.arange(40) % 2
C = rng.random((5, 4))
f = lambda plan: (plan**2).sum()
problem = driftway.Problem(driftway.PointCloudCost(X, B), epsilon=0.1)
smooth = driftway.TimeSmoothness(B, X, weight=0.5)
model = driftway.ContinuousTransportClassifier().fit(X, y)
answers = {{
    "solved": [
        driftway.solve(problem).converged,
        driftway.solve(driftway.Problem(driftway.PointCloudCost(X, B), epsilon=0.1, regularizer=smooth)).converged,
    ],
    "adapted": driftway.ContinuousTransportClassifier().fit(X, y).partial_fit(B).n_steps_,
}}
for _, code in {NEEDS!r}:
    try:
        exec(code)
        answers[code] = "no error"
    except ImportError as error:
        answers[code] = str(error)
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers() -> dict:
    """What happens in a process where no optional package can be imported."""
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    run = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_the_core_needs_none(answers: dict) -> None:
    assert answers["solved"] == [True, True]
    assert answers["adapted"] == 1


@pytest.mark.parametrize(("extra", "code"), NEEDS)
def test_a_missing_extra_is_named(answers: dict, extra: str, code: str) -> None:
    assert f"pip install 'driftway[{extra}]'" in answers[code]
