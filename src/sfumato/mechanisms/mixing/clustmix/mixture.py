"""A mixture of clusters, and a classifier that gives its rows soft labels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.mixing.clustmix.classifier_pull import with_bias

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Projection:
    """Vectors as points in the space of the kernel: about a place, along public directions, in a unit of length."""

    about: Vectors
    frame: Vectors
    unit: float

    def points(self, vectors: Vectors) -> Vectors:
        """The points of vectors."""
        return np.asarray((vectors - self.about) @ self.frame / self.unit)

    def moved(self, vectors: Vectors, *, before: Vectors, after: Vectors) -> Vectors:
        """Vectors moved as their points have moved."""
        return np.asarray(vectors + self.unit * (after - before) @ self.frame.T)


@dataclass(frozen=True)
class Rule:
    """A linear classifier on the points of vectors: one column of weights for each class."""

    weights: Vectors
    projection: Projection

    def probabilities(self, vectors: Vectors) -> Vectors:
        """What it says of vectors, as probabilities."""
        scores = np.clip(with_bias(self.projection.points(vectors)) @ self.weights, 1e-6, 1.0)
        shares: Vectors = scores / scores.sum(axis=1, keepdims=True)
        return shares


@dataclass(frozen=True)
class Mixture:
    """Clusters: the class of each, its share of the rows and its mean; and for each class how rows lie around means.

    `deviation` is that of each entry of an image in any class, `shapes` holds a histogram of each number of a table.
    """

    label: NDArray[np.int64]
    share: Vectors
    means: Vectors
    deviation: Vectors | None
    shapes: Vectors | None
    n_classes: int
    total: float
    rule: Rule | None
    alpha: float

    def soft_labels(self, vectors: Vectors, cluster: NDArray[np.int64]) -> Vectors:
        """Between the class of the cluster (alpha = 0) and what the classifier says (alpha = 1)."""
        if self.rule is None:
            return np.eye(self.n_classes)[self.label[cluster]]
        soft: Vectors = self.alpha * self.rule.probabilities(vectors)
        soft[np.arange(len(soft)), self.label[cluster]] += 1 - self.alpha
        return soft
