"""Numbers by their rank among the real ones, so that spikes and tails are as easy as anything else. Not private."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Ranks:
    """The real values of each column of numbers, in order."""

    ordered: tuple[Floats, ...] = field(repr=False)

    @staticmethod
    def among(numbers: Floats, present: NDArray[np.bool_]) -> "Ranks":
        """Of columns side by side; values that are missing do not count.

        >>> Ranks.among(np.array([[3.0], [1.0], [9.0]]), np.array([[True], [True], [False]])).ordered
        (array([1., 3.]),)
        """
        return Ranks(tuple(np.sort(column[there]) for column, there in zip(numbers.T, present.T, strict=True)))

    def of(self, numbers: Floats, rng: np.random.Generator) -> Floats:
        """From 0 to 1; values that are equal are spread over all of their ranks.

        >>> ranks = Ranks((np.array([0.0, 0.0, 0.0, 7.0]),))
        >>> ranks.back(ranks.of(np.array([[0.0], [7.0]]), np.random.default_rng(0)))
        array([[0.],
               [7.]])
        """
        found = np.full(numbers.shape, 0.5)
        for at, values in enumerate(self.ordered):
            if len(values):
                low, high = (np.searchsorted(values, numbers[:, at], side=side) for side in ("left", "right"))
                found[:, at] = (low + rng.random(len(numbers)) * (high - low)) / len(values)
        return found

    def back(self, ranks: Floats) -> Floats:
        """The real value at each rank."""
        found = np.full(ranks.shape, 0.5)
        for at, values in enumerate(self.ordered):
            if len(values):
                place = np.floor(np.clip(ranks[:, at], 0, 1) * len(values)).astype(np.int64)
                found[:, at] = values[np.minimum(place, len(values) - 1)]
        return found
