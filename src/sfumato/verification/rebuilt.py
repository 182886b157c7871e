"""What was built again from the doors' integers, held beside what was released: rows and weights alike."""

from dataclasses import dataclass

from sfumato.public.certificate.certificate import Certificate
from sfumato.verification.findings import Findings

#: Rounding may change this part of all cells. It is far more than was ever seen, and far less than any other seed does.
MOST_DIFFERENT = 1e-3


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """A product that was built again.

    Attributes:
        what: How to speak of it, in the plural.
        is_same: Whether its file is, to the byte, the released one.
        share: The part of it that differs by more than a rounding error.
        warnings: What follows from it for its maker and receiver.
        notes: What its model has to say about itself.
    """

    what: str
    is_same: bool
    share: float
    warnings: tuple[str, ...]
    notes: tuple[str, ...]


def settle_rebuilt(rebuilt: Rebuilt, certificate: Certificate, found: Findings) -> None:
    """Compare with what was released. Where bits differ, as much could be hidden in them, so they are declared."""
    what, share, problems = rebuilt.what, rebuilt.share, []
    given = "what the doors' integers give with the certificate's seed"
    if not share <= MOST_DIFFERENT:
        problems.append(
            f"{what} are not {given}: {share:.2%} of them differ, and rounding on another processor explains "
            f"{MOST_DIFFERENT:.2%} at most."
        )
    elif not rebuilt.is_same:
        some = f", and all of {share:.2g} of them" if share else ""
        found.declared.append(
            f"the last digits of {what}{some}: the file is not, to the byte, the one that is built here, as another "
            "processor's rounding or other software may explain"
        )
    found.settle(
        problems, checked=f"{what} are {given}, {'to the last bit' if rebuilt.is_same else 'but for rounding'}"
    )
    found.settle(
        []
        if rebuilt.warnings == certificate.warnings
        else ["the warnings are not those that follow from the release."],
        checked="the warnings are those that follow from the release, none left out",
    )
    found.settle(
        [] if rebuilt.notes == certificate.notes else ["the notes are not those that follow from the doors' integers."],
        checked="the notes are those that follow from the doors' integers, none left out",
    )
