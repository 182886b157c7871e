"""Columns that are a function of others, declared as a public fact: in released rows, equal reasons have equal consequences."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.column import Column
from sfumato.public.spelling import did_you_mean

_MOST_GIVEN = 1 << 16  # lines of a declared function: a schema is read by people


@dataclass(frozen=True)
class Following:
    """A column and those that it is a function of: every combination of their values has a place, and so has its own value."""

    column: Column
    reasons: tuple[Column, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Combinations of the reasons, and values of the column."""
        return math.prod(map(places_of, self.reasons)), places_of(self.column)

    @property
    def is_given(self) -> bool:
        """Whether the schema says what follows."""
        return bool(self.column.depends_on_map)

    def reason_of(self, batch: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """The combination that each row has."""
        at = np.zeros(len(batch[self.reasons[0].name]), dtype=np.int64)
        for reason in self.reasons:
            at = at * places_of(reason) + _place(batch[reason.name], reason)
        return at

    def value_of(self, batch: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
        """The place of each row's own value."""
        return _place(batch[self.column.name], self.column)

    def values(self, places: NDArray[np.int64]) -> NDArray[Any]:
        """Values of the column at some places, as encoded rows hold them."""
        return _values(places, self.column)

    def given(self) -> NDArray[np.int64]:
        """What follows from every combination, by the schema: -1 where it does not say."""
        table = np.full(self.shape[0], -1, dtype=np.int64)
        for *reasons, value in self.column.depends_on_map:
            at = 0
            for reason, text in zip(self.reasons, reasons, strict=True):
                at = at * places_of(reason) + _named(text, reason)
            table[at] = _named(value, self.column)
        return table


@dataclass(frozen=True)
class Known:
    """What follows from each combination of reasons, and about how many rows have that combination, where that was counted.

    In about the part `obeys` of the rows it is what follows in the private ones, by the noise in the counts; which is said
    where it is `unsure`.
    """

    follows: NDArray[np.int64] = field(repr=False)
    rows: NDArray[np.float64] | None = field(default=None, repr=False)
    obeys: float = 1.0
    unsure: bool = False

    def without_rows(self) -> "Known":
        """For some of the rows, in which reasons may be as frequent as they are."""
        return replace(self, rows=None)


def followings(columns: Sequence[Column]) -> list[Following]:
    """The columns that depend on others, each after those that it depends on."""
    by_name = {column.name: column for column in columns}
    return [Following(c, tuple(by_name[name] for name in c.depends_on)) for c in _reasons_first(columns)]


def places_of(column: Column) -> int:
    """How many values a column can have, a missing one among them."""
    if column.is_coded:
        return column.size
    return math.floor(column.high) - math.ceil(column.low) + 1 + int(column.missing)


def values_of(column: Column) -> NDArray[Any]:
    """Every value of a column, by its place, as encoded rows hold them."""
    return _values(np.arange(places_of(column)), column)


def _place(values: NDArray[Any], column: Column) -> NDArray[np.int64]:
    if column.is_coded:
        return values.astype(np.int64)
    whole = np.rint(values.astype(np.float64)) - math.ceil(column.low)
    last = places_of(column) - 1
    inside = np.clip(np.nan_to_num(whole), 0, last - int(column.missing))
    return np.where(np.isnan(whole) & column.missing, last, inside).astype(np.int64)


def _values(places: NDArray[np.int64], column: Column) -> NDArray[Any]:
    if column.is_coded:
        return places
    numbers = math.ceil(column.low) + places.astype(np.float64)
    return np.where(column.missing & (places == places_of(column) - 1), np.nan, numbers)


def _named(text: str, column: Column) -> int:
    """The place of a value that is written as a text; the empty one is what is missing. -1 for what the column cannot hold."""
    if not text:
        return places_of(column) - 1 if column.missing else -1
    if column.is_coded:
        return column.categories.index(text) if text in column.categories else -1
    try:
        place = int(text) - math.ceil(column.low)
    except ValueError:
        return -1
    return place if 0 <= place < places_of(column) - int(column.missing) else -1


def followed(
    batch: Mapping[str, NDArray[Any]],
    columns: Sequence[Column],
    measured: Mapping[str, Known] | None = None,
    *,
    target: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Synthetic rows in which those that agree in all columns that one depends on agree in that one as well.

    What follows is what the schema says, or what was `measured` (the place of a value for every combination). A row in which
    something else follows gets the reasons of another row, one in which they lead to what it has: so both sides keep
    their shares. Where it was counted how many rows have each combination, so do other rows of combinations that were drawn
    too often. Elsewhere a row gets the value that most of the rows had, worked out from the synthetic rows alone.

    >>> level = Column(name="level", kind="categorical", categories=("low", "high"))
    >>> years = Column(name="years", kind="integer", bounds=(0, 20), depends_on=("level",))
    >>> rows = {"level": np.array([0, 0, 0, 1]), "years": np.array([8.0, 8.0, 9.0, 9.0])}
    >>> followed(rows, [level, years])["years"].tolist()
    [8.0, 8.0, 8.0, 9.0]
    >>> followed(rows, [level, years], {"years": Known(np.array([8, 9]))})
    {'level': array([0, 0, 1, 1]), 'years': array([8., 8., 9., 9.])}
    """
    rows, every = dict(batch), followings(columns)
    known = dict(measured or {})
    for one in every:
        if one.is_given:
            counted = known.get(one.column.name)
            known[one.column.name] = Known(one.given(), None if counted is None else counted.rows)
    for one in reversed(every):
        if one.column.name in known and all(reason.name != target for reason in one.reasons):
            rows |= _other_reasons(rows, one, known[one.column.name])
    by_name = {column.name: column for column in columns}
    for one in every:
        column = one.column
        if column.name in known:
            rows[column.name] = one.values(known[column.name].follows[one.reason_of(rows)])
            continue
        reason = np.zeros(len(rows[column.name]), dtype=np.int64)
        for name in column.depends_on:
            values, code = _coded(rows[name], by_name[name])
            _, reason = np.unique(reason * len(values) + code, return_inverse=True)
        values, code = _coded(rows[column.name], column)
        pairs, counts = np.unique(reason * len(values) + code, return_counts=True)
        # By reason, then by count: the last of each reason is the most frequent, of equals the lowest.
        order = np.lexsort((-pairs, counts))
        usual = np.zeros(len(reason), dtype=np.int64)
        usual[pairs[order] // len(values)] = pairs[order] % len(values)
        rows[column.name] = values[usual[reason]]
    return rows


def _other_reasons(rows: Mapping[str, NDArray[Any]], one: Following, known: Known) -> dict[str, NDArray[Any]]:
    """The reasons, other ones in rows where they lead to another value than the row has, or that have one of too many.

    Among the reasons that lead to a value, those are taken that rows with it lack, compared with how frequent they are in all
    rows. Along a line each row gets the nearest that leaves the others theirs.
    """
    reason, own = one.reason_of(rows), one.value_of(rows)
    n_reasons, n_values = one.shape
    leads_to = known.follows[reason]
    in_all = np.bincount(reason, minlength=n_reasons) if known.rows is None else known.rows
    of_values = np.bincount(known.follows, weights=in_all, minlength=n_values)
    ratio = np.bincount(own, minlength=n_values) / np.where(of_values > 0, of_values, np.inf)
    wanted, is_right = in_all * ratio[known.follows], leads_to == own
    lacking = np.maximum(wanted - np.bincount(reason[is_right], minlength=n_reasons), 0.0)
    of_value = np.bincount(known.follows, weights=lacking, minlength=n_values)
    mixed = np.random.default_rng(0).permutation(len(reason))
    is_moved = ~is_right & (of_value[own] > 0)
    if known.rows is not None:
        is_moved |= _too_many(reason, is_right, np.ceil(wanted), mixed) & (of_value[own] > 0)
    moved = mixed[is_moved[mixed]]
    is_line = len(one.reasons) == 1 and (one.reasons[0].is_number or one.reasons[0].kind == "ordinal")
    moved = moved[np.lexsort((reason[moved] if is_line else np.zeros(len(moved)), own[moved]))]
    # As evenly as whole rows allow (systematic sampling): reasons by value on one line, each as long as it is lacking.
    by_value = np.argsort(known.follows, kind="stable")
    counts, value = np.bincount(own[moved], minlength=n_values), own[moved]
    rank = np.arange(len(moved)) - (np.cumsum(counts) - counts)[value]
    place = (np.cumsum(of_value) - of_value)[value] + (rank + 0.5) / counts[value] * of_value[value]
    taken = by_value[np.minimum(np.searchsorted(np.cumsum(lacking[by_value]), place), n_reasons - 1)]
    changed = {}
    for column, at in zip(one.reasons, np.unravel_index(taken, tuple(map(places_of, one.reasons))), strict=True):
        changed[column.name] = rows[column.name].copy()
        changed[column.name][moved] = _values(at, column)
    return changed


def _too_many(
    reason: NDArray[np.int64], is_right: NDArray[np.bool_], most: NDArray[np.float64], mixed: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Of the rows of each combination that are right, those beyond the most that it may have, any of them."""
    right = mixed[is_right[mixed]]
    right = right[np.argsort(reason[right], kind="stable")]
    counts = np.bincount(reason[right], minlength=len(most))
    rank = np.arange(len(right)) - (np.cumsum(counts) - counts)[reason[right]]
    out = np.zeros(len(reason), dtype=np.bool_)
    out[right[rank >= most[reason[right]]]] = True
    return out


def _coded(values: NDArray[Any], column: Column) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The values that occur, a missing number among them, and for each row the place of its own."""
    distinct, code = np.unique(np.rint(values) if column.is_number else values, return_inverse=True)
    return distinct, code.ravel().astype(np.int64)


def _reasons_first(columns: Sequence[Column]) -> Iterator[Column]:
    """The columns that depend on others, each after those that it depends on."""
    waiting = {column.name: column for column in columns if column.depends_on}
    while waiting:
        ready = [c for c in waiting.values() if not any(name in waiting for name in c.depends_on)]
        yield from ready
        if not ready:  # a circle: `dependence_faults` has refused it
            return
        waiting = {name: column for name, column in waiting.items() if column not in ready}


def dependence_faults(
    columns: Sequence[Column], *, target: str | None, grouped: Sequence[str], unread: Sequence[str] = ()
) -> Iterator[tuple[str, str]]:
    """What is wrong with declared dependences, by the column that declares them; `unread` columns are not judged."""
    by_name = {column.name: column for column in columns}
    for column in columns:
        name = column.name
        if column.depends_on and (name == target or name in grouped or not _is_discrete(column)):
            kinds = "categorical, ordinal, boolean and integer columns that are neither the target nor in a group"
            yield name, f"column {name!r} cannot have depends_on: that is for {kinds}. Remove it."
        for reason in column.depends_on:
            if reason in unread:
                continue
            depends = f"column {name!r} depends on {reason!r}, which is"
            if reason not in by_name or reason == name:
                others = [other for other in (*by_name, *unread) if other != name]
                near = did_you_mean(reason, others) or " Name other columns of the schema."
                yield name, f"{depends} not another column of the schema.{near}"
            elif not _is_discrete(by_name[reason]):
                kinds = "categorical, ordinal, boolean and integer columns"
                yield name, f"{depends} {by_name[reason].kind}: depends_on takes {kinds}. Remove it."
    placed = {column.name for column in _reasons_first(columns)}
    for column in columns:
        if column.depends_on and column.name not in placed:
            yield column.name, f"column {column.name!r} depends on itself by way of others. Break the circle."
        involved = [by_name[name] for name in (*column.depends_on, column.name) if name in by_name]
        if column.depends_on_map and (not column.depends_on or any(one.discover for one in involved)):
            needs = "depends_on, and columns whose values are declared"
            yield column.name, f"column {column.name!r}: depends_on_map needs {needs}. Declare them, or remove it."
        elif column.depends_on_map and len(involved) > len(column.depends_on) and all(map(_is_discrete, involved)):
            faults = _map_faults(Following(column, tuple(involved[:-1])))
            yield from ((column.name, f"column {column.name!r}: {fault}") for fault in faults)


def _map_faults(one: Following) -> Iterator[str]:
    """What is wrong with a declared function: it must say what follows from every combination, once."""
    entries, n_reasons = one.column.depends_on_map, len(one.reasons)
    if one.shape[0] > _MOST_GIVEN:
        yield f"depends_on_map would need {one.shape[0]:,} entries, more than {_MOST_GIVEN:,}. Remove it."
        return
    for entry in entries:
        cells = zip(entry, (*one.reasons, one.column), strict=False)
        strange = [(text, column.name) for text, column in cells if _named(text, column) < 0]
        if len(entry) != n_reasons + 1:
            yield f"an entry of depends_on_map must have {n_reasons} reasons and what follows. Correct {list(entry)!r}."
            return
        if strange:
            yield f"depends_on_map names {strange[0][0]!r}, which {strange[0][1]!r} cannot hold. Correct {list(entry)!r}."
            return
    if len({entry[:-1] for entry in entries}) < len(entries):
        yield "depends_on_map names some reasons twice. Keep one line of each."
    lacking = int((one.given() < 0).sum())
    if lacking:
        empty = " An empty text stands for a missing one." if any(column.missing for column in one.reasons) else ""
        yield (
            f"depends_on_map lacks {lacking:,} of {one.shape[0]:,} combinations of {', '.join(one.column.depends_on)}. "
            f"Give a line for each.{empty}"
        )


def _is_discrete(column: Column) -> bool:
    return column.is_coded or column.kind == "integer"
