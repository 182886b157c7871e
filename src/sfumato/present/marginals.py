"""One column at a time: histograms of numbers and shares of categories, ready to be drawn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

_BINS = 32
_MOST_LABELS = 12
#: Beyond this many times the range of nearly all values, the few that lie far out are not drawn.
_FAR_OUT = 3.0


@dataclass(frozen=True)
class Marginal:
    """The distribution of one column, for one or several sets of rows. Heights of a set add up to at most 1.

    Numbers have `edges` (of dates: days since 1970), everything else has `labels`, of which the last `n_rest` categories
    are one. `missing` and `beyond` are the shares of each set that have no value, and one outside of the edges. `numbers` are
    those that are there, from the smallest on.
    """

    name: str
    heights: dict[str, NDArray[np.float64]]
    edges: NDArray[np.float64] | None = None
    labels: tuple[str, ...] = ()
    n_rest: int = 0
    is_date: bool = False
    missing: dict[str, float] = field(default_factory=dict)
    beyond: dict[str, float] = field(default_factory=dict)
    numbers: dict[str, NDArray[np.float64]] = field(default_factory=dict, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """What every height is of: a label, or how many categories are one."""
        return (*self.labels, f"{self.n_rest:,} more") if self.n_rest else self.labels


def marginal(
    name: str, columns: Mapping[str, "pd.Series[Any]"], *, bounds: tuple[float, float] | None = None
) -> Marginal:
    """Count a column of one or several sets of rows, all on the same cells.

    Numbers are drawn within the bounds; by default those of the values, without a few that lie far out.
    """
    first = next(iter(columns.values()))
    if is_number(first):
        is_whole = all(pd.api.types.is_integer_dtype(values) for values in columns.values())
        sets = {key: _in_order(numbers_of(values)) for key, values in columns.items()}
        # Runs that are in order are merged, not sorted again.
        low, high = bounds or _range(np.sort(np.concatenate(list(sets.values())), kind="stable"))
        edges = _whole_edges(low, high) if is_whole else np.linspace(low, high, _BINS + 1)
        totals = {key: max(1, len(values)) for key, values in columns.items()}
        is_date = pd.api.types.is_datetime64_any_dtype(first)
        return _of_numbers(name, sets, totals, edges, is_date=is_date, clips=bool(bounds))
    return _of_texts(name, {key: _texts(values) for key, values in columns.items()})


def is_number(values: "pd.Series[Any]") -> bool:
    """Whether a column is drawn along an axis: numbers and dates are, categories and truth values are not."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def numbers_of(values: "pd.Series[Any]") -> NDArray[np.float64]:
    """Numbers as they are, dates as days since 1970, and NaN for what is missing."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return np.asarray((values - pd.Timestamp(0)) / pd.Timedelta(days=1), dtype=np.float64)
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def _in_order(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The finite ones, sorted: once, and every figure of a million rows is a short search."""
    return np.sort(values[np.isfinite(values)])


def _of_numbers(
    name: str,
    sets: dict[str, NDArray[np.float64]],
    totals: Mapping[str, int],
    edges: NDArray[np.float64],
    *,
    is_date: bool,
    clips: bool,
) -> Marginal:
    # Missing values count in the total, so that a column with many of them looks as thin as it is.
    heights, missing, beyond = {}, {}, {}
    for key, there in sets.items():
        drawn = np.clip(there, edges[0], edges[-1]) if clips else there
        upto = np.append(np.searchsorted(drawn, edges[:-1]), np.searchsorted(drawn, edges[-1], side="right"))
        heights[key] = np.diff(upto) / totals[key]
        missing[key] = (totals[key] - len(there)) / totals[key]
        beyond[key] = float(len(drawn) - (upto[-1] - upto[0])) / totals[key]
    return Marginal(name, heights, edges=edges, is_date=is_date, missing=missing, beyond=beyond, numbers=sets)


def _of_texts(name: str, sets: Mapping[str, "pd.Series[Any]"]) -> Marginal:
    """Ordered categories in their order, others by frequency; those beyond the first are summed, and missing ones last."""
    known = _known_labels(sets)
    shares = {key: _shares(values) for key, values in sets.items()}
    of_all = np.sum([[share.get(label, 0.0) for label in known] for share in shares.values()], axis=0)
    is_ordered = any(isinstance(v.dtype, pd.CategoricalDtype) and v.dtype.ordered for v in sets.values())
    labels = list(known)
    if not (is_ordered and len(known) <= _MOST_LABELS):
        labels = [known[at] for at in np.argsort(-of_all, kind="stable")]
    kept = labels if len(labels) <= _MOST_LABELS else labels[: _MOST_LABELS - 2]
    n_rest = len(labels) - len(kept)
    missing = {key: float(values.isna().sum()) / max(1, len(values)) for key, values in sets.items()}
    heights = {}
    for key, share in shares.items():
        of_kept = [share.get(label, 0.0) for label in kept]
        rest = [max(0.0, sum(share.values()) - sum(of_kept))] if n_rest else []
        heights[key] = np.array([*of_kept, *rest])
    return Marginal(name, heights, labels=tuple(kept), n_rest=n_rest, missing=missing)


def _shares(values: "pd.Series[Any]") -> dict[str, float]:
    counted = values.value_counts()
    shares = (counted.to_numpy(np.float64) / max(1, len(values))).tolist()
    return dict(zip(map(str, counted.index.tolist()), shares, strict=True))


def _known_labels(sets: Mapping[str, "pd.Series[Any]"]) -> list[str]:
    labels: dict[str, None] = {}
    # Columns that know the order of their categories are asked first.
    for values in sorted(sets.values(), key=lambda values: not isinstance(values.dtype, pd.CategoricalDtype)):
        is_coded = isinstance(values.dtype, pd.CategoricalDtype)
        known = values.cat.categories.tolist() if is_coded else sorted(values.dropna().unique(), key=str)
        labels |= dict.fromkeys(map(str, known))
    return list(labels)


def _texts(values: "pd.Series[Any]") -> "pd.Series[Any]":
    if pd.api.types.is_bool_dtype(values):
        both = pd.CategoricalDtype(["no", "yes"], ordered=True)
        return values.map({True: "yes", False: "no"}, na_action="ignore").astype(both)
    return values


def nearest_values(in_order: NDArray[np.float64], quantiles: Sequence[float]) -> list[float]:
    """Quantiles of sorted numbers, at least one: values that occur, not points between them: the same on every machine."""
    return [float(in_order[round(quantile * (len(in_order) - 1))]) for quantile in quantiles]


def _range(in_order: NDArray[np.float64]) -> tuple[float, float]:
    if not len(in_order):
        return 0.0, 1.0
    low, near_low, near_high, high = nearest_values(in_order, (0, 0.005, 0.995, 1))
    if high - low > _FAR_OUT * (near_high - near_low) > 0:
        low, high = near_low, near_high
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _whole_edges(low: float, high: float) -> NDArray[np.float64]:
    """Cells that hold equally many whole numbers each: otherwise a flat column would look like a comb."""
    width = int(np.ceil((high - low + 1) / _BINS))
    n_cells = int(np.ceil((high - low + 1) / width))
    return low - 0.5 + width * np.arange(n_cells + 1, dtype=np.float64)
