"""Every column in a few public bins: what tables are counted over, and what rows are drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.errors import SchemaError
from sfumato.mechanisms.common.arrays import Integers, Values
from sfumato.mechanisms.common.cells import Cells, coarse_parts
from sfumato.mechanisms.common.prepared import CODES
from sfumato.public.schema.schema import Batch, Schema

#: Even parts of the grid of a number; zero, the bounds and missing values stand alone beside them.
_PARTS = 32
#: Some columns, in ascending order: those of a table.
Columns = tuple[int, ...]


@dataclass(frozen=True)
class Binned:
    """The columns of a schema in bins that nothing but the schema decides."""

    schema: Schema

    def __post_init__(self) -> None:
        """Work out at once what is kept: a release must hold the same whatever was asked before."""
        _ = self.cells, self.parts, self.sizes

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """The fine grid of each column."""
        return tuple(Cells(column) for column in self.schema.columns)

    @cached_property
    def parts(self) -> tuple[Integers, ...]:
        """The bin of each fine cell."""
        return tuple(coarse_parts(cells, n_parts=_PARTS) for cells in self.cells)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Bins of each column."""
        return tuple(int(part.max()) + 1 for part in self.parts)

    @property
    def target(self) -> int | None:
        """The place of the column to predict, if one is declared."""
        names = [column.name for column in self.schema.columns]
        return None if self.schema.target is None else names.index(self.schema.target)

    def bins(self, batch: Batch) -> Integers:
        """The bins of each row, from that row alone."""
        codes = [
            part[cells.code(batch[column.name])]
            for column, cells, part in zip(self.schema.columns, self.cells, self.parts, strict=True)
        ]
        return np.stack(codes, axis=1)

    def shape(self, columns: Columns) -> tuple[int, ...]:
        """The bins along each side of a table."""
        return tuple(self.sizes[column] for column in columns)

    def values(self, rows: Integers, rng: np.random.Generator) -> dict[str, Values]:
        """Rows of bins as encoded rows: any cell of a bin, and a value in it."""
        batch = {}
        for at, (column, cells, part) in enumerate(zip(self.schema.columns, self.cells, self.parts, strict=True)):
            first = np.searchsorted(part, np.arange(self.sizes[at] + 1))
            low, high = first[rows[:, at]], first[rows[:, at] + 1]
            batch[column.name] = cells.draw(low + (rng.random(len(rows)) * (high - low)).astype(np.int64), rng)
        return batch


def check_table(schema: Schema, *, name: str) -> None:
    """Refuse what no table of bins can hold."""
    if schema.images:
        raise SchemaError(f"{name} is for tables. Use the mechanism 3a-image for images.")
    if len(schema.columns) < 2:
        raise SchemaError(f"{name} needs at least two columns.")


def prepared_bins(batch: Batch) -> Integers:
    """The bins of each row, as they were prepared once."""
    return np.nan_to_num(batch[CODES]).astype(np.int64)


def codes_in(rows: Integers, tables: Sequence[Columns], sizes: Sequence[int]) -> Integers:
    """The cell of each row in each table.

    >>> codes_in(np.array([[1, 0, 2]]), [(0, 2), (1,)], (2, 2, 3)).tolist()
    [[5, 0]]
    """
    codes = np.zeros((len(rows), len(tables)), dtype=np.int64)
    for at, columns in enumerate(tables):
        for column in columns:
            codes[:, at] = codes[:, at] * sizes[column] + rows[:, column]
    return codes
