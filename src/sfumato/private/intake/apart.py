"""Rows that are set apart: a secret coin of each unit says on which side all of its rows lie, and nothing sees both.

The coin of a row is a function of a secret key and of the row's place; that of a person, of the key and of the id. So both sides can be
read again and again, and no unit is ever on both. Proof: docs/proofs/private-score.md.
"""

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfumato.private.intake.histories import HistorySource
from sfumato.private.intake.persons import LimitedSource, hashes
from sfumato.private.intake.sensitive import Sensitive, resourced
from sfumato.private.intake.source import Source
from sfumato.private.intake.values import Values, rows_where
from sfumato.private.kernel.sampling import coins


class OneSide:
    """A source that holds the rows of one side alone."""

    def __init__(self, source: Source, *, key: bytes, share: float, is_apart: bool, person: str | None) -> None:
        self.names, self.follows_values = source.names, getattr(source, "follows_values", False)
        self._source, self._key, self._share, self._is_apart, self._person = source, key, share, is_apart, person

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The wrapped source's chunks, less the rows of the other side."""
        read = list(names) if self._person is None or self._person in names else [*names, self._person]
        first = 0
        for private_chunk in self._source.chunks(read, rows=rows):
            n_rows = len(next(iter(private_chunk.values())))
            is_apart = self._coins(private_chunk, first=first, n_rows=n_rows)
            first += n_rows
            kept = is_apart if self._is_apart else ~is_apart
            if kept.any():
                yield {name: rows_where(private_chunk[name], kept) for name in names}

    def _coins(self, private_chunk: dict[str, Values], *, first: int, n_rows: int) -> NDArray[np.bool_]:
        """Whether each row is set apart."""
        if self._person is not None:
            private_words = hashes(private_chunk[self._person], self._key)[:, 0]
            return np.asarray(private_words < np.uint64(int(self._share * 2**64)))
        is_apart = np.zeros(n_rows, dtype=bool)
        is_apart[coins(self._key, first=first, n_rows=n_rows, n_coins=1, rate=self._share)] = True
        return is_apart


def set_apart(data: Sensitive, *, key: bytes, share: float) -> tuple[Sensitive, Sensitive]:
    """The rows that are measured, and those that are set apart: every unit is in exactly one of the two."""

    def side(source: Source, is_apart: bool) -> Source:
        if isinstance(source, LimitedSource):
            inner = OneSide(source.source, key=key, share=share, is_apart=is_apart, person=source.person)
            return LimitedSource(inner, person=source.person, max_rows=source.max_rows, key=source.key)
        if isinstance(source, HistorySource):  # what hangs on a person of the other side names nobody of this one
            person = source.schema.unit.person
            return source.of(OneSide(source.persons, key=key, share=share, is_apart=is_apart, person=person))
        return OneSide(source, key=key, share=share, is_apart=is_apart, person=None)

    return resourced(data, partial(side, is_apart=False)), resourced(data, partial(side, is_apart=True))
