"""The labelled source as the hypotheses see it: feature spaces, classes, and the classifier that answers."""
