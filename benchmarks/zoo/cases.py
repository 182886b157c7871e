"""All cases by name, in the order in which they are run."""

from . import categories, classes, fresh, interactions, persons, rare, shapes, signals, sizes, structure, tables, unseen  # noqa: F401 (each registers its cases)
from .case import CASES, Case

__all__ = ["CASES", "Case"]
