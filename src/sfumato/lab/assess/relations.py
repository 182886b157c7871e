"""How near persons with events are to others: columns, numbers of events, pairs across tables, what follows what, and gaps.

Everything is told by total variation: half the distance of two distributions, 0 where they are the same and 1 where they have
nothing in common. Numbers are put into cells that hold equally many real values. This reads rows WITHOUT privacy.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.present.marginals import is_number, numbers_of

#: Cells of a number, and of a gap. More events than `_MOST` are one group, and groups are so wide.
_CELLS, _GAP_CELLS, _MOST, _WIDTH = 10, 20, 60, 3

#: What is compared: the sort of figure, and the columns that it is of. `parent` and `child` (a column of persons, of events), `number`
#: (of events), `group` (that number beside a column of persons), `pair` (a column of each), `consecutive` (a column of an event and of the
#: next, with their kinds), `kinds` (of both) and `gap` (the time between).
Figure = tuple[str, ...]


@dataclass(frozen=True)
class Related:
    """Persons and the events of one table, person after person and of each in their order."""

    persons: pd.DataFrame = field(repr=False)
    events: pd.DataFrame = field(repr=False)
    whose: NDArray[np.int64] = field(repr=False)  # of each event the place of its person
    above: NDArray[np.int64] = field(repr=False)  # events that are alike in this follow each other
    order: str | None = None
    kind: str | None = None


def tvd(a: "pd.Series[Any]", b: "pd.Series[Any]") -> float:
    """Half the distance of two distributions of anything.

    >>> tvd(pd.Series([1, 1, 2, 2]), pd.Series([1, 2, 2, 3])), tvd(pd.Series([1]), pd.Series([], dtype=int))
    (0.25, 1.0)
    """
    if not len(a) or not len(b):
        return float(len(a) != len(b))
    x, y = a.value_counts(normalize=True), b.value_counts(normalize=True)
    return float(0.5 * x.sub(y, fill_value=0.0).abs().sum())


def differences(real: Related, *others: Related) -> list[dict[Figure, float]]:
    """For each of the others how far it is from the real ones."""
    cells = _Cells(real)
    truth = _described(real, cells)
    return [{name: tvd(truth[name], values) for name, values in _described(each, cells).items()} for each in others]


class _Cells:
    """Values as codes: numbers by the quantiles of real ones."""

    def __init__(self, real: Related) -> None:
        frames = {"persons": real.persons, "events": real.events}
        self._edges = {
            (table, str(name)): _quantiles(numbers_of(frame[name]), _CELLS)
            for table, frame in frames.items()
            for name in frame.columns
            if is_number(frame[name])
        }
        self._gaps = _quantiles(_gaps(real), _GAP_CELLS)

    def coded(self, table: str, values: "pd.Series[Any]") -> "pd.Series[Any]":
        """The code of every value, as a text."""
        edges = self._edges.get((table, str(values.name)))
        if edges is None:
            return values.astype(str).str.lower()
        numbers = numbers_of(values)
        codes = np.searchsorted(edges, numbers, side="right").astype(object)
        codes[np.isnan(numbers)] = "missing"
        return pd.Series(codes, index=values.index).astype(str)

    def gaps(self, values: NDArray[np.float64]) -> "pd.Series[Any]":
        """The cell of every gap."""
        return pd.Series(np.searchsorted(self._gaps, values, side="right"))


def _quantiles(values: NDArray[np.float64], parts: int) -> NDArray[np.float64]:
    """Where cells end. A few values are cells of their own, lest steps that are all alike have one cell with all longer ones."""
    known = values[~np.isnan(values)]
    distinct = np.unique(known)
    if len(distinct) <= parts:
        return np.append(distinct, np.nextafter(distinct[-1:], np.inf))
    return np.unique(np.quantile(known, np.arange(1, parts) / parts))


def _gaps(of: Related) -> NDArray[np.float64]:
    if of.order is None:
        return np.zeros(0)
    gaps = np.diff(numbers_of(of.events[of.order]))[_follows(of)]
    return gaps[~np.isnan(gaps)]


def _follows(of: Related) -> NDArray[np.bool_]:
    """Of all events but the first, whether each follows the one before it."""
    return np.asarray(of.above[1:] == of.above[:-1])


def _described(of: Related, cells: _Cells) -> dict[Figure, "pd.Series[Any]"]:
    """Everything whose distribution is compared."""
    number = np.bincount(of.whose, minlength=len(of.persons))
    groups = pd.Series(np.minimum(number, _MOST) // _WIDTH).astype(str)
    out: dict[Figure, pd.Series[Any]] = {("number",): pd.Series(number)}
    coded = {name: cells.coded("events", of.events[name]).reset_index(drop=True) for name in of.events.columns}
    for name in of.persons.columns:
        own = cells.coded("persons", of.persons[name]).reset_index(drop=True)
        out["parent", name] = own
        out["group", name] = own + "/" + groups
        of_events = own.iloc[of.whose].reset_index(drop=True)
        for event, values in coded.items():
            out["pair", name, event] = of_events + "/" + values
    for event, values in coded.items():
        out["child", event] = values
    follows = _follows(of)
    if of.kind is not None:
        out["kinds",] = _steps(coded[of.kind], follows)
    for event, values in coded.items():
        if event not in (of.order, of.kind):
            sort = values if of.kind is None else coded[of.kind] + ":" + values
            out["consecutive", event] = _steps(sort, follows)
    if of.order is not None:
        out["gap",] = cells.gaps(_gaps(of))
    return out


def _steps(values: "pd.Series[Any]", follows: NDArray[np.bool_]) -> "pd.Series[Any]":
    """From one to the next, where it follows."""
    before, after = values.iloc[:-1].reset_index(drop=True), values.iloc[1:].reset_index(drop=True)
    return (before + ">" + after)[follows]
