"""All cases by name, in the order in which they are run."""

from . import (  # noqa: F401 (each registers its cases)  # noqa: F401
    categories,
    classes,
    fresh,
    interactions,
    narrow,
    numbers,
    persons,
    rare,
    shapes,
    signals,
    sizes,
    structure,
    tables,
    unseen,
)
from .case import CASES, Case

__all__ = ["CASES", "Case"]
