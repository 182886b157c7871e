"""Two classes of which one has less than one row in a hundred."""

import numpy as np

from .case import made
from .drawing import Drawn, Floats, Rng, flag, number, table, yes


def _one_factor(rng: Rng, n: int, columns: int, *, load: float) -> Floats:
    """Normal numbers that share one cause."""
    signs = rng.choice([-1.0, 1.0], size=columns)
    return load * signs * rng.normal(size=(n, 1)) + np.sqrt(1 - load**2) * rng.normal(size=(n, columns))


def _table(x: Floats, y: object, *, bound: float) -> Drawn:
    names = [f"x{j}" for j in range(x.shape[1])]
    values = dict(zip(names, x.T, strict=True)) | {"y": y}
    return table(values, [*(number(name, -bound, bound) for name in names), flag("y")], "y")


@made("rare-linear", 20_000, "0.8 % positives, along a line through eight of twelve numbers")
def linear(n: int, rng: Rng) -> Drawn:
    x = _one_factor(rng, n, 12, load=0.6)
    along = x[:, :8] @ np.array([1, -0.8, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1])
    return _table(x, yes(rng, 2 * along, rate=0.008), bound=7)


@made("rare-ends", 50_000, "0.6 % positives, at both ends of two numbers")
def ends(n: int, rng: Rng) -> Drawn:
    x = _one_factor(rng, n, 10, load=0.6)
    far = 1.5 * np.abs(x[:, 0]) + 1.2 * np.abs(x[:, 1]) + x[:, 2]
    return _table(x, yes(rng, 1.5 * far, rate=0.006), bound=7)


@made("rare-linked", 50_000, "0.5 % positives, by two of eight numbers that are nearly the same")
def linked(n: int, rng: Rng) -> Drawn:
    x = _one_factor(rng, n, 8, load=0.95)
    return _table(x, yes(rng, 4 * x[:, 2] + 2 * x[:, 5], rate=0.005), bound=7)


@made("rare-some-columns", 150_000, "0.2 % positives, each of which departs in some of fifteen of thirty numbers")
def some_columns(n: int, rng: Rng) -> Drawn:
    x = rng.standard_t(5, size=(n, 30))
    positive = rng.random(n) < 0.002
    severity = rng.beta(1, 0.7, size=(n, 1))
    departs = (rng.random((n, 15)) < severity) & positive[:, None]
    far = np.linspace(2, 6, 15) * rng.choice([-1.0, 1.0], size=15) * (0.5 + rng.random((n, 15)))
    x[:, :15] += departs * far
    return _table(x, positive, bound=40)
