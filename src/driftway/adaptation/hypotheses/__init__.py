"""Hypotheses of what happened to the data, each an object with the methods of `Hypothesis`."""
