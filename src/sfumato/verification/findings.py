"""What a verification finds: what was recomputed, what can only be declared, and what is wrong."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sfumato.errors import SfumatoError
from sfumato.folder.releasing import GARBLED

Made = TypeVar("Made")
#: True of every release, however honest: no folder can show these.
ALWAYS_DECLARED = (
    "that this code ran, unchanged, on the private rows in question",
    "that the randomness of the noise was secret and used once",
    "that the schema (columns, bounds, categories, size) came from public knowledge",
    "that nobody chose the mechanism, its settings or this release by looking at what it did to the rows",
    "that no other release of the same rows adds its epsilon to this one",
    "which versions of software made the release",
)


@dataclass
class Findings:
    """Sentences of three kinds, collected check by check. A check that finds nothing wrong says what it recomputed."""

    checked: list[str] = field(default_factory=list)
    declared: list[str] = field(default_factory=lambda: list(ALWAYS_DECLARED))
    problems: list[str] = field(default_factory=list)

    def settle(self, problems: list[str], *, checked: str) -> bool:
        """Note what a check found: its problems or, if there is none, what it has recomputed."""
        self.problems += problems
        if not problems:
            self.checked.append(checked)
        return not problems

    def attempt(self, make: Callable[[], Made], failing: str = "", *, garbled: str = "") -> Made | None:
        """What is made from content that anybody may have written; None where that fails, which is a problem."""
        try:
            return make()
        except SfumatoError as error:
            self.problems.append(f"{failing}: {error}" if failing else str(error))
        except GARBLED as error:
            self.problems.append(f"{garbled or failing} ({type(error).__name__}).")
        return None
