"""How the directions of two classes differ: second moments of each class about those of all rows. No doors: noisy numbers alone.

What differs is taken to be a few directions that stand above the noise, a common correlation by distance, and a variance
of each entry. Everything else the classes share, so that two classes that are alike stay alike.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.moments.gaussian import Gaussian, by_distance
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.doors import Measured


@dataclass(frozen=True, eq=False)
class ClassShapes:
    """Axes along which every class is uncorrelated, and the variance of each class along each of them.

    `root` has the axes as its columns, and `inverse` takes a row to its places along them.
    """

    root: Floats
    inverse: Floats
    variances: Floats

    @property
    def of_entries(self) -> Floats:
        """The variance of each entry within each class."""
        return np.asarray(self.variances @ (self.root**2).T)

    def draw(self, of_class: int, n_rows: int, rng: np.random.Generator) -> Floats:
        """Vectors of a class, about 0."""
        return np.asarray(
            (rng.standard_normal((n_rows, len(self.root))) * np.sqrt(self.variances[of_class])) @ self.root.T
        )

    def odds_of(self, vectors: Floats) -> Floats:
        """The log-odds of the second class by the direction of a vector alone, up to a constant."""
        squares = exact_products(vectors, self.inverse.T) ** 2
        sizes = np.stack([(squares / of_class).sum(axis=1) for of_class in self.variances])
        log_sizes = np.log(np.maximum(sizes, 1e-300))
        return np.asarray((log_sizes[0] - log_sizes[1]) * (len(self.root) / 2))


def fit_shapes(
    gaussian: Gaussian, moments: Measured, squares: Measured, counts: Floats, settings: MomentsSettings
) -> ClassShapes:
    """From noisy sums over each of two classes of all products of a row's entries, and of their squares.

    The sums of products are symmetric: entries on the diagonal have the given noise, others 1 / sqrt(2) of it.
    """
    sizes = np.maximum(counts, 1.0)
    relative = float(np.sqrt((1 / sizes**2).sum()))
    means = moments.values / sizes[:, None, None]
    of_squares = squares.values / sizes[:, None]
    difference = _difference(
        means[1] - means[0], of_squares[1] - of_squares[0], gaussian,
        noise=moments.stddev * relative, noise_of_squares=squares.stddev * relative, settings=settings,
    )  # fmt: skip
    # Along axes on which rows hardly vary noise is all that differs: there the difference is shrunk.
    sizes_of_axes, axes = np.linalg.eigh(gaussian.covariance)
    deviations = np.sqrt(np.maximum(sizes_of_axes, 0.0))
    steadied = np.sqrt(np.maximum(sizes_of_axes, 0.0) + squares.stddev * relative)
    by_axes = axes.T @ difference @ axes / (steadied[:, None] * steadied)
    differs_by, turn = np.linalg.eigh(by_axes)
    # Both classes together are all rows, so that neither can vary by more than all rows over its rate.
    rates = sizes / sizes.sum()
    most = 1 - settings.least_class_variance
    differs_by = np.clip(differs_by, -most / rates[0], most / rates[1])
    variances = 1 + np.array([-rates[1], rates[0]])[:, None] * differs_by
    return ClassShapes((axes * deviations) @ turn, turn.T @ (axes / steadied).T, variances)


def within_classes(covariance: Floats, means: Floats, rates: Floats, *, least: float) -> tuple[ClassShapes, float]:
    """What of a covariance is left about the means of the classes, and which part of it all; along any axis at least this part."""
    apart = means - rates @ means
    left, axes = np.linalg.eigh(covariance - (apart.T * rates) @ apart)
    left = np.maximum(left, least * (axes * (covariance @ axes)).sum(axis=0))
    deviations = np.sqrt(np.maximum(left, 1e-12))
    shapes = ClassShapes(axes * deviations, (axes / deviations).T, np.ones((1, len(left))))
    return shapes, float(left.sum() / np.trace(covariance))


def _difference(
    moments: Floats, squares: Floats, gaussian: Gaussian, *, noise: float, noise_of_squares: float,
    settings: MomentsSettings,
) -> Floats:  # fmt: skip
    """The second moments of one class less those of the other, without most of the noise."""
    d = len(moments)
    values, vectors = np.linalg.eigh(moments)
    edge = float(np.sqrt(2.0 * d) * noise)
    kept = np.abs(values) > settings.above_noise * edge
    shrunk = np.sign(values[kept]) * np.sqrt(values[kept] ** 2 - edge**2)  # with what noise does to the vectors
    found: Floats = (vectors[:, kept] * shrunk) @ vectors[:, kept].T
    deviations = np.sqrt(gaussian.variances)
    common = by_distance(moments - found, deviations, noise=noise, settings=settings)
    found += linalg.toeplitz(common) * deviations[:, None] * deviations
    # A variance of each entry, shrunk by how much more they differ than noise would make them.
    relative, its_noise = squares / gaussian.variances, noise_of_squares / gaussian.variances
    signal = max(float(np.mean(relative**2 - its_noise**2)), 0.0)
    np.fill_diagonal(found, gaussian.variances * relative * signal / (signal + its_noise**2))
    return found
