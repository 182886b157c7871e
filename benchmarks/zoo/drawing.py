"""Short words for drawing made-up rows: columns, labels, and numbers that hang together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import sfumato as sf

Floats = NDArray[np.float64]
Rng = np.random.Generator
Drawn = tuple[pd.DataFrame, sf.Schema]


def number(name: str, low: float, high: float, *, missing: bool = False) -> sf.Column:
    return sf.Column(name=name, kind="numeric", bounds=(low, high), missing=missing)


def whole(name: str, low: float, high: float, *, missing: bool = False) -> sf.Column:
    return sf.Column(name=name, kind="integer", bounds=(low, high), missing=missing)


def category(name: str, size: int, *, missing: bool = False) -> sf.Column:
    return sf.Column(name=name, kind="categorical", categories=names_of(name, size), missing=missing)


def flag(name: str) -> sf.Column:
    return sf.Column(name=name, kind="boolean")


def names_of(name: str, size: int) -> tuple[str, ...]:
    """Names of categories: the column's and a number.

    >>> names_of("city", 2)
    ('city0', 'city1')
    """
    return tuple(f"{name}{code}" for code in range(size))


def coded(name: str, codes: NDArray[Any], size: int) -> pd.Categorical:
    """Codes as the categories of `category(name, size)`."""
    return pd.Categorical.from_codes(codes.astype(np.int64), categories=list(names_of(name, size)))


def table(values: dict[str, Any], columns: Sequence[sf.Column], target: str | None, **more: Any) -> Drawn:
    """Numbers are put inside their bounds, so that a schema never lies about what it bounds."""
    frame = pd.DataFrame(values)
    for column in columns:
        if column.is_number and column.kind != "datetime":
            frame[column.name] = frame[column.name].clip(column.low, column.high)
            if column.kind == "integer":
                frame[column.name] = frame[column.name].round().astype("Int64" if column.missing else "int64")
    return frame, sf.Schema(columns=tuple(columns), target=target, **more)


def sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def yes(rng: Rng, score: Floats, *, rate: float = 0.5) -> NDArray[np.bool_]:
    """A class by log-odds, with an intercept that gives about this rate."""
    low, high = -50.0, 50.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if sigmoid(score + middle).mean() > rate else (middle, high)
    return rng.random(len(score)) < sigmoid(score + low)


def likeliest(rng: Rng, scores: Floats) -> NDArray[np.int64]:
    """One class a row, drawn by the softmax of the scores."""
    return (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


def classes_at(rng: Rng, scores: Floats, rates: Floats) -> NDArray[np.int64]:
    """The same with intercepts that give about these rates."""
    shift = np.log(rates)
    for _ in range(30):
        shifted = scores + shift
        odds = np.exp(shifted - shifted.max(axis=1, keepdims=True))
        shift += np.log(rates / (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0))
    return likeliest(rng, scores + shift)


def factor_normals(rng: Rng, n: int, columns: int, *, factors: int = 3, strength: float = 0.7) -> Floats:
    """Standard normals that hang together through a few hidden factors."""
    loadings = strength * rng.normal(size=(factors, columns))
    x = rng.normal(size=(n, factors)) @ loadings + rng.normal(size=(n, columns))
    return x / np.sqrt(1 + (loadings**2).sum(axis=0))


def zipf(rng: Rng, n: int, size: int, *, power: float = 1.0) -> NDArray[np.int64]:
    """Codes of which a few are frequent and most are rare."""
    odds = 1 / np.arange(1, size + 1) ** power
    return rng.choice(size, size=n, p=odds / odds.sum())


def levels(latent: Floats, size: int) -> NDArray[np.int64]:
    """A standard normal in so many levels of unequal size."""
    return np.clip(((latent + 2) / 4 * size).astype(np.int64), 0, size - 1)
