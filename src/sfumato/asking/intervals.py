"""From totals to answers: ratios by Fieller's interval, quantiles by the test that they come from, the rest by the delta method."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Span = tuple[float, float, float]


@dataclass(frozen=True)
class Uncertain:
    """Some totals, and the covariance of their errors."""

    values: Floats
    covariance: Floats

    def take(self, places: list[int]) -> "Uncertain":
        """Some of them."""
        return Uncertain(self.values[places], self.covariance[np.ix_(places, places)])

    def stddev(self, place: int) -> float:
        """The standard error of one."""
        return math.sqrt(max(float(self.covariance[place, place]), 0.0))

    def is_there(self, place: int, z: float) -> bool:
        """Whether a total is surely above nothing: only then can one divide by it."""
        return bool(self.values[place] > z * self.stddev(place))

    def total(self, place: int, z: float) -> Span:
        """A total and its interval."""
        value, error = float(self.values[place]), z * self.stddev(place)
        return value, value - error, value + error

    def ratio(self, above: int, below: int, z: float) -> Span | None:
        """A ratio of totals, by Fieller's interval; None where the lower one may be nothing."""
        if not self.is_there(below, z):
            return None
        (x, y), (xx, xy), yy = (
            self.values[[above, below]],
            self.covariance[above, [above, below]],
            self.covariance[below, below],
        )
        a, b, c = y * y - z * z * yy, x * y - z * z * xy, x * x - z * z * xx
        root = math.sqrt(max(float(b * b - a * c), 0.0))
        return float(x / y), float((b - root) / a), float((b + root) / a)

    def slopes(self, of: Callable[[Floats], float]) -> Floats:
        """How a function of the totals changes with each of them, here."""
        steps = np.sqrt(np.maximum(np.diag(self.covariance), 1e-300)) * 1e-4
        return np.array([(of(self.values + s) - of(self.values - s)) / (2 * s.sum()) for s in np.diag(steps)])

    def function(self, of: Callable[[Floats], float], z: float) -> Span:
        """A smooth function of totals, by its slopes."""
        value, slopes = of(self.values), self.slopes(of)
        error = z * math.sqrt(max(float(slopes @ self.covariance @ slopes), 0.0))
        return value, value - error, value + error
