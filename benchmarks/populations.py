"""Made-up populations with a known signal, on which expectations are simulated. Nothing here has seen a real row.

A population is a rule that draws rows; four rules differ in what makes columns hang together and what makes the target:

- `factors`: three hidden factors behind all columns; the target is a logistic rule of a few columns.
- `causes`: each column has causes among those before it; the target has thresholds and one interaction.
- `types`: eight hidden types of rows, columns independent within a type; the target follows type and two columns.
- `crossed`: columns nearly independent; half of what makes the target is products of two columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato import Column, Schema

Floats = NDArray[np.float64]
Latent = Callable[[np.random.Generator, int], tuple[Floats, Floats]]

#: Rows on which the target's intercept is set.
_CALIBRATION_ROWS = 100_000
_BOUND = 6.0


@dataclass(frozen=True)
class Population:
    """Rows by a rule. Every population of the same settings is the same.

    Args:
        rule: One of RULES.
        columns: How many columns besides the target; every other one is a category.
        rate: The share of the second class.
        strength: The standard deviation of the target's log-odds: 1 is a weak signal, 3 a strong one.
        seed: Of the rule's own constants.
    """

    rule: str
    columns: int
    rate: float
    strength: float
    seed: int

    @property
    def schema(self) -> Schema:
        """What would be public of such data."""
        made = [_column(j) for j in range(self.columns)]
        return Schema(
            columns=(*made, Column(name="target", kind="categorical", categories=("no", "yes"))), target="target"
        )

    def draw(self, n_rows: int, *, seed: int) -> pd.DataFrame:
        """Rows of everyday data: numbers of several shapes, categories, two classes."""
        rng = np.random.default_rng([self.seed, seed])
        latent, score = self._latent(rng, n_rows)
        label = rng.random(n_rows) < _sigmoid(self._scale * score + self._intercept)
        batch: dict[str, NDArray[np.generic]] = {f"c{j}": _shown(j, latent[:, j]) for j in range(self.columns)}
        return self.schema.decode({**batch, "target": label.astype(np.int64)})

    def draw_evenly(self, n_rows: int, *, seed: int) -> pd.DataFrame:
        """As many rows of either class: areas under curves do not depend on the rate, and are sharper so."""
        half = n_rows // 2
        rows = self.draw(round(1.2 * half / min(self.rate, 1 - self.rate)), seed=seed)
        return pd.concat([group.head(half) for _, group in rows.groupby("target", observed=True)], ignore_index=True)

    @cached_property
    def _latent(self) -> Latent:
        return RULES[self.rule](np.random.default_rng(self.seed), self.columns)

    @cached_property
    def _calibration(self) -> Floats:
        return self._latent(np.random.default_rng([self.seed, 999]), _CALIBRATION_ROWS)[1]

    @cached_property
    def _scale(self) -> float:
        return self.strength / float(self._calibration.std())

    @cached_property
    def _intercept(self) -> float:
        low, high = -60.0, 60.0
        for _ in range(60):
            middle = (low + high) / 2
            over = _sigmoid(self._scale * self._calibration + middle).mean() > self.rate
            low, high = (low, middle) if over else (middle, high)
        return low


def factors(rng: np.random.Generator, columns: int) -> Latent:
    """Hidden factors; the target reads a few columns."""
    loadings = rng.normal(size=(3, columns)) * rng.uniform(0.3, 1.0, columns)
    weights = _few(rng, columns)
    total = np.sqrt(1 + (loadings**2).sum(axis=0))

    def latent(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        x = (rng.normal(size=(n, 3)) @ loadings + rng.normal(size=(n, columns))) / total
        return x, x @ weights

    return latent


def causes(rng: np.random.Generator, columns: int) -> Latent:
    """Columns with causes before them; thresholds and an interaction make the target."""
    causes_of = [rng.choice(j, size=min(2, j), replace=False) for j in range(columns)]
    strengths = [rng.uniform(0.3, 0.8, len(c)) * rng.choice([-1, 1], len(c)) for c in causes_of]
    weights, steps = _few(rng, columns), rng.normal(0, 0.7, columns)

    def latent(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        x = rng.normal(size=(n, columns))
        for j, (before, strength) in enumerate(zip(causes_of, strengths, strict=True)):
            x[:, j] = (x[:, j] + x[:, before] @ strength) / np.sqrt(1 + (strength**2).sum())
        score = (x > steps) @ weights + 0.4 * (x @ weights) + 0.8 * x[:, 0] * (x[:, 1] > 0)
        return x, score

    return latent


def types(rng: np.random.Generator, columns: int) -> Latent:
    """Hidden types of rows."""
    centres = rng.normal(0, 1.2, size=(8, columns))
    odds, risk = rng.dirichlet(np.full(8, 2.0)), rng.normal(size=8)

    def latent(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        kind = rng.choice(8, size=n, p=odds)
        x = centres[kind] + rng.normal(size=(n, columns))
        return x / 1.5, risk[kind] + 0.5 * x[:, 0] - 0.4 * np.abs(x[:, 1])

    return latent


def crossed(rng: np.random.Generator, columns: int) -> Latent:
    """Products of two columns carry half of the signal."""
    weights = _few(rng, columns)
    at = rng.choice(columns, size=4, replace=False)

    def latent(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
        x = 0.95 * rng.normal(size=(n, columns)) + 0.3 * rng.normal(size=(n, 1))
        products = x[:, at[0]] * x[:, at[1]] + x[:, at[2]] * x[:, at[3]]
        return x, x @ (weights / np.sqrt((weights**2).sum())) + products / np.sqrt(2)

    return latent


RULES: dict[str, Callable[[np.random.Generator, int], Latent]] = {
    "factors": factors,
    "causes": causes,
    "types": types,
    "crossed": crossed,
}


@dataclass(frozen=True)
class Shapes:
    """Small grey pictures of one of four shapes, at a random place and size, in noise."""

    side: int = 12
    noise: float = 0.25

    @property
    def schema(self) -> Schema:
        """What would be public of such pictures."""
        return Schema(
            columns=(
                Column(name="image", kind="image", shape=(self.side, self.side), bounds=(0, 1)),
                Column(name="label", kind="categorical", categories=("disc", "square", "cross", "ring")),
            ),
            target="label",
        )

    def draw(self, n_rows: int, *, seed: int) -> dict[str, NDArray[np.generic]]:
        """Pictures and what they show."""
        rng = np.random.default_rng(seed)
        label = rng.integers(4, size=n_rows)
        at = np.arange(self.side) - (self.side - 1) / 2
        centre = rng.uniform(-1.5, 1.5, size=(2, n_rows, 1, 1))
        y, x = at[:, None] - centre[0], at[None, :] - centre[1]
        size, reach = rng.uniform(2.0, 4.0, size=(n_rows, 1, 1)), np.hypot(y, x)
        drawn = np.stack(
            [
                reach < size,
                np.maximum(np.abs(y), np.abs(x)) < 0.9 * size,
                (np.minimum(np.abs(y), np.abs(x)) < 1) & (reach < 1.2 * size),
                np.abs(reach - size) < 1,
            ]
        )[label, np.arange(n_rows)]
        ink = rng.uniform(0.5, 1.0, size=(n_rows, 1, 1))
        image = np.clip(drawn * ink + self.noise * rng.normal(size=drawn.shape), 0, 1)
        names = np.array(self.schema["label"].categories, dtype=object)
        return {"image": image.astype(np.float32), "label": names[label]}


def _few(rng: np.random.Generator, columns: int) -> Floats:
    """Weights of a few columns, which fade; the others do not matter."""
    weights = np.zeros(columns)
    chosen = rng.permutation(columns)[: min(8, columns)]
    weights[chosen] = rng.choice([-1, 1], len(chosen)) * 0.75 ** np.arange(len(chosen))
    return weights


def _column(j: int) -> Column:
    name = f"c{j}"
    match j % 6:
        case 1 | 3:
            return Column(name=name, kind="categorical", categories=tuple("abcde"[: 2 + j % 4]))
        case 5:
            return Column(name=name, kind="categorical", categories=tuple(f"v{i}" for i in range(12)))
        case 2:
            return Column(name=name, kind="numeric", bounds=(0, float(np.ceil(np.exp(_BOUND)))))
        case 4:
            return Column(name=name, kind="integer", bounds=(0, 80))
    return Column(name=name, kind="numeric", bounds=(-_BOUND, _BOUND))


def _shown(j: int, latent: Floats) -> NDArray[np.generic]:
    """A hidden number as a column shows it: as it is, skewed with many zeros, whole, or as one of a few categories."""
    column = _column(j)
    if column.is_coded:
        place = np.clip((latent + 2.0) / 4.0, 0, 1 - 1e-9)
        # Neighbouring codes need not be alike: categories have no order.
        return np.random.default_rng(j).permutation(column.size)[(place * column.size).astype(np.int64)]
    match j % 6:
        case 2:
            return np.where(latent < 0, 0.0, np.exp(np.minimum(1.5 * latent, _BOUND)))
        case 4:
            return np.clip(np.round(40 + 12 * latent), 0, 80)
    return np.clip(latent, -_BOUND, _BOUND)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))
