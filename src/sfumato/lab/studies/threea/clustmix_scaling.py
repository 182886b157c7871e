"""How the published ClustMix brings rows into the unit box: by the rows themselves, and nothing of that is accounted."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float64]

#: By smallest and largest values, or by a normal quantile transform before that: "whichever worked better".
Scaling = Literal["min-max", "quantile"]


@dataclass(frozen=True)
class Scaled:
    """Rows in the unit box, and the way back for points near it."""

    rows: Vectors = field(repr=False)
    _low: Vectors = field(repr=False)
    _high: Vectors = field(repr=False)
    _quantiles: Any = field(default=None, repr=False)

    def back(self, points: Vectors) -> Vectors:
        """Points in the units of the rows."""
        numbers = points * (self._high - self._low) + self._low
        return numbers if self._quantiles is None else np.asarray(self._quantiles.inverse_transform(numbers))


def scaled(numbers: Vectors, scaling: Scaling) -> Scaled:
    """Each column by its own values.

    >>> found = scaled(np.array([[2.0], [4.0], [3.0]]), "min-max")
    >>> found.rows.ravel().tolist(), found.back(found.rows).ravel().tolist()
    ([0.0, 1.0, 0.5], [2.0, 4.0, 3.0])
    """
    quantiles = None
    if scaling == "quantile":
        from sklearn.preprocessing import QuantileTransformer

        most = min(1000, len(numbers))
        quantiles = QuantileTransformer(n_quantiles=most, output_distribution="normal", random_state=0)
        numbers = np.asarray(quantiles.fit_transform(numbers))
    low, high = numbers.min(axis=0), numbers.max(axis=0)
    return Scaled((numbers - low) / np.where(high > low, high - low, 1.0), low, high, quantiles)
