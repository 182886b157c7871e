"""Rows as vectors in the unit box: one public map, used by mixing mechanisms and by learners alike."""

import math
from collections.abc import Sequence
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
        ends = self.ends
        out = np.zeros((len(batch[self.columns[0].name]), ends[-1]))
        numbers, starts = list[Column](), list[int]()
        for column, start, end in zip(self.columns, [0, *ends], ends, strict=False):
            if column.is_coded or column.kind == "image":
                _write(out[:, start:end], column, batch[column.name])
            else:
                numbers.append(column)
                starts.append(start)
        if numbers:
            _write_numbers(out, numbers, np.array(starts), batch)
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
    out[:] = values.reshape(len(values), -1)  # in place: images are most of the bytes there are
    out -= column.low
    out /= column.high - column.low


def _write_numbers(
    out: NDArray[np.float64], columns: Sequence[Column], starts: NDArray[np.int64], batch: Batch
) -> None:
    """All at once: a wide table has hundreds of numbers, and a chunk of it few rows."""
    low = np.array([[column.low] for column in columns], dtype=np.float64)
    high = np.array([[column.high] for column in columns], dtype=np.float64)
    scaled = np.stack([np.ravel(batch[column.name]).astype(np.float64) for column in columns])
    scaled -= low
    scaled /= high - low
    absent = np.isnan(scaled)
    scaled[absent] = 0.5
    out[:, starts] = scaled.T
    says_so = np.flatnonzero([column.missing for column in columns])
    out[:, starts[says_so] + 1] = absent[says_so].T


def one_hot(codes: NDArray[np.generic], *, size: int) -> NDArray[np.float64]:
    """Codes as rows of the identity."""
    return np.eye(size)[codes.astype(np.int64)]
