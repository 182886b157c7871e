"""Teachers that tell private rows of a part from generated ones: linear discriminators, one for each class.

A teacher has few rows, so that all it brings is their mean. What is public does the rest: the centre of generated rows of a class,
and their covariance, which says in what directions a distance from the centre means something (Fisher, 1936).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.public.doors import Queries, Teacher
from sfumato.public.schema import Batch

#: Classes of a vote, and a vote that a teacher without rows of the class does not give.
GENERATED, PRIVATE = 0, 1
_NONE = -1
_SEED = 47
#: Of the mean variance, added to every variance: rare values would weigh too much.
_RIDGE = 0.3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Features:
    """A vector itself, and so many random units of it, which see what entries have in common."""

    weights: Floats
    biases: Floats

    @staticmethod
    def of(width: int, units: int) -> "Features":
        """Drawn once: public, and the same for everyone."""
        rng = np.random.default_rng(_SEED)
        return Features(rng.normal(size=(width, units)) / np.sqrt(width), rng.normal(size=units) / 2)

    def __call__(self, vectors: NDArray[np.floating]) -> Floats:
        """One row each."""
        wide = vectors.astype(np.float64)
        return np.concatenate([wide, np.maximum(wide @ self.weights + self.biases, 0)], axis=1)


class Teaching:
    """What all teachers of a round are told: generated rows, which are public."""

    def __init__(self, rows: MixedRows, features: Features, *, vectors: Floats, labels: NDArray[np.int64]) -> None:
        """Take generated rows as the discriminator sees them."""
        self._rows, self._features = rows, features
        made = features(vectors)
        by_class = [made[labels == label] if (labels == label).sum() > 1 else made for label in range(rows.n_classes)]
        self._centres = np.stack([own.mean(axis=0) for own in by_class])
        self._covariances = [_with_ridge(np.cov(own.T)) for own in by_class]

    def queries(self, vectors: Floats, labels: NDArray[np.int64]) -> Queries:
        """Generated rows to be judged: in each, the class, and the distance from its centre in units of the spread."""
        asked = self._features(vectors) - self._centres[labels]
        for label in np.unique(labels):
            asked[labels == label] = np.linalg.solve(self._covariances[label], asked[labels == label].T).T
        return np.concatenate([labels[:, None], asked], axis=1)

    def train(self, batch: Batch) -> Teacher:
        """A teacher of the rows of one part: it takes for private what lies where its own rows of the class do."""
        labels, seen = self._rows.labels(batch), self._features(batch[VECTOR])
        known = {int(label): seen[labels == label].mean(axis=0) - self._centres[label] for label in np.unique(labels)}

        def teacher(queries: Queries) -> NDArray[np.int64]:
            votes = np.full(len(queries), _NONE)
            for label, away in known.items():
                own = queries[:, 0] == label
                votes[own] = np.where(queries[own, 1:] @ away > 0, PRIVATE, GENERATED)
            return votes

        return teacher


def _with_ridge(covariance: Floats) -> Floats:
    spread = max(float(np.trace(covariance)) / len(covariance), 1e-6)
    return covariance + _RIDGE * spread * np.eye(len(covariance))
