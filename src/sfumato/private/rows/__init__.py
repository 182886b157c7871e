"""Encoded rows as the doors see them: prepared once, each row alone."""
