"""Columns that determine each other, and groups of which one is set: those declared and not so, and those nobody declared. NOT private.

Dependences are found by refutation: a pair is dropped at the first row that speaks against it. Nearly all pairs fall in the first few
rows, so the cost is that of one reading.
"""

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.dry_run.finding import Finding, found
from sfumato.mechanisms.table.columns.features import candidate_groups
from sfumato.public.schema.column import Column
from sfumato.public.schema.one_of import OneOf
from sfumato.public.schema.schema import Schema

_NEARLY_ALL = 0.999


class Groups:
    """For every group, declared or likely by its names, how many rows have none, one, or several of it set."""

    def __init__(self, schema: Schema) -> None:
        self._declared = schema.groups
        likely = candidate_groups(schema.features, declared=schema.groups)
        self._likely = tuple(OneOf(members) for members in likely)
        self._counts = {group: np.zeros(3, dtype=np.int64) for group in (*self._declared, *self._likely)}

    def add(self, batch: Mapping[str, NDArray[np.generic]]) -> None:
        """Count one chunk of encoded rows."""
        for group, counts in self._counts.items():
            n_set = np.sum([batch[name].astype(np.float64) == 1 for name in group.members], axis=0)
            counts += np.bincount(np.minimum(n_set, 2), minlength=3)

    def findings(self, rows: int) -> list[Finding]:
        """Declared groups that rows break, and likely ones that all rows obey."""
        out: list[Finding] = []
        for group in self._declared:
            none, _, several = map(int, self._counts[group])
            key = "at_most_one_of" if group.or_none else "one_of"
            remedy = "Correct the file, or take the group out of the schema."
            what = f"{key} {_names(group)}: rows with several set, of which the first is kept"
            out += found(None, what, rows=several, of=rows, remedy=remedy)
            what = f"{key} {_names(group)}: rows with none set, in which the first becomes so"
            broken = 0 if group.or_none else none
            out += found(None, what, rows=broken, of=rows, remedy="Declare at_most_one_of instead.")
        for group in self._likely:
            none, one, _ = map(int, self._counts[group])
            exactly = one >= _NEARLY_ALL * rows
            if rows and one and none + one >= _NEARLY_ALL * rows:
                what = f"{_names(group)}: {'exactly' if exactly else 'at most'} one is set in nearly every row"
                key, obey = ("one_of", one) if exactly else ("at_most_one_of", none + one)
                remedy = f"If that is a public rule, declare it: {key} = [...] under [dataset]."
                facts: dict[str, Any] = {"rows": obey, "share": obey / rows, "remedy": remedy}
                out.append(Finding(column=None, what=what, is_fault=False, **facts))
        return out


def _names(group: OneOf) -> str:
    return f"{group.members[0]}, ..., {group.members[-1]} ({len(group.members)} columns)"


#: Columns of more values, and tables of more columns, are not looked at.
_MOST_VALUES, _MOST_COLUMNS = 2_000, 200
#: Rows that refute most pairs.
_FIRST = 1_000
#: So many rows for each value of the one, and so many rows besides the usual value of the other, or it may be chance.
_ROWS_EACH, _UNUSUAL = 20, 20


def code_count(column: Column) -> int | None:
    """How many codes a column has, the missing one with them; None for what is not coded.

    >>> code_count(Column(name="age", kind="integer", bounds=(0, 110)))
    112
    """
    if column.discover or column.kind == "image":
        return None
    if column.is_coded:
        return column.size + 1
    if column.kind != "integer":
        return None
    n_codes = math.floor(column.high) - math.ceil(column.low) + 2
    return n_codes if n_codes <= _MOST_VALUES else None


def codes_of(column: Column, values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Encoded values as codes from 0; a missing number has the last."""
    if column.is_coded:
        return values.astype(np.int64)
    numbers = values.astype(np.float64)
    last = math.floor(column.high) - math.ceil(column.low) + 1
    return np.where(np.isnan(numbers), last, np.nan_to_num(numbers) - math.ceil(column.low)).astype(np.int64)


class Dependences:
    """Which coded columns are a function of another one, as far as the rows go."""

    def __init__(self, columns: Sequence[Column], *, target: str | None = None) -> None:
        self._target = target
        sizes = {c.name: size for c in columns if (size := code_count(c)) is not None and size <= _MOST_VALUES}
        self._columns = {c.name: c for c in columns if c.name in sizes}
        self._counts = {name: np.zeros(size, dtype=np.int64) for name, size in sizes.items()}
        self._images: dict[tuple[str, str], NDArray[np.int64] | None] = {}
        if len(sizes) <= _MOST_COLUMNS:
            self._images = dict.fromkeys(itertools.permutations(sizes, 2))

    def add(self, batch: Mapping[str, NDArray[np.generic]]) -> None:
        """Drop the pairs that these rows refute."""
        codes = {name: codes_of(column, batch[name]) for name, column in self._columns.items()}
        for name, count in self._counts.items():
            count += np.bincount(codes[name], minlength=len(count))
        for rows in (slice(None, _FIRST), slice(_FIRST, None)):
            part = {name: values[rows] for name, values in codes.items()}
            kept = {pair: self._extended(pair, part) for pair in self._images}
            self._images = {pair: image for pair, image in kept.items() if image is not None}

    def _extended(self, pair: tuple[str, str], codes: Mapping[str, NDArray[np.int64]]) -> NDArray[np.int64] | None:
        """For each value of the first column the one value of the second; None where there are two."""
        at, to = codes[pair[0]], codes[pair[1]]
        known = self._images[pair]
        image = np.full(len(self._counts[pair[0]]), -1) if known is None else known
        wider = image.copy()
        wider[at] = to
        wider = np.where(image >= 0, image, wider)
        return wider if np.array_equal(wider[at], to) else None

    def findings(self) -> list[Finding]:
        """Each determined column once, by the column of fewest values that determines it."""
        n_rows = int(next(iter(self._counts.values()), np.zeros(1)).sum())
        values = {name: int(np.count_nonzero(count)) for name, count in self._counts.items()}
        unusual = {name: n_rows - int(count.max()) for name, count in self._counts.items()}
        real = [
            (a, b) for a, b in self._images
            if values[a] > 1 and n_rows >= _ROWS_EACH * values[a] and min(unusual[a], unusual[b]) >= _UNUSUAL
        ]  # fmt: skip
        out, told = [], set()
        for name in self._columns:
            by = sorted((a for a, b in real if b == name and frozenset((a, b)) not in told), key=values.__getitem__)
            if not by:
                continue
            told.add(frozenset((name, by[0])))
            if by[0] in self._columns[name].depends_on or name in self._columns[by[0]].depends_on:
                continue
            what = f"says the same as {by[0]!r}" if (name, by[0]) in real else f"follows from {by[0]!r}"
            rule = f"If that is a public rule, declare it: depends_on = [{json.dumps(by[0], ensure_ascii=False)}]; or leave it out."
            if name == self._target:
                rule = "The target is told by it: is it known at the time when a model shall predict?"
            facts: dict[str, Any] = {"what": f"{what}, in every row", "rows": n_rows, "share": 1.0, "remedy": rule}
            out.append(Finding(column=name, is_fault=False, **facts))
        return out


class Declared:
    """A dependence that the schema declares: how many rows break it."""

    def __init__(self, column: Column) -> None:
        self._column = column
        self._names = [*column.depends_on, column.name]
        self._counts: pd.Series[int] | None = None

    def add(self, batch: Mapping[str, NDArray[np.generic]]) -> None:
        """Count one chunk of encoded rows by what they hold there."""
        rows = pd.DataFrame({str(at): batch[name].astype(np.float64) for at, name in enumerate(self._names)})
        counts = rows.groupby(list(rows.columns), dropna=False).size()
        self._counts = counts if self._counts is None else self._counts.add(counts, fill_value=0).astype(int)

    def findings(self, rows: int) -> list[Finding]:
        """Rows that have not the value that most rows of equal reasons have."""
        if self._counts is None:
            return []
        by_reason = self._counts.groupby(level=list(range(len(self._names) - 1)), dropna=False)
        broken = int(self._counts.sum() - by_reason.max().sum())
        what = f"not as in other rows of the same {', '.join(map(repr, self._column.depends_on))}"
        return found(self._column.name, what, rows=broken, of=rows, remedy="Correct the file, or remove depends_on.")
