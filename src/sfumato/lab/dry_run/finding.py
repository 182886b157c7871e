"""One thing that a dry run found: what, in how many rows, and what to do about it. NOT private: for the custodian alone."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

#: What a dry run says first and last.
NOT_PRIVATE = (
    "This reads rows without privacy. What it prints is for the custodian of the data alone, and nothing is written. "
    "What you copy from here into schema.toml becomes public: correct the schema from what you know, not from the rows."
)

#: What touches fewer rows than this is a note and no fault: outliers are there to be cut.
LITTLE = 0.01
#: Examples that are shown, their length, and how many different texts are kept in mind while reading.
_SHOWN, _LONGEST, _MOST_TEXTS = 3, 30, 10_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found in a column (None: in the table as a whole). Not private."""

    column: str | None
    what: str
    rows: int
    share: float
    remedy: str
    is_fault: bool
    examples: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "examples": list(self.examples)}


def found(
    column: str | None, what: str, *, rows: int, of: int, remedy: str, examples: Iterable[str] = ()
) -> list[Finding]:
    """The finding, where any row is touched; a fault where they are more than a few.

    >>> [f.is_fault for n in (0, 1, 5) for f in found("age", "above the bounds", rows=n, of=200, remedy="...")]
    [False, True]
    """
    if not rows:
        return []
    share = rows / max(of, 1)
    return [
        Finding(
            column=column,
            what=what,
            rows=rows,
            share=share,
            remedy=remedy,
            is_fault=share >= LITTLE,
            examples=tuple(examples),
        )
    ]


class Texts:
    """Texts that did not fit, with how often each came, as many as memory bears."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.rows = 0
        self._counts: Counter[str] = Counter()

    def add(self, text: str, rows: int) -> None:
        """Some rows hold this text."""
        self.rows += rows
        if text in self._counts or len(self._counts) < _MOST_TEXTS:
            self._counts[text] += rows

    def examples(self) -> tuple[str, ...]:
        """The most frequent ones, cut short."""
        texts = (text for text, _ in self._counts.most_common(_SHOWN))
        return tuple(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..." for text in texts)

    def kept(self) -> list[str]:
        """Those that were kept, the most frequent first."""
        return [text for text, _ in self._counts.most_common()]
