"""Comparisons with private rows. Everything here reads them WITHOUT privacy: its results are not for release."""
