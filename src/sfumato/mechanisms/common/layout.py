"""Where the entries of several tables lie in one long vector of counts."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.compiled import sums_at

Number = TypeVar("Number", bound=np.number[Any])


@dataclass(frozen=True)
class Layout:
    """Tables side by side, each with its own size.

    >>> layout = Layout((2, 3))
    >>> layout.width, layout.starts.tolist()
    (5, [0, 2])
    """

    sizes: tuple[int, ...]

    @cached_property
    def width(self) -> int:
        """All entries."""
        return sum(self.sizes)

    @cached_property
    def starts(self) -> Integers:
        """Where each table begins."""
        return np.cumsum([0, *self.sizes[:-1]])

    def split(self, values: Floats) -> list[Floats]:
        """The tables, along the last axis."""
        return np.split(values[..., : self.width], self.starts[1:], axis=-1)


def side_by_side(tables: Sequence[NDArray[Number]]) -> NDArray[Number]:
    """Tables of different lengths as the rows of one array.

    >>> side_by_side([np.array([3, 4]), np.array([5])]).tolist()
    [[3, 4], [5, 0]]
    """
    out = np.zeros((len(tables), max(map(len, tables))), dtype=tables[0].dtype)
    for row, table in zip(out, tables, strict=True):
        row[: len(table)] = table
    return out


@dataclass(frozen=True)
class BinCodes:
    """Rows of bins as places in one vector of weights, with the place of the intercept at the end."""

    layout: Layout

    @property
    def width(self) -> int:
        """Weights of a class."""
        return self.layout.width + 1

    def codes(self, rows: Integers) -> Integers:
        """The places of each row."""
        codes = np.full((len(rows), rows.shape[1] + 1), self.layout.width)
        np.add(rows, self.layout.starts, out=codes[:, :-1])
        return codes

    def one_hot(self, rows: Integers) -> Any:
        """A sparse matrix with a one at each place."""
        codes = self.codes(rows)
        where = np.repeat(np.arange(len(codes)), codes.shape[1]), codes.ravel()
        return sparse.csr_matrix((np.ones(codes.size), where), shape=(len(codes), self.width))


def added(weights: Floats, codes: Integers) -> Floats:
    """The sum of the weights at each row's codes, for each row of weights."""
    return np.asarray(sums_at(np.ascontiguousarray(weights), codes))
