"""Vectors like those of private rows, by class: directions of a Gaussian, and lengths as they were counted. No doors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.moments.class_shapes import ClassShapes
from sfumato.mechanisms.moments.gaussian import Gaussian
from sfumato.mechanisms.moments.lengths import Lengths

#: Vectors that say how long those of the Gaussian are.
_NORMS = 4_000


@dataclass(frozen=True, eq=False)
class Population:
    """Vectors about 0, their lengths in a unit; `shapes` and a line of lengths for each class where these differ."""

    gaussian: Gaussian
    shapes: ClassShapes | None
    lengths: Lengths
    unit: float

    @cached_property
    def _norms(self) -> list[Floats]:
        """The sorted norms of vectors that no length was given yet, of each kind."""
        rng = np.random.default_rng(0)
        kinds = range(len(self.lengths.shares))
        return [np.sort(np.linalg.norm(self._directions(kind, _NORMS, rng), axis=1)) for kind in kinds]

    def _directions(self, kind: int, n_rows: int, rng: np.random.Generator) -> Floats:
        return self.gaussian.draw(n_rows, rng) if self.shapes is None else self.shapes.draw(kind, n_rows, rng)

    def draw(self, classes: Integers, rng: np.random.Generator) -> Floats:
        """A vector for each of these classes. The longer of two by the Gaussian is the longer one by the counts."""
        vectors = np.empty((len(classes), len(self.gaussian.deviations)))
        kinds = classes if len(self.lengths.shares) > 1 else np.zeros_like(classes)
        for kind, norms in enumerate(self._norms):
            at = np.flatnonzero(kinds == kind)
            directions = self._directions(kind, len(at), rng)
            norm = np.maximum(np.linalg.norm(directions, axis=1), 1e-12)
            longer_than = np.interp(norm, norms, (np.arange(_NORMS) + 0.5) / _NORMS)
            length = self.lengths.quantiles(kind, longer_than) / self.unit
            vectors[at] = directions * (length / norm)[:, None]
        return vectors

    def variances(self, rates: Floats) -> Floats:
        """Of each entry, over classes with these rates, in rows of the usual length of their class."""
        of_entries = self.gaussian.variances[None] if self.shapes is None else self.shapes.of_entries
        usual = [self.lengths.quantiles(kind, np.array([0.5]))[0] / self.unit for kind in range(len(of_entries))]
        stretch = np.array([length / np.median(norms) for length, norms in zip(usual, self._norms, strict=True)])
        return np.asarray((rates if len(of_entries) > 1 else np.ones(1)) @ (of_entries * stretch[:, None] ** 2))
