"""What was built again from the doors' integers, beside what was released: rows and weights alike.

A tick needs equality up to rounding (`comparison.py`). What is merely near is declared, and said to be. What is far is
refused, but for as many rows as rounding can turn over: docs/proofs/rebuilt-rows.md.
"""

from dataclasses import dataclass

from scipy.stats import poisson

from sfumato.public.certificate.certificate import Certificate
from sfumato.verification.comparison import ROUNDING, Difference
from sfumato.verification.findings import Findings


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """A product that was built again, beside the released one."""

    what: str  # how to speak of it, in the plural
    is_same: bool  # its file is, to the byte, the released one
    difference: Difference
    warnings: tuple[str, ...]  # for its maker and receiver
    notes: tuple[str, ...]  # of its model about itself


#: Comparisons with a threshold for a cell, each of which turns over with the probability of a rounding error; and how seldom
#: an honest release may have more of them than are let pass.
_COMPARISONS, _FALSE_ALARM = 8, 1e-5
#: However rounding goes: no more than one row in so many.
_ROWS_FOR_ONE = 1000


def most_turned_over(difference: Difference) -> int:
    """How many rows may be others because a draw fell within rounding of a threshold.

    >>> [most_turned_over(Difference(7 * rows, 0, rows, 0)) for rows in (60, 30_000, 4_000_000)]
    [0, 1, 4]
    """
    expected = difference.cells * _COMPARISONS * ROUNDING
    return min(int(poisson.isf(_FALSE_ALARM, expected)), difference.units // _ROWS_FOR_ONE)


def settle_rebuilt(rebuilt: Rebuilt, certificate: Certificate, found: Findings) -> None:
    """Compare with what was released."""
    what, difference = rebuilt.what, rebuilt.difference
    given = f"{what} are what the doors' integers give with the certificate's seed"
    if rebuilt.is_same:
        found.checked.append(f"{given}, to the last bit")
    elif difference.far > (most := most_turned_over(difference)):
        found.problems.append(
            f"{what} are not what the doors' integers give with the certificate's seed: {difference.far:,} of "
            f"{difference.units:,} are others, and rounding on another processor explains {most:,} at most."
        )
    elif not difference.beyond_rounding:
        found.checked.append(
            f"{given}: every word, date and whole number is equal, and decimals differ by no more than rounding"
        )
        found.declared.append(
            f"the last digits of {what}: the file is not, to the byte, the one that is built here, as another processor's "
            "rounding or other software may explain"
        )
    else:
        others = f"{difference.far:,} of {difference.units:,} are others than those built here, and "
        some = others if difference.far else ""
        found.declared.append(
            f"{what}: {some}{difference.beyond_rounding:,} of {difference.cells:,} numbers and words differ by more than "
            "rounding. Another kind of processor may explain it, and so may real rows or a message put among them. Only "
            "the publisher can say, or a receiver with the same kind of machine"
        )
    for is_same, those, origin in (
        (rebuilt.warnings == certificate.warnings, "warnings", "the release"),
        (rebuilt.notes == certificate.notes, "notes", "the doors' integers"),
    ):
        problems = [] if is_same else [f"the {those} are not those that follow from {origin}."]
        found.settle(problems, checked=f"the {those} are those that follow from {origin}, none left out")
