"""Private principal directions: those in which rows differ most from the mean of their group, by noisy second moments.

Dwork, Talwar, Thakurta and Zhang, "Analyze Gauss" (2014). The directions are those of a few multiplications with the moments,
made orthonormal: a smooth function of them, unlike eigenvectors, so that any processor finds the same.
"""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.shrink import orthonormal
from sfumato.mechanisms.latent.groundwork import Groundwork, about_mean
from sfumato.mechanisms.latent.rest import measure_products, products_step
from sfumato.mechanisms.latent.rows import LatentRows, Vectors
from sfumato.public.machine.exact_arithmetic import exact_products
from sfumato.public.plan.doors import Doors, GroupOf, Measured
from sfumato.public.plan.step import Step

_SEED = 17
_PASSES = 10
_STEP = "directions"


def directions_step(rows: LatentRows, *, share: float) -> Step:
    """Products of all pairs of entries, summed over everyone."""
    return products_step(_STEP, rows, share=share)


@dataclass(frozen=True)
class Principal:
    """Directions, one a column; the products that they follow from; the mean product of every entry of a row with its code."""

    directions: Vectors = field(repr=False)
    products: Measured = field(repr=False)
    cross: Vectors = field(repr=False)


def measure_directions(view: Doors, rows: LatentRows, ground: Groundwork, *, latent: int) -> Principal:
    """The leading directions of rows about the mean of their group."""
    products = measure_products(view, _STEP, about_mean(ground.means), rows=rows, ground=ground)
    directions = leading(products.values, latent=latent)
    return Principal(directions, products, products.values @ directions / ground.total)


def codes_along(ground: Groundwork, directions: Vectors) -> GroupOf:
    """The linear encoder: where a row lies along the directions, from the mean of its group."""
    about = about_mean(ground.means)
    return lambda batch: exact_products(about(batch), directions)


def leading(moments: Vectors, *, latent: int) -> Vectors:
    """An orthonormal basis of about the leading directions of symmetric moments.

    >>> np.abs(leading(np.diag([1.0, 9.0, 0.5]), latent=1)).round(6).ravel()
    array([0., 1., 0.])
    """
    basis = np.random.default_rng(_SEED).normal(size=(len(moments), min(latent, len(moments))))
    for _ in range(_PASSES):
        basis = orthonormal(moments @ basis)
    return basis
