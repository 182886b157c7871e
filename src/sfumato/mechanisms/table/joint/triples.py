"""Three columns that determine the class together, though no two of them do.

Each column is cut in two at its median. For every triple of columns, a row adds the product of its three signs and of the
sign of its class's half: the sum is large where the three decide together. All triples at once are the products of pairs
of signs with single signs, so one outer sum has them all, each three times.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.joint.pairs import all_pairs


def sign_tables(margins: list[Floats], orders: list[Integers]) -> list[Floats]:
    """For every column a sign for each bin: below or above its median, along its order."""
    tables = []
    for margin, order in zip(margins, orders, strict=True):
        upto = np.cumsum(margin[order])
        middle = (upto - margin[order] / 2) / max(float(upto[-1]), 1e-300)
        sign = np.empty(len(margin))
        sign[order] = np.where(middle < 0.5, -1.0, 1.0)
        tables.append(sign)
    return tables


def sign_products(signs: Floats, half: Integers) -> Floats:
    """For each row the products of all pairs of signs, turned by its half, and the signs: both in units of length 1."""
    left, right = np.array(all_pairs(signs.shape[1])).T
    pairs = signs[:, left] * signs[:, right] * np.where(half == 1, 1.0, -1.0)[:, None]
    return np.concatenate([pairs / np.sqrt(len(left)), signs / np.sqrt(signs.shape[1])], axis=1)


def products_of_rows(bins: Integers, labels: Integers, signs: Sequence[Floats], of_class: Integers) -> Floats:
    """The same of rows of bins, by the sign of every bin and the half of every class."""
    own = np.stack([sign[column] for sign, column in zip(signs, bins.T, strict=True)], axis=1)
    return sign_products(own, of_class[labels])


def strongest_triples(
    products: Floats, expected: Floats, *, stddev: float, total: float, most: int, sure: float
) -> list[tuple[int, int, int]]:
    """Triples that stand out of the noise and of what the population has already, the strongest first.

    `products` are noisy sums of (pair, single) products, and `expected` the same sums over the population, scaled to
    all rows.
    """
    k = products.shape[1]
    at = {pair: i for i, pair in enumerate(all_pairs(k))}
    residual = products - expected
    sizes = []
    for i, j, m in combinations(range(k), 3):
        mean = (residual[at[i, j], m] + residual[at[i, m], j] + residual[at[j, m], i]) / 3
        sizes.append((-abs(mean), (i, j, m)))
    n_triples = max(len(sizes), 2)
    # Against the largest of so many noises, and against what chance alone makes of so many rows.
    chance = np.sqrt(total) / np.sqrt(len(at) * k)
    least = max(sure, np.sqrt(2 * np.log(n_triples)) + 1) * np.hypot(stddev / np.sqrt(3), chance)
    return [triple for size, triple in sorted(sizes)[:most] if -size > least]
