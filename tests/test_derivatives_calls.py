"""The functions of both doors to tensors are made of one declaration, and look as if they had been written there."""

from __future__ import annotations

import doctest
import inspect
import pickle
import typing
from importlib import import_module

import pytest

from driftway.derivatives import calls
from driftway.derivatives.deferred_regularizers import Deferred
from driftway.engines import Engine
from driftway.problem import Solution
from driftway.regularizers import Regularizer
from driftway.solvers import Solver

FUNCTIONS = ("entropic_plan", "transport_loss", "transport_plan")
KINDS = {"torch": "Tensor", "jax": "Array"}


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("library", KINDS)
def test_a_door_has_functions_of_its_own(library: str, function: str) -> None:
    pytest.importorskip(library)
    door = import_module(f"driftway.{library}")
    offered, declared = getattr(door, function), inspect.signature(getattr(calls, function))
    signature = inspect.signature(offered)
    assert list(signature.parameters.values()) == list(declared.parameters.values())[1:]
    assert signature.return_annotation is getattr(import_module(library), KINDS[library])
    names = {each.__name__: each for each in (Deferred, Engine, Regularizer, Solution, Solver)}
    hints = typing.get_type_hints(offered, vars(typing) | names)
    assert list(hints) == [*signature.parameters, "return"]
    assert (offered.__module__, offered.__qualname__) == (door.__name__, function)
    assert pickle.loads(pickle.dumps(offered)) is offered
    assert "{" not in offered.__doc__


@pytest.mark.parametrize("library", KINDS)
def test_examples_of_a_door_are_run(library: str) -> None:
    pytest.importorskip(library)
    found = doctest.DocTestFinder().find(import_module(f"driftway.{library}"))
    shown = {test.name.rpartition(".")[2] for test in found if test.examples}
    assert set(FUNCTIONS) <= shown


def test_a_misspelt_argument_is_said_by_its_name() -> None:
    pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"transport_plan.* unexpected keyword argument 'eps'"):
        import_module("driftway.torch").transport_plan([[0.0]], eps=1.0)
