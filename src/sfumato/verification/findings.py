"""What a verification finds: what was recomputed, what can only be declared, and what is wrong."""

from dataclasses import dataclass, field

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
