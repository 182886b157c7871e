"""Rows as vectors in the unit box: one public map, used by mixing mechanisms and by learners alike."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.schema import Batch, Column


@dataclass(frozen=True)
class Encoder:
    """Numbers scaled by their bounds, codes as one-hot, images flattened: every entry lies in [0, 1].

    A missing number becomes the middle of its bounds with an indicator entry beside it.

    >>> columns = (Column(name="age", kind="integer", bounds=(0, 100)),
    ...            Column(name="sex", kind="categorical", categories=("f", "m")))
    >>> Encoder(columns).names
    ('age', 'sex=f', 'sex=m')
    >>> Encoder(columns)({"age": np.array([25.0]), "sex": np.array([1])})
    array([[0.25, 0.  , 1.  ]])
    """

    columns: tuple[Column, ...]

    @property
    def width(self) -> int:
        """How many entries a row becomes."""
        return sum(_width(column) for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for every entry."""
        return tuple(name for column in self.columns for name in _names(column))

    @property
    def middle(self) -> NDArray[np.float64]:
        """The middle of every column: half of its bounds, or every category alike."""
        return np.concatenate([np.full(_width(c), 1 / c.size if c.is_coded else 0.5) for c in self.columns])

    @property
    def reach(self) -> float:
        """No row is longer than this about the middle: numbers and pixels half a side of their box, codes their one corner."""
        return math.sqrt(sum(1 - 1 / c.size if c.is_coded else _width(c) / 4 for c in self.columns))

    @property
    def ends(self) -> list[int]:
        """Where the entries of each column end."""
        return [int(end) for end in np.cumsum([_width(column) for column in self.columns])]

    def __call__(self, batch: Batch) -> NDArray[np.float64]:
        """Encode rows; each row alone decides its vector."""
        n_rows = len(batch[self.columns[0].name])
        out = np.zeros((n_rows, self.width))
        for column, part in zip(self.columns, np.split(out, self.ends[:-1], axis=1), strict=True):
            _write(part, column, batch[column.name])
        return out


def _width(column: Column) -> int:
    if column.kind == "image":
        return int(np.prod(column.shape))
    return column.size if column.is_coded else 1 + int(column.missing)


def _names(column: Column) -> list[str]:
    if column.kind == "image":
        return [f"{column.name}[{','.join(map(str, at))}]" for at in np.ndindex(*column.shape)]
    missing = [f"{column.name}=(missing)"] if column.missing else []
    if column.is_coded:
        return [*(f"{column.name}={value}" for value in column.categories), *missing]
    return [column.name, *missing]


def _write(out: NDArray[np.float64], column: Column, values: NDArray[np.generic]) -> None:
    if column.is_coded:
        out[np.arange(len(values)), values.astype(np.int64)] = 1.0
        return
    if column.kind == "image":  # in place: images are most of the bytes there are
        out[:] = values.reshape(len(values), -1)
        out -= column.low
        out /= column.high - column.low
        return
    scaled = (values.reshape(len(values), -1).astype(np.float64) - column.low) / (column.high - column.low)
    absent = np.isnan(scaled[:, 0])
    out[:, 0] = np.where(absent, 0.5, scaled[:, 0])
    if column.missing:
        out[:, 1] = absent


def one_hot(codes: NDArray[np.generic], *, size: int) -> NDArray[np.float64]:
    """Codes as rows of the identity."""
    return np.eye(size)[codes.astype(np.int64)]
