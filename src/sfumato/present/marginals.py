"""One column at a time: histograms of numbers and shares of categories, ready to be drawn."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_BINS = 32
_MOST_LABELS = 10


@dataclass(frozen=True)
class Marginal:
    """The distribution of one column, for one or several sets of rows. Heights of a set add up to at most 1.

    Numbers have `edges` (of dates: days since 1970), everything else has `labels`.
    """

    name: str
    heights: dict[str, NDArray[np.float64]]
    edges: NDArray[np.float64] | None = None
    labels: tuple[str, ...] = ()
    is_date: bool = False


def marginal(
    name: str, columns: Mapping[str, "pd.Series[Any]"], *, bounds: tuple[float, float] | None = None
) -> Marginal:
    """Count a column of one or several sets of rows, all on the same cells.

    Args:
        name: The column.
        columns: Its values by the name of the set.
        bounds: The range to draw, for numbers; by default that of the values.

    >>> marginal("sex", {"synthetic": pd.Series(["f", "m", "f", "f"])}).heights["synthetic"]
    array([0.75, 0.25])
    """
    first = next(iter(columns.values()))
    is_date = pd.api.types.is_datetime64_any_dtype(first)
    is_whole = all(pd.api.types.is_integer_dtype(values) for values in columns.values())
    if is_date or (pd.api.types.is_numeric_dtype(first) and not pd.api.types.is_bool_dtype(first)):
        sets = {key: _numbers(values) for key, values in columns.items()}
        low, high = bounds or _range(np.concatenate(list(sets.values())))
        edges = _whole_edges(low, high) if is_whole else np.linspace(low, high, _BINS + 1)
        return _of_numbers(name, sets, edges, is_date=is_date)
    return _of_texts(name, {key: _texts(values) for key, values in columns.items()})


def _of_numbers(
    name: str, sets: Mapping[str, NDArray[np.float64]], edges: NDArray[np.float64], *, is_date: bool
) -> Marginal:
    # Missing values count in the total, so that a column with many of them looks as thin as it is.
    heights = {
        key: np.histogram(np.clip(values[np.isfinite(values)], edges[0], edges[-1]), bins=edges)[0]
        / max(1, len(values))
        for key, values in sets.items()
    }
    return Marginal(name, heights, edges=edges, is_date=is_date)


def _of_texts(name: str, sets: Mapping[str, "pd.Series[Any]"]) -> Marginal:
    labels: list[str] = []
    # Columns that know the order of their categories are asked first.
    for values in sorted(sets.values(), key=lambda values: not isinstance(values.dtype, pd.CategoricalDtype)):
        known = (
            values.cat.categories if isinstance(values.dtype, pd.CategoricalDtype) else sorted(values.dropna().unique())
        )
        labels += [str(label) for label in known if str(label) not in labels]
    shares = {key: values.astype(str).value_counts(normalize=True) for key, values in sets.items()}
    kept = tuple(labels[:_MOST_LABELS])
    heights = {key: np.array([float(share.get(label, 0.0)) for label in kept]) for key, share in shares.items()}
    return Marginal(name, heights, labels=kept)


def _numbers(values: "pd.Series[Any]") -> NDArray[np.float64]:
    if pd.api.types.is_datetime64_any_dtype(values):
        return np.asarray((values - pd.Timestamp(0)) / pd.Timedelta(days=1), dtype=np.float64)
    return np.asarray(values.astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan))


def _texts(values: "pd.Series[Any]") -> "pd.Series[Any]":
    if pd.api.types.is_bool_dtype(values):
        return values.map({True: "yes", False: "no"}).astype(pd.CategoricalDtype(["no", "yes"]))
    return values


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _whole_edges(low: float, high: float) -> NDArray[np.float64]:
    """Cells that hold equally many whole numbers each: otherwise a flat column would look like a comb."""
    width = int(np.ceil((high - low + 1) / _BINS))
    n_cells = int(np.ceil((high - low + 1) / width))
    return low - 0.5 + width * np.arange(n_cells + 1, dtype=np.float64)
