"""What a row says of which of two classes it is in: by its linear score, its length and its direction. No doors.

The three are weighed by how they are spread within the classes (Fisher's discriminant), of which few sums say all: little
noise is left, and what one of them says already the others do not say again.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.moments.class_shapes import ClassShapes
from sfumato.mechanisms.moments.lengths import Lengths
from sfumato.mechanisms.moments.points import shortened
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.doors import Measured

#: A distance along an axis loses this many times the square that noise would give it.
_SURE = 2.0


@dataclass(frozen=True, eq=False)
class Odds:
    """Three log-odds of a vector: by the classifier's weights, by the lengths of the classes, by their shapes."""

    weights: Floats
    lengths: Lengths
    unit: float
    shapes: ClassShapes

    def of(self, vectors: Floats) -> Floats:
        """A column for each."""
        by_length = self.lengths.odds_at(np.linalg.norm(vectors, axis=1) * self.unit)
        linear = exact_products(shortened(vectors), self.weights[:, None])[:, 0]
        return np.column_stack([linear, by_length, self.shapes.odds_of(vectors)])


@dataclass(frozen=True, eq=False)
class Evidence:
    """The same in units that those of the population span, cut off beyond them."""

    odds: Odds
    middles: Floats
    ranges: Floats

    def of(self, vectors: Floats) -> Floats:
        """Three numbers for each vector, of norm at most 1."""
        return shortened((self.odds.of(vectors) - self.middles) / self.ranges)


@dataclass(frozen=True, eq=False)
class Discriminant:
    """The weight of each of the three, and how the linear score of private rows is spread in units of the population's."""

    evidence: Evidence
    slopes: Floats
    mean: float
    stretch: float

    def scores(self, vectors: Floats) -> Floats:
        """The log-odds of vectors of the population, up to a constant; their linear scores spread as the private rows' are."""
        numbers = self.evidence.of(vectors)
        numbers[:, 0] = self.mean + self.stretch * numbers[:, 0]
        return np.asarray(numbers @ self.slopes)


def fit_evidence(odds: Odds, vectors: Floats, *, reach: float) -> Evidence:
    """Middles and ranges by vectors of the population: so many standard deviations on both sides."""
    of_vectors = odds.of(vectors)
    return Evidence(odds, of_vectors.mean(axis=0), np.maximum(reach * of_vectors.std(axis=0), 1e-6))


def fit_discriminant(evidence: Evidence, sums: Measured, vectors: Floats, settings: MomentsSettings) -> Discriminant:
    """From noisy sums over each class of all products of a row's three numbers and 1, halved; and the population's vectors."""
    products = sums.values + sums.values.transpose(0, 2, 1)
    noise = 2 * sums.stddev
    sizes = np.maximum(products[:, 3, 3], 3 * noise)
    means = products[:, 3, :3] / sizes[:, None]
    within = sum(products[c, :3, :3] - sizes[c] * np.outer(means[c], means[c]) for c in range(2)) / sizes.sum()
    between, by_chance = means[1] - means[0], noise**2 * float((1 / sizes**2).sum())
    least = max(1e-3, noise / float(sizes.sum()))
    weighed = partial(_weighed, between, within, by_chance=by_chance, least=least)
    slopes, by_score = weighed([0])
    # Shapes are fitted to noise too. Where they say much less than the linear score they only disturb it.
    if weighed([1, 2])[1] > settings.least_evidence * by_score:
        slopes, _ = weighed([0, 1, 2])
    of_all = products.sum(axis=0) / sizes.sum()
    mean, variance = float(of_all[3, 0]), max(float(of_all[0, 0] - of_all[3, 0] ** 2), 1e-4)
    deviation = max(float(evidence.of(vectors)[:, 0].std()), 1e-3)
    return Discriminant(evidence, settings.steepness * slopes, mean, float(np.sqrt(variance)) / deviation)


def _weighed(
    between: Floats, within: Floats, columns: list[int], *, by_chance: float, least: float
) -> tuple[Floats, float]:
    """The weights of some of the numbers, the others 0, and how far apart they set the classes (squared).

    `between` are the differences of the means, with a noise of variance `by_chance`; `within` has a noise of about `least`.
    """
    values, axes = np.linalg.eigh(within[np.ix_(columns, columns)])
    values = np.maximum(values, least)
    along = axes.T @ between[columns]
    sure = np.maximum(0.0, 1 - _SURE * by_chance / np.maximum(along**2, 1e-12))
    slopes = np.zeros(len(between))
    slopes[columns] = axes @ (sure * along / values)
    return slopes, float((sure * along**2 / values).sum())
