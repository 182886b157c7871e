"""Learners: mechanisms whose model is a classifier, which is released itself."""
