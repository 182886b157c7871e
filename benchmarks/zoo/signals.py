"""Wide rows of classes that have one mean: what differs is how far the numbers spread, and how they hang together."""

import numpy as np
from scipy.signal import lfilter

from .case import made
from .drawing import Drawn, Floats, Rng, flag, number, table


def _rows(x: Floats, y: object, *, bound: float) -> Drawn:
    values = {f"x{j}": x[:, j] for j in range(x.shape[1])} | {"y": y}
    return table(values, [*(number(f"x{j}", -bound, bound) for j in range(x.shape[1])), flag("y")], "y")


def _unit(x: Floats) -> Floats:
    """Rows of mean square 1."""
    return np.asarray(x / np.sqrt((x**2).mean(axis=1, keepdims=True)))


@made("signals-178", 8_000, "a second of a signal, 178 numbers: one class in five is louder and swings slowly")
def signals(n: int, rng: Rng) -> Drawn:
    y = rng.random(n) < 0.2
    rest = lfilter([1.0], [1.0, -0.93], rng.normal(size=(n, 278)), axis=1)[:, 100:]
    pitch, phase = rng.uniform(2.5, 6, size=(n, 1)), 2 * np.pi * rng.random((n, 1))
    turn = 2 * np.pi * pitch * np.arange(178) / 178 + phase
    swing = np.sin(turn) + 0.5 * np.sin(2 * turn + 2 * np.pi * rng.random((n, 1)))
    x = np.where(y[:, None], _unit(swing) + 0.5 * _unit(rest), _unit(rest))
    loud = np.exp(np.where(y, np.log(200), np.log(50)) + np.where(y, 0.45, 0.55) * rng.normal(size=n))
    return _rows(x * loud[:, None], y, bound=2_000)


@made("spreads-150", 8_000, "150 numbers of two classes with one length: some columns spread more, others less")
def spreads(n: int, rng: Rng) -> Drawn:
    y = rng.random(n) < 0.4
    x = np.empty((n, 150))
    for of_class in (False, True):
        loadings = 0.4 * rng.normal(size=(4, 150))
        rows = rng.normal(size=(n, 4)) @ loadings + rng.normal(size=(n, 150))
        x[y == of_class] = _unit(rows * np.exp(0.12 * rng.normal(size=150)))[y == of_class]
    return _rows(x * np.exp(0.4 * rng.normal(size=(n, 1))), y, bound=25)


@made("vibrations-128", 6_000, "a turning shaft, 128 numbers: a worn one rings at a higher pitch, in knocks")
def vibrations(n: int, rng: Rng) -> Drawn:
    y = rng.random(n) < 0.3
    well = lfilter([1.0], [1.0, -1.6, 0.8], rng.normal(size=(n, 228)), axis=1)[:, 100:]
    knocks = rng.normal(size=(n, 228)) * (rng.random((n, 228)) < 0.08)
    worn = lfilter([1.0], [1.0, -0.9, 0.85], knocks, axis=1)[:, 100:] + 0.1 * rng.normal(size=(n, 128))
    load = np.exp(0.4 * rng.normal(size=(n, 1)))
    x = 0.1 * rng.normal(size=128) + load * (_unit(well) + np.where(y[:, None], 1.5, 0.0) * _unit(worn))
    return _rows(x, y, bound=30)
