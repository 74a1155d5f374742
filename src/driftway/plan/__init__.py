"""The transport plan γ = exp(log + f ⊕ g): as an operator, and how its potentials f and g are found."""

from driftway.plan.plan import Plan

__all__ = ["Plan"]
