"""Audits: what an attacker who knows everything but one row can prove against a release, and nothing private in it."""
