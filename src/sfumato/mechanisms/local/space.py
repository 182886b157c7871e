"""The space that rows are reported in: encoded columns about a public centre, then a public projection; and back."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Column

#: What every category keeps, so that there always is one to draw.
_LEAST = 1e-9


@dataclass(frozen=True)
class Space:
    """Columns about their centre, times a public matrix with a column for each number of a report; None: as they are.

    >>> age = Column(name="age", kind="integer", bounds=(0, 100))
    >>> sex = Column(name="sex", kind="categorical", categories=("f", "m"))
    >>> Space((age, sex), None)({"age": np.array([75.0]), "sex": np.array([1])})
    array([[ 0.25, -0.5 ,  0.5 ]])
    """

    columns: tuple[Column, ...]
    matrix: Floats | None

    def __call__(self, batch: Batch) -> Floats:
        """What is reported of each row, from that row alone."""
        centred = Encoder(self.columns)(batch)
        centred -= self.centre
        return centred if self.matrix is None else exact_products(centred, self.matrix)

    @property
    def width(self) -> int:
        """Numbers in a report."""
        return len(self.centre) if self.matrix is None else self.matrix.shape[1]

    @property
    def length(self) -> float:
        """What a row may be long about the centre."""
        return Encoder(self.columns).reach

    @cached_property
    def centre(self) -> Floats:
        """The middle of every column."""
        return Encoder(self.columns).middle

    def back(self, reports: Floats) -> Floats:
        """Reports as encoded columns: the shortest that have this projection, by the pseudo-inverse."""
        return self.centre + (reports if self.matrix is None else reports @ np.linalg.pinv(self.matrix))

    def variance_back(self, variances: Floats | None) -> Floats:
        """The variance of encoded columns where independent entries of a report have these; none where none are given."""
        if variances is None:
            return np.zeros(len(self.centre))
        return variances if self.matrix is None else np.asarray(variances @ np.linalg.pinv(self.matrix) ** 2)


def decoded(encoded: Floats, columns: Sequence[Column], *, lacking: Floats, seed: int) -> dict[str, Floats]:
    """Numbers with the variance that they lack, cut off at their bounds; categories drawn by what each has of 1.

    So shares stay as they are on average.
    """
    rng = np.random.default_rng(seed)
    ends = Encoder(tuple(columns)).ends
    parts, spreads = np.split(encoded, ends[:-1], axis=1), np.split(np.sqrt(lacking), ends[:-1])
    each = zip(columns, parts, spreads, strict=True)
    return {column.name: _values(part, column, float(spread[0]), rng) for column, part, spread in each}


def _values(part: Floats, column: Column, spread: float, rng: np.random.Generator) -> Floats:
    if column.is_coded:
        odds = np.cumsum(np.clip(part, _LEAST, 1), axis=1)
        return np.asarray((rng.random((len(part), 1)) * odds[:, -1:] >= odds[:, :-1]).sum(axis=1), dtype=np.float64)
    place = part[:, 0] + spread * rng.normal(size=len(part))
    values = column.low + (column.high - column.low) * np.clip(place, 0, 1)
    return np.where(rng.random(len(part)) < part[:, 1], np.nan, values) if column.missing else values
