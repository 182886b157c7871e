"""The embedded demonstration: a made-up population, and the whole story told on it."""
