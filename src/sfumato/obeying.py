"""Where rows leave: computed columns are added, keys are made up, and the rules of the schema hold in every row.

Public post-processing of rows that a model has drawn, the same for every mechanism. A row that breaks a rule is mended by as
little as possible: it exchanges one column with a row that obeys, so that both obey afterwards and every column keeps its
values; where no exchange helps it takes the columns of the rule from the nearest of some rows that obey.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import ModelError
from sfumato.model import Synthetic
from sfumato.public.schema.possible import Task, tasks_of
from sfumato.public.schema.schema import Schema

Rows = dict[str, NDArray[Any]]
#: Rounds of exchanges; in the first half only between rows of one class, so that classes keep what tells them apart.
_ROUNDS = 24
#: Rows that obey, of which the nearest lends its columns; and made-up ones where no row obeys.
_LENDERS, _MADE_UP = 16, 64


def with_rules(piece: Synthetic, schema: Schema, *, seed: int, keys: int, first: int = 0) -> Synthetic:
    """The rows of a piece as they are released; `keys` is the seed of all pieces' keys, `first` the number of its first row."""
    if not schema.rules or piece.table is None:
        return piece
    if [str(name) for name in piece.table.columns] != [column.name for column in schema.columns]:
        raise ModelError("these are mixtures and no rows of the table, so no rules can hold in them. Remove the rules.")
    ruled, n_rows = schema.ruled, len(piece.table)
    mender = Mender(schema, tuple(tasks_of(ruled, units_of(schema))))
    columns = {column.name: column for column in schema.columns}
    rows = {name: columns[name].encode(piece.table[name]) for name in mender.names}
    changed = mender.mended(rows, np.random.default_rng([seed, 30])) if n_rows else {}
    named = {name: piece.table[name] for name in columns} | {
        name: columns[name].decode(v) for name, v in changed.items()
    }
    whole = ruled.complete(rows | changed) if ruled.computed and n_rows else rows
    made = {key.name: key.pattern.draw(n_rows, first=first, seed=keys, unique=key.unique) for key in ruled.keys}
    computed = {c.name: c.decode(whole[c.name] if n_rows else np.zeros(0)) for c in schema.computed}
    return replace(piece, table=pd.DataFrame({**made, **named, **computed}, copy=False))


def units_of(schema: Schema) -> tuple[tuple[str, ...], ...]:
    """Columns that say something only together: groups, and columns with those that they depend on."""
    tied = [group.members for group in schema.groups]
    return (*tied, *((column.name, *column.depends_on) for column in schema.columns if column.depends_on))


@dataclass(frozen=True)
class Mender:
    """Mends rows that break rules, one set of rules that hang together after the other."""

    schema: Schema
    tasks: tuple[Task, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that are looked at: those of rules and formulas, and the classes."""
        ruled, target = self.schema.ruled, self.schema.target_column
        used = {name for task in self.tasks for name in task.names}
        used |= {name for one in ruled.computed for name in ruled.bases[one.column.name]}
        used |= {target.name} if target is not None and target.is_coded else set()
        return tuple(column.name for column in self.schema.columns if column.name in used)

    def mended(self, rows: Rows, rng: np.random.Generator) -> Rows:
        """The columns that had to be changed."""
        changed: Rows = {}
        for task in self.tasks:
            own = {name: rows[name] for name in task.names}
            broken = np.flatnonzero(is_broken(task, own))
            if len(broken):
                own = {name: values.copy() for name, values in own.items()}
                self._mend(task, own, broken, self._classes(task, rows), rng)
                changed |= own
        return changed

    def _classes(self, task: Task, rows: Rows) -> NDArray[np.int64] | None:
        target = self.schema.target_column
        if target is None or not target.is_coded or target.name in task.names:
            return None
        return np.asarray(rows[target.name])

    def _units(self, task: Task) -> list[tuple[str, ...]]:
        """What is exchanged at once: a column, or those that say something only together. The target comes last."""
        tied = tasks_units(units_of(self.schema), task.names)
        touched = {name for condition in task.conditions for name in task.ruled.base_of(condition)}
        units = [unit for unit in tied if touched & set(unit)]
        return sorted(units, key=lambda unit: self.schema.target in unit)

    def _mend(
        self,
        task: Task,
        rows: Rows,
        broken: NDArray[np.int64],
        classes: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> None:
        units, n_rows = self._units(task), len(next(iter(rows.values())))
        for turn in range(_ROUNDS):
            mates = classes if turn < _ROUNDS // 2 else None
            unit = units[turn % len(units)]
            if self.schema.target in unit and len(units) > 1 and turn < _ROUNDS // 2:
                continue
            broken = _exchange(task, rows, broken, unit, mates, rng)
            if not len(broken):
                return
        fine = np.setdiff1d(np.arange(n_rows), broken, assume_unique=True)
        lend(task, rows, broken, fine, rng)


def is_broken(task: Task, rows: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
    """The rows that break one of the conditions."""
    n_rows, whole = len(next(iter(rows.values()))), dict(rows)
    for i in task.computed:
        one = task.ruled.computed[i]
        whole[one.column.name] = one.values(whole, n_rows)
    found = np.zeros(n_rows, dtype=bool)
    for condition in task.conditions:
        found |= condition.is_broken(whole, n_rows)
    return found


def tasks_units(tied: Sequence[Sequence[str]], names: Sequence[str]) -> list[tuple[str, ...]]:
    """Columns in sets, those that are tied in one."""
    sets: list[set[str]] = [{name} for name in names]
    for group in tied:
        joined = [one for one in sets if one & set(group)]
        if len(joined) > 1:
            sets = [one for one in sets if one not in joined] + [set().union(*joined)]
    return [tuple(name for name in names if name in one) for one in sets]


def _exchange(
    task: Task,
    rows: Rows,
    broken: NDArray[np.int64],
    unit: tuple[str, ...],
    classes: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Give each broken row the unit of another row that can do with its own. Returns the rows that are still broken."""
    n_rows = len(next(iter(rows.values())))
    is_fine = np.ones(n_rows, dtype=bool)
    is_fine[broken] = False
    mine, theirs = _pairs(rng.permutation(broken), rng.permutation(np.flatnonzero(is_fine)), classes)
    if not len(mine):
        return broken
    both, swapped = np.concatenate([mine, theirs]), np.concatenate([theirs, mine])
    tried = {name: values[swapped if name in unit else both] for name, values in rows.items()}
    fails = is_broken(task, tried).reshape(2, -1).any(axis=0)
    both, swapped = np.concatenate([mine[~fails], theirs[~fails]]), np.concatenate([theirs[~fails], mine[~fails]])
    for name in unit:
        rows[name][both] = rows[name][swapped]
    return np.setdiff1d(broken, mine[~fails], assume_unique=True)


def _pairs(
    mine: NDArray[np.int64], theirs: NDArray[np.int64], classes: NDArray[np.int64] | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """One partner for each, of the same class where there are classes, as far as there are enough."""
    if classes is None:
        n = min(len(mine), len(theirs))
        return mine[:n], theirs[:n]
    numbered = [_numbered(classes[side]) for side in (mine, theirs)]
    _, a, b = np.intersect1d(*numbered, assume_unique=True, return_indices=True)
    return mine[a], theirs[b]


def _numbered(classes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each row: its class, and the how many-th of it the row is."""
    order = np.argsort(classes, kind="stable")
    sizes = np.bincount(classes)
    rank = np.empty(len(classes), dtype=np.int64)
    rank[order] = np.arange(len(classes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray(classes * np.int64(1 << 40) + rank)


def lend(task: Task, rows: Rows, broken: NDArray[np.int64], fine: NDArray[np.int64], rng: np.random.Generator) -> None:
    """Give broken rows all columns of the task from rows that obey: of some of them, the nearest."""
    touched = {name for condition in task.conditions for name in task.ruled.base_of(condition)}
    lenders: Mapping[str, NDArray[Any]] = {name: values[fine] for name, values in rows.items()}
    names = task.names
    if not len(fine):
        made = [task.example(rng) for _ in range(_MADE_UP)]
        found = [row for row in made if row is not None]
        if not found:
            raise ModelError("no row was found that obeys the rules of the schema.")
        lenders = {name: np.concatenate([row[name] for row in found]) for name in names}
        names = tuple(name for name in names if name in touched)
    n_lenders = len(next(iter(lenders.values())))
    some = rng.integers(0, n_lenders, (len(broken), min(_LENDERS, n_lenders)))
    far = np.zeros(some.shape)
    for name in names:
        column = task.columns[name]
        own, other = rows[name][broken][:, None], lenders[name][some]
        if column.is_number:
            apart = np.abs(own - other) / (column.high - column.low)
            far += np.where(np.isnan(own) & np.isnan(other), 0.0, np.nan_to_num(apart, nan=1.0))
        else:
            far += own != other
    taken = some[np.arange(len(broken)), far.argmin(axis=1)]
    for name in names:
        rows[name][broken] = lenders[name][taken]
