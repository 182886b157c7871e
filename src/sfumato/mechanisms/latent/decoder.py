"""Decoders: from a code and a class to the scores of a row's entries."""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.latent.rows import Vectors


class Decoder(Protocol):
    """Codes and classes to scores."""

    def __call__(self, codes: Vectors, labels: NDArray[np.int64]) -> Vectors:
        """One line of scores for each code."""
        ...


@dataclass(frozen=True)
class LinearDecoder:
    """The scores of the class, and the code along slopes."""

    scores: Vectors = field(repr=False)
    slopes: Vectors = field(repr=False)

    def __call__(self, codes: Vectors, labels: NDArray[np.int64]) -> Vectors:
        """One line of scores for each code."""
        return np.asarray(self.scores[labels] + codes @ self.slopes.T)


@dataclass(frozen=True)
class NetworkDecoder:
    """The same, and one hidden layer beside it. Weights as in `network.Network`."""

    scores: Vectors = field(repr=False)
    unit: float
    weights: dict[str, NDArray[np.float64]] = field(repr=False)

    def __call__(self, codes: Vectors, labels: NDArray[np.int64]) -> Vectors:
        """One line of scores for each code."""
        inputs, classes = codes / self.unit, np.eye(len(self.scores))[labels]
        hidden = np.tanh(inputs @ self.weights["inner"] + classes @ self.weights["classes"])
        return np.asarray(self.scores[labels] + np.concatenate([inputs, hidden], axis=1) @ self.weights["outer"])
