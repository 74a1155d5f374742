"""Fixtures that several test files use."""

import pytest
from hypothesis import HealthCheck, settings

# Nothing that is found depends on how fast the machine is at the moment.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")


@pytest.fixture
def no_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fails a test in which a solver begins to iterate."""

    def iterated(*_: object, **__: object) -> None:
        pytest.fail("the solver began to iterate on bad input")

    monkeypatch.setattr("driftway.problem.model.balance", iterated)
    monkeypatch.setattr("driftway.solvers.sinkhorn.balance", iterated)
    monkeypatch.setattr("driftway.solvers.conditional_gradient.frank_wolfe.exact_transport", iterated)
