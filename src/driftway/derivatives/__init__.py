"""Derivatives of the optimal value: what the losses of `driftway.torch` and `driftway.jax` are made of."""
