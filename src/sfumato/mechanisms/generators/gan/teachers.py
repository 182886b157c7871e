"""Teachers that tell private rows of a part from generated ones: linear discriminators, one for each class.

A teacher has few rows, so that all it brings is their mean. What is public does the rest: the centre of generated rows of a class,
and their covariance, which says in what directions a distance from the centre means something (Fisher, 1936).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.common.prepared import INPUTS
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.doors import Queries, Teacher
from sfumato.public.schema.schema import Batch

#: What is said of a row of a class. A vote is twice the class, plus this.
GENERATED, PRIVATE = 0, 1
_SEED = 47
#: Of the mean variance, added to every variance: rare values would weigh too much.
_RIDGE = 0.3


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
        return np.concatenate([wide, np.maximum(exact_products(wide, self.weights) + self.biases, 0)], axis=1)


class Teaching:
    """What all teachers of a round are told: generated rows, which are public."""

    def __init__(self, rows: MixedRows, features: Features, generated: Floats) -> None:
        """Take so many generated rows of each class, as the discriminator sees them: (class, row, entry)."""
        self._rows, self._features = rows, features
        made = [features(vectors) for vectors in generated]
        self._centres = np.stack([own.mean(axis=0) for own in made])
        self._spreads = [Spread(own - centre) for own, centre in zip(made, self._centres, strict=True)]

    def queries(self, generated: Floats) -> Queries:
        """One row of each class in each query: how far it is from the centre of its class, in units of the spread."""
        asked = [self._features(vectors) - centre for vectors, centre in zip(generated, self._centres, strict=True)]
        return np.stack([spread.undone(away) for spread, away in zip(self._spreads, asked, strict=True)], axis=1)

    def train(self, batch: Batch) -> Teacher:
        """A teacher of the rows of one part: it takes for private what lies where its own rows of the class do.

        A vote is dear, so a query offers a row of every class, and the teacher says one thing about one of them. It takes
        the classes that it knows in turn.
        """
        labels, seen = self._rows.labels(batch), batch[INPUTS].astype(np.float64)
        known = np.unique(labels)
        own = (labels == known[:, None]).astype(np.float64)
        away = own @ seen / own.sum(axis=1, keepdims=True) - self._centres[known]

        def teacher(queries: Queries) -> Integers:
            votes = np.empty(len(queries), dtype=np.int64)
            for turn, label in enumerate(known):
                mine = slice(turn, None, len(known))
                is_private = queries[mine, label] @ away[turn] > 0
                votes[mine] = 2 * label + np.where(is_private, PRIVATE, GENERATED)
            return votes

        return teacher


class Spread:
    """The covariance of centred rows, with something added to every variance."""

    def __init__(self, centred: Floats) -> None:
        self._rows = centred
        self._ridge = _RIDGE * max(float(np.square(centred).sum()) / centred.size, 1e-6)

    def undone(self, away: Floats) -> Floats:
        """Rows times the inverse: by a matrix as large as there are rows, or columns, whichever are fewer.

        Woodbury, "Inverting modified matrices" (1950).
        """
        rows, (n, width) = self._rows, self._rows.shape
        if width <= n:
            covariance = rows.T @ rows / n
            return np.asarray(np.linalg.solve(covariance + self._ridge * np.eye(width), away.T).T)
        inner = rows @ rows.T + n * self._ridge * np.eye(n)
        explained: Floats = np.linalg.solve(inner, rows @ away.T).T @ rows
        return (away - explained) / self._ridge
