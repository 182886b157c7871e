"""What every release rests on, and no check can see."""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["Critical", "Theoretical", "Negligible"]


@dataclass(frozen=True)
class Assumption:
    """A sentence, and what its failure would mean: the promise is void, weaker in theory, or hardly touched."""

    severity: Severity
    text: str


ASSUMPTIONS: tuple[Assumption, ...] = (
    Assumption(
        "Critical",
        "The schema (columns, bounds, categories, approximate size) comes from public knowledge, not from the rows.",
    ),
    Assumption(
        "Critical",
        "Nobody chose the mechanism, its settings or this very release by looking at what it did to the private rows.",
    ),
    Assumption(
        "Critical",
        "Each row (or person) enters this dataset once; other releases of the same rows add their own epsilon.",
    ),
    Assumption("Theoretical", "The file format delimits the rows: a record of the file is a record of the guarantee."),
    Assumption(
        "Critical",
        "Maps of the mechanism keep nothing of the rows that they are handed; the contract suite looks for it.",
    ),
    Assumption(
        "Theoretical",
        "Where rows are divided by their place in the file, that place does not follow from their values.",
    ),
    Assumption(
        "Theoretical",
        "Maps give a row the same bits at every place of a batch, among any rows; each is tried on public rows first.",
    ),
    Assumption("Theoretical", "The time that a release takes is not observed by the attacker."),
    Assumption("Negligible", "AES-256 in counter mode is indistinguishable from random."),
    Assumption(
        "Negligible", "Noise is exact to a total variation distance of 2^-114 a draw: below 1e-24 for 10^10 draws."
    ),
)
