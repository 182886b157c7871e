"""Rows of a model piece by piece: a hundred million of them need no more memory than one piece.

A release is drawn, written, sampled again and compared in pieces. What the drawing balances over all rows, it balances over a
piece, which is as large as any table that is recommended for training.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from sfumato.model import FixedModel, Model, Synthetic
from sfumato.obeying import with_rules
from sfumato.public.machine.threads import few_threads, in_turn
from sfumato.public.schema.schema import Schema

#: The most rows of a piece. So many are what `--rows many` makes at most of a small table, and they come from one draw.
PIECE = 300_000
#: Pieces that are drawn beside each other: each is in memory until its turn comes.
_AT_ONCE = 4


@runtime_checkable
class Sized(Protocol):
    """A model that draws otherwise, the more rows are wanted in all. It need not."""

    def sized(self, n_rows: int) -> Model:
        """The model for so many rows, of which it is then asked for some at a time."""


def piece_sizes(n_rows: int) -> list[int]:
    """How many rows each piece has: about as many as every other one, so that no small rest is badly balanced.

    >>> piece_sizes(300_000), piece_sizes(1_000_000)
    ([300000], [250000, 250000, 250000, 250000])
    """
    n_pieces = max(1, -(-n_rows // PIECE))
    return [n_rows * (at + 1) // n_pieces - n_rows * at // n_pieces for at in range(n_pieces)]


def draw_pieces(model: Model, n_rows: int, *, schema: Schema, seed: int) -> Iterator[Synthetic]:
    """The rows of a model, in which the rules of the schema hold: here every release, sample and rebuild gets its rows from.

    The same seed gives the same rows; the first piece is what the model itself gives for it.
    """
    first = 0
    for number, piece in enumerate(_in_line(_drawn(model, n_rows, seed=seed), schema)):
        yield with_rules(piece, schema, seed=_seed_of(seed, number), keys=seed, first=first)
        first += len(piece)


def _drawn(model: Model, n_rows: int, *, seed: int) -> Iterator[Synthetic]:
    sizes = piece_sizes(n_rows)
    if isinstance(model, FixedModel):
        # The one kind that draws all at once: mixtures (dpmix, clustmix with means, kip, dp-kip) and reports (dp-pro). They
        # are in memory as they are, and a choice of some of them is one choice.
        yield from _in_parts(model.sample(n_rows, seed=seed), sizes)
        return
    sized = model.sized(n_rows) if isinstance(model, Sized) else model

    def drawn(piece: tuple[int, int]) -> Synthetic:
        number, size = piece
        with few_threads():
            return sized.sample(size, seed=_seed_of(seed, number))

    yield from in_turn(drawn, enumerate(sizes), at_once=_AT_ONCE)


def _in_line(pieces: Iterator[Synthetic], schema: Schema) -> Iterator[Synthetic]:
    """Pieces of several tables with keys that go on from those of the pieces before."""
    drawn = dict.fromkeys((None, *(table.name for table in schema.tables)), 0)
    for piece in pieces:
        if piece.table is None or not piece.tables:
            yield piece
            continue
        tables = {}
        for table in schema.tables:
            keys = {table.key: drawn[table.parent]}
            keys |= {} if table.own_key is None else {table.own_key: drawn[table.name]}
            tables[table.name] = _shifted(piece.tables[table.name], keys)
        persons = _shifted(piece.table, {str(schema.unit.person): drawn[None]})
        yield replace(piece, table=persons, tables=tables)
        for name, rows in ((None, persons), *tables.items()):
            drawn[name] += len(rows)


def _shifted(rows: pd.DataFrame, keys: Mapping[str, int]) -> pd.DataFrame:
    return rows.assign(**{key: rows[key] + drawn for key, drawn in keys.items()})


def joined(pieces: Iterable[Synthetic]) -> Synthetic:
    """All pieces as one."""
    parts = list(pieces)
    if len(parts) == 1:
        return parts[0]
    arrays: dict[str, Any] = {name: np.concatenate([part.arrays[name] for part in parts]) for name in parts[0].arrays}
    is_table = parts[0].table is not None
    table = pd.concat([part.table for part in parts], ignore_index=True) if is_table else None
    tables = {name: pd.concat([part.tables[name] for part in parts], ignore_index=True) for name in parts[0].tables}
    return replace(parts[0], table=table, tables=tables, **arrays)


def _in_parts(rows: Synthetic, sizes: list[int]) -> Iterator[Synthetic]:
    for end, size in zip(np.cumsum(sizes), sizes, strict=True):
        yield rows if size == len(rows) else rows.take(slice(int(end) - size, int(end)))


def _seed_of(seed: int, number: int) -> int:
    """The seed of a piece: a function of the release's seed and of the piece's number."""
    return seed if number == 0 else int(np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0])
