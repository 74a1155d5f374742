"""Derivatives of the optimal value and of entropic plans, for the losses of `driftway.torch` and `driftway.jax`."""
