"""What a code leaves of a picture: its second moments, so that released pictures vary in every direction as real ones do.

Without it the pictures of a class lie on a thin sheet, and classes differ off the sheet without any variation. A learner takes
such a difference for certain, the more so the less noise is in the means.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import clipped
from sfumato.mechanisms.common.shrink import class_covariances
from sfumato.mechanisms.latent.groundwork import Groundwork
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.plan.block import Outer
from sfumato.public.plan.doors import Doors, GroupOf, Measured
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch


def products_step(name: str, rows: LatentRows, *, share: float) -> Step:
    """Products of all pairs of entries, summed over everyone."""
    return Step(name=name, blocks=(Outer(name="products", shape=(rows.width,) * 2, l2_bound=1.0),), share=share)


def measure_products(view: Doors, step: str, vectors: GroupOf, *, rows: LatentRows, ground: Groundwork) -> Measured:
    """The sum of v v^T, for vectors about as long as rows about the mean of their group."""
    radius = ground.about_means.typical

    def products(batch: Batch) -> dict[str, NDArray[np.generic]]:
        short = clipped(vectors(batch), radius) / radius
        return {"products": np.concatenate([short, short], axis=1)}

    noisy = view.noisy_sum(step, products)["products"]
    sums = radius**2 * noisy.values.reshape(rows.width, rows.width)
    return Measured((sums + sums.T) / 2, radius**2 * noisy.stddev)


def rest_of(products: Measured, ground: Groundwork, *, directions: Vectors | None = None) -> Vectors:
    """A matrix F such that Gaussian draws times F have these moments, but for their noise; outside of given directions."""
    total = np.array([ground.total])
    (loadings,) = class_covariances(products.values[None], total, stddev=products.stddev)
    if directions is None:
        return np.asarray(loadings)
    return np.asarray(loadings - (loadings @ directions) @ directions.T)
