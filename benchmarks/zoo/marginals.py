"""How far the released marginals, correlations and spikes are from those of the real training rows. Not private."""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import stats

import sfumato as sf
from sfumato.lab.benchmark.metrics import spearman
from sfumato.public.schema.schema import Batch

Codes = NDArray[np.int64]

#: Levels of a number, cut at quantiles of the real rows; categories beyond so many frequent ones are one.
LEVELS = 10
#: Pairs and triples beyond so many are drawn, always the same ones.
MOST_SETS = 60
#: A value in this share of the rows is a spike, and in so many at least: of a hundred rows every value is 1 %.
SPIKE, FEWEST = 0.01, 5


def distances(real: Batch, released: Batch, schema: sf.Schema) -> dict[str, float | None]:
    """Mean total variation distance over single columns, pairs and triples."""
    pairs = [coarse(column, real[column.name], released[column.name]) for column in schema.columns]
    found: dict[str, float | None] = {}
    for ways in (1, 2, 3):
        sets = _sets(len(pairs), ways)
        far = [_total_variation([pairs[at] for at in chosen]) for chosen in sets]
        found[f"tvd_{ways}"] = float(np.mean(far)) if far else None
    return found


def coarse(column: sf.Column, real: NDArray, released: NDArray) -> tuple[Codes, Codes]:
    """Few levels of both, by the real rows alone."""
    if column.is_coded:
        frequent = np.argsort(-np.bincount(real, minlength=column.size), kind="stable")[:LEVELS]
        level = np.full(column.size, LEVELS)
        level[frequent] = np.arange(len(frequent))
        return level[real], level[released]
    known = real[~np.isnan(real)]
    quantiles = np.quantile(known, np.arange(1, LEVELS) / LEVELS) if len(known) else np.zeros(1)
    edges, repeats = np.unique(quantiles, return_counts=True)
    heavy = edges[repeats > 1]  # a tenth of the rows and more: a level of its own
    return _level(real, edges, heavy), _level(released, edges, heavy)


def _level(values: NDArray, edges: NDArray, heavy: NDArray) -> Codes:
    """0 to 9 by quantiles, then one for each heavy value, and 2 * LEVELS for missing."""
    level = np.searchsorted(edges, values, side="right")
    for at, value in enumerate(heavy):
        level = np.where(values == value, LEVELS + at, level)
    return np.where(np.isnan(values), 2 * LEVELS, level)


def _total_variation(columns: list[tuple[Codes, Codes]]) -> float:
    base = 2 * LEVELS + 1
    real = sum(column[0] * base**at for at, column in enumerate(columns))
    released = sum(column[1] * base**at for at, column in enumerate(columns))
    shares = [np.bincount(codes, minlength=base ** len(columns)) / max(1, len(codes)) for codes in (real, released)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _sets(n: int, ways: int) -> list[tuple[int, ...]]:
    """All sets of so many columns, or some of them by a fixed seed. Single columns are never left out."""
    everything = list(combinations(range(n), ways)) if n < 60 or ways == 1 else None
    if everything is not None and (ways == 1 or len(everything) <= MOST_SETS):
        return everything
    rng = np.random.default_rng(0)
    if everything is not None:
        return [everything[at] for at in rng.choice(len(everything), MOST_SETS, replace=False)]
    return [tuple(rng.choice(n, ways, replace=False)) for _ in range(MOST_SETS)]


def correlation_errors(real: Batch, released: Batch, schema: sf.Schema) -> dict[str, float | None]:
    """Mean absolute error of Spearman correlations over all pairs of numbers, and how large the real ones are."""
    names = [column.name for column in schema.columns if column.is_number]
    if len(names) < 2:
        return {"correlation": None, "correlation_size": None}
    pairs = np.triu_indices(len(names), 1)
    true, found = spearman(real, names)[pairs], spearman(released, names)[pairs]
    return {"correlation": float(np.abs(true - found).mean()), "correlation_size": float(np.abs(true).mean())}


def cramer(batch: Batch, a: sf.Column, b: sf.Column) -> float:
    """Cramer's V of two coded columns: 0 where they are independent, 1 where either tells the other."""
    counts = np.bincount(batch[a.name] * b.size + batch[b.name], minlength=a.size * b.size).reshape(a.size, b.size)
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return 0.0
    return float(stats.contingency.association(counts, method="cramer"))


def cramer_errors(real: Batch, released: Batch, schema: sf.Schema) -> dict[str, float | None]:
    """The same of Cramer's V over all pairs of coded columns."""
    pairs = list(combinations([column for column in schema.columns if column.is_coded], 2))
    if not pairs:
        return {"cramer": None, "cramer_size": None}
    true, found = (np.array([cramer(batch, a, b) for a, b in pairs]) for batch in (real, released))
    return {"cramer": float(np.abs(true - found).mean()), "cramer_size": float(true.mean())}


def spikes_kept(real: Batch, released: Batch, schema: sf.Schema) -> float | None:
    """The share of values in 1 % of the real rows and more whose released share is within a factor of two."""
    kept = []
    for column in schema.columns:
        if column.is_number:
            rows = real[column.name]
            values, counts = np.unique(rows[~np.isnan(rows)], return_counts=True)
            for at in np.flatnonzero(counts >= max(FEWEST, SPIKE * len(rows))):
                expected, found = counts[at] / len(rows), np.mean(released[column.name] == values[at])
                kept.append(expected / 2 <= found <= 2 * expected)
    return float(np.mean(kept)) if kept else None
