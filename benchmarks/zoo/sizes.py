"""The same kinds of rows, few and many, narrow and wide."""

import numpy as np

from .case import made
from .drawing import Drawn, Rng, category, coded, factor_normals, flag, levels, number, table, yes


@made("tiny-100", 100, "a hundred rows of 3 numbers and 3 categories")
def tiny(n: int, rng: Rng) -> Drawn:
    return _mixed(n, rng, numbers=3, categories=3)


@made("small-500", 500, "6 normal and 4 categorical columns, 500 rows")
@made("small-2000", 2_000, "6 normal and 4 categorical columns, 2,000 rows")
@made("small-10000", 10_000, "6 normal and 4 categorical columns, 10,000 rows")
def small(n: int, rng: Rng) -> Drawn:
    return _mixed(n, rng, numbers=6, categories=4)


@made("wide-300", 20_000, "300 columns of mixed types")
def wide(n: int, rng: Rng) -> Drawn:
    return _mixed(n, rng, numbers=180, categories=120)


@made("wide-120-classes", 5_000, "120 numbers, half of them near a bound, two classes")
def wide_classes(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 120, factors=8)
    x = np.where(np.arange(120) < 60, z, np.minimum(np.exp(z), 20.0))
    values = {f"x{j}": x[:, j] for j in range(120)}
    columns = [*(number(f"x{j}", -6, 6) for j in range(60)), *(number(f"x{j}", 0, 20) for j in range(60, 120))]
    score = z[:, ::6] @ rng.normal(size=20)
    return table({**values, "y": yes(rng, score, rate=0.4)}, [*columns, flag("y")], "y")


@made("million", 1_000_000, "a million rows of 50 columns", slow=True)
def million(n: int, rng: Rng) -> Drawn:
    return _mixed(n, rng, numbers=30, categories=20)


@made("wide-150-number", 20_000, "150 numbers, a number as target")
def wide_number(n: int, rng: Rng) -> Drawn:
    z = factor_normals(rng, n, 150, factors=8)
    y = z[:, :20] @ rng.normal(size=20) + 2 * np.abs(z[:, 20]) + 2 * rng.normal(size=n)
    values = {f"x{j}": z[:, j] for j in range(150)}
    return table({**values, "y": y}, [*(number(f"x{j}", -10, 10) for j in range(150)), number("y", -100, 100)], "y")


def _mixed(n: int, rng: Rng, *, numbers: int, categories: int) -> Drawn:
    """Two classes by a few columns; categories of two to seven values."""
    width = numbers + categories
    z = factor_normals(rng, n, width)
    weights = np.zeros(width)
    matter = [*range(0, min(5, numbers)), *range(numbers, numbers + 3)]
    weights[matter] = np.array([1.2, -1.0, 0.8, -0.6, 0.5, 1.0, -0.8, 0.6])[: len(matter)]
    sizes = {j: 2 + j % 6 for j in range(numbers, width)}
    values = {f"x{j}": z[:, j] for j in range(numbers)}
    values |= {f"c{j}": coded(f"c{j}", levels(z[:, j], size), size) for j, size in sizes.items()}
    columns = [*(number(f"x{j}", -10, 10) for j in range(numbers)), *(category(f"c{j}", s) for j, s in sizes.items())]
    return table({**values, "y": yes(rng, z @ weights, rate=0.4)}, [*columns, flag("y")], "y")
