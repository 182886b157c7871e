"""Private principal directions: those in which rows differ most from the mean of their class, by noisy second moments.

Dwork, Talwar, Thakurta and Zhang, "Analyze Gauss" (2014). The directions are those of a few multiplications with the moments,
made orthonormal: a smooth function of them, unlike eigenvectors, so that any processor finds the same.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import clipped
from sfumato.mechanisms.common.prepared import VECTOR
from sfumato.mechanisms.common.shrink import orthonormal
from sfumato.mechanisms.latent.groundwork import Groundwork
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.block import Outer
from sfumato.public.plan.doors import Doors, GroupOf
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Batch

_SEED = 17
_PASSES = 10


def directions_step(rows: LatentRows, *, share: float) -> Step:
    """Products of all pairs of entries, summed over everyone."""
    return Step(name="directions", blocks=(Outer(name="products", shape=(rows.width,) * 2, l2_bound=1.0),), share=share)


@dataclass(frozen=True)
class Principal:
    """Directions, one a column, and the mean product of every entry of a row with its code along them."""

    directions: Vectors = field(repr=False)
    cross: Vectors = field(repr=False)


def measure_directions(view: Doors, rows: LatentRows, ground: Groundwork, *, latent: int) -> Principal:
    """The leading directions of rows about the mean of their class."""
    radius = ground.about_means.typical

    def products(batch: Batch) -> dict[str, NDArray[np.generic]]:
        short = clipped(batch[VECTOR] - ground.means[rows.mixed.labels(batch)], radius) / radius
        return {"products": np.concatenate([short, short], axis=1)}

    noisy = view.noisy_sum("directions", products)["products"].values.reshape(rows.width, rows.width)
    moments = radius**2 * (noisy + noisy.T) / 2 / ground.total
    directions = leading(moments, latent=latent)
    return Principal(directions, moments @ directions)


def codes_along(rows: LatentRows, ground: Groundwork, directions: Vectors) -> GroupOf:
    """The linear encoder: where a row lies along the directions, from the mean of its class."""
    return lambda batch: exact_products(batch[VECTOR] - ground.means[rows.mixed.labels(batch)], directions)


def leading(moments: Vectors, *, latent: int) -> Vectors:
    """An orthonormal basis of about the leading directions of symmetric moments.

    >>> np.abs(leading(np.diag([1.0, 9.0, 0.5]), latent=1)).round(6).ravel()
    array([0., 1., 0.])
    """
    basis = np.random.default_rng(_SEED).normal(size=(len(moments), min(latent, len(moments))))
    for _ in range(_PASSES):
        basis = orthonormal(moments @ basis)
    return basis
