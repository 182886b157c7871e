"""Mechanisms of the local model: every row is randomised by itself, and what comes out are reports of single rows."""
