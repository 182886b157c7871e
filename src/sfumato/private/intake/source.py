"""What every source of rows can do, whatever it reads."""

from collections.abc import Iterator, Sequence
from typing import Protocol

from sfumato.private.intake.values import Values


class Source(Protocol):
    """Rows that can be read again and again, some columns at a time."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the data has: public structure."""
        ...

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """Raw values of the named columns, at most `rows` rows at a time, in an order that never changes."""
        ...
