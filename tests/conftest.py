"""Fixtures that several test files use."""

import pytest


@pytest.fixture
def no_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which a solver begins to iterate."""

    def iterated(*_: object, **__: object) -> None:
        pytest.fail("the solver began to iterate on bad input")

    monkeypatch.setattr("driftway.problem.model.balance", iterated)
    monkeypatch.setattr("driftway.solvers.sinkhorn.balance", iterated)
    monkeypatch.setattr("driftway.solvers.conditional_gradient.frank_wolfe.exact_transport", iterated)
