"""The space that rows are reported in: encoded columns about a public centre, then a public projection."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Column


@dataclass(frozen=True)
class Space:
    """Columns about their centre, times a public matrix with a column for each number of a report; None: as they are.

    >>> age = Column(name="age", kind="integer", bounds=(0, 100))
    >>> sex = Column(name="sex", kind="categorical", categories=("f", "m"))
    >>> Space((age, sex), None)({"age": np.array([75.0]), "sex": np.array([1])})
    array([[ 0.25, -0.5 ,  0.5 ]])
    """

    columns: tuple[Column, ...]
    matrix: NDArray[np.float64] | None

    def __call__(self, batch: Batch) -> NDArray[np.float64]:
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
        """What a row may be long about the centre: numbers and pixels half a side of their box, codes their one corner."""
        squares = (1 - 1 / c.size if c.is_coded else Encoder((c,)).width / 4 for c in self.columns)
        return float(np.sqrt(sum(squares)))

    @cached_property
    def centre(self) -> NDArray[np.float64]:
        """The middle of every column: half of its bounds, or every category alike."""
        middles = (np.full(Encoder((c,)).width, 1 / c.size if c.is_coded else 0.5) for c in self.columns)
        return np.concatenate(list(middles))

    def back(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        """Reports as encoded columns: the shortest that have this projection, by the pseudo-inverse."""
        return self.centre + (reports if self.matrix is None else reports @ np.linalg.pinv(self.matrix))

    def variance_back(self, variances: NDArray[np.float64] | None) -> NDArray[np.float64]:
        """The variance of encoded columns where independent entries of a report have these; none where none are given."""
        if variances is None:
            return np.zeros(len(self.centre))
        return variances if self.matrix is None else np.asarray(variances @ np.linalg.pinv(self.matrix) ** 2)
