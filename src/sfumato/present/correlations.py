"""How columns of released rows hang together: rank correlations and Cramér's V, as a picture and as a list.

Everything is counted on the first rows alone, rank correlations in whole numbers that a float holds exactly, and shown to
two digits: the picture is the same on every machine.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup
from numpy.typing import NDArray

from sfumato.present.marginals import is_number, numbers_of

_MOST_ROWS = 10_000
#: Columns that are compared, those that are drawn, pairs that are listed, levels of colour, groups of a column.
_MOST_COMPARED, _MOST_DRAWN, _MOST_LISTED, _LEVELS, _GROUPS = 100, 30, 10, 10, 8
#: Below this, a pair is not worth a line: chance alone gives so much among few rows.
_WEAK = 0.1
_SIDE, _NAMES = 20, 140


@dataclass(frozen=True)
class Correlations:
    """Strengths of pairs, from -1 to 1; where a column has no order, from 0 to 1. NaN on the diagonal and for constants."""

    names: tuple[str, ...]
    strengths: NDArray[np.float64]
    has_order: tuple[bool, ...]
    n_columns: int

    @property
    def strongest(self) -> list[tuple[str, str, str]]:
        """The pairs that hang together most, each with its strength in words."""
        rows, columns = np.triu_indices(len(self.names), 1)
        values = self.strengths[rows, columns]
        order = np.argsort(-np.nan_to_num(np.abs(values)), kind="stable")[:_MOST_LISTED]
        return [
            (self.names[rows[at]], self.names[columns[at]], self._text(rows[at], columns[at]))
            for at in order
            if abs(values[at]) >= _WEAK
        ]

    def _text(self, a: int, b: int) -> str:
        sign = "+" if self.has_order[a] and self.has_order[b] else ""
        return f"{self.strengths[a, b]:{sign}.2f}"


def correlations_of(table: pd.DataFrame) -> Correlations | None:
    """Compare columns two by two; None where there are fewer than two of them, or of rows."""
    rows = table.iloc[:_MOST_ROWS, :_MOST_COMPARED]
    if len(rows) < 2 or rows.shape[1] < 2:
        return None
    ordered = [_order(rows[name]) for name in rows.columns]
    groups = [_groups(rows[name], order) for name, order in zip(rows.columns, ordered, strict=True)]
    n_columns = rows.shape[1]
    strengths = np.full((n_columns, n_columns), np.nan)
    for a in range(n_columns):
        for b in range(a):
            left, right = ordered[a], ordered[b]
            found = _cramer(groups[a], groups[b]) if left is None or right is None else _spearman(left, right)
            strengths[a, b] = strengths[b, a] = found
    return Correlations(
        tuple(map(str, rows.columns)), strengths, tuple(order is not None for order in ordered), table.shape[1]
    )


def _order(values: "pd.Series[Any]") -> NDArray[np.float64] | None:
    """Twice the centred rank of each value, a whole number, and NaN where it is missing; None where there is no order."""
    numbers: NDArray[Any]
    if is_number(values):
        numbers = numbers_of(values)
    elif pd.api.types.is_bool_dtype(values):
        numbers = values.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    elif isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered:
        numbers = np.where(values.isna(), np.nan, values.cat.codes.to_numpy(np.float64))
    else:
        return None
    return np.asarray(2 * pd.Series(numbers).rank(), dtype=np.float64)


def _spearman(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """The rank correlation of rows in which neither is missing. All sums are exact."""
    there = ~(np.isnan(x) | np.isnan(y))
    x, y, n = x[there], y[there], int(there.sum())
    if not n:
        return math.nan
    # n times each centred sum of squares, in whole numbers of Python: no rounding until the division.
    sums = [round(float(part.sum())) for part in (x, y, x * x, y * y, x * y)]
    over_x, over_y = n * sums[2] - sums[0] ** 2, n * sums[3] - sums[1] ** 2
    if over_x <= 0 or over_y <= 0:
        return math.nan
    return (n * sums[4] - sums[0] * sums[1]) / math.sqrt(over_x) / math.sqrt(over_y)


def _groups(values: "pd.Series[Any]", order: NDArray[np.float64] | None) -> NDArray[np.int64]:
    """A few groups of rows: the most frequent categories and the others, or even parts of an order. -1: missing."""
    if order is None:
        texts = values.astype(str)
        kept = {label: at for at, label in enumerate(texts.value_counts().index[: _GROUPS - 1])}
        codes = texts.map(kept).fillna(_GROUPS - 1).to_numpy(np.int64)
        return np.where(values.isna(), -1, codes)
    part = np.nan_to_num(order * _GROUPS // (2 * len(order) + 1), nan=-1)
    return part.astype(np.int64)


def _cramer(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    there = (a >= 0) & (b >= 0)
    counts = np.bincount(a[there] * _GROUPS + b[there], minlength=_GROUPS**2).reshape(_GROUPS, _GROUPS)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)].astype(np.float64)
    smaller = min(counts.shape, default=0) - 1
    if smaller < 1:
        return math.nan
    n = counts.sum()
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    # What chance alone adds on average is taken off (Bergsma 2013).
    chance = (counts.shape[0] - 1) * (counts.shape[1] - 1) / n
    phi = float(((counts - expected) ** 2 / expected).sum()) / n
    return math.sqrt(max(0.0, phi - chance) / smaller)


def correlations_svg(found: Correlations, *, like: Correlations | None = None) -> Markup:
    """A triangle of squares: the stronger the colour, the closer two columns hang together.

    Drawn are the columns with the strongest pairs, of this one or of another one that it shall be `like`.
    """
    kept = drawn_columns(like or found)
    n = len(kept)
    width, height = n * _SIDE + _NAMES, n * _SIDE
    drawn = []
    for (sign, level), cells in _cells(found.strengths[np.ix_(kept, kept)]).items():
        path = "".join(f"M{b * _SIDE} {a * _SIDE}h19v19h-19z" for a, b in cells)
        opacity = f"{math.sqrt(level / _LEVELS):.2g}"
        drawn.append(Markup('<path class="{}" fill-opacity="{}" d="{}"/>').format(sign, opacity, path))
    for at, column in enumerate(kept):  # a name stands at the end of its row, and on top of its column
        text = Markup('<text x="{}" y="{}">{}</text>')
        drawn.append(text.format((at + 1) * _SIDE + 4, at * _SIDE + 14, _short(found.names[column])))
    listed = "; ".join(f"{a} and {b} {strength}" for a, b, strength in found.strongest)
    label = f"Correlations of {n} columns. The strongest: {listed or 'none worth naming'}."
    opening = Markup(
        '<svg class="correlations" width="{0}" height="{1}" viewBox="0 0 {0} {1}" role="img" aria-label="{2}">'
    )
    return opening.format(width, height, label) + Markup("").join(drawn) + Markup("</svg>")


def drawn_columns(found: Correlations) -> NDArray[np.int64]:
    """The columns with the strongest pairs, in their order."""
    strength = np.nan_to_num(found.strengths**2).sum(axis=0)
    return np.sort(np.argsort(-strength, kind="stable")[:_MOST_DRAWN])


def _cells(strengths: NDArray[np.float64]) -> dict[tuple[str, int], list[tuple[int, int]]]:
    """The squares of each colour."""
    cells: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for a in range(len(strengths)):
        cells.setdefault(("same", 1), []).append((a, a))
        for b in range(a):
            value = float(np.nan_to_num(strengths[a, b]))
            level = min(_LEVELS, math.ceil(abs(value) * _LEVELS - 1e-9)) if abs(value) >= 0.05 else 0
            key = ("empty", 0) if not level else ("above" if value > 0 else "below", level)
            cells.setdefault(key, []).append((a, b))
    return cells


def _short(name: str) -> str:
    return name if len(name) <= 18 else f"{name[:17]}…"
