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
_ROUNDS = 48
#: Exchanges end when all units together mend less than a fiftieth of what is broken.
_HARDLY = 0.98
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
            counts = n_broken(task, own)
            if counts.any():
                own = {name: values.copy() for name, values in own.items()}
                self._mend(task, own, counts, self._classes(task, rows), rng)
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
        counts: NDArray[np.int64],
        classes: NDArray[np.int64] | None,
        rng: np.random.Generator,
    ) -> None:
        """Mend rows in place; `counts` are the conditions that each row breaks."""
        units = self._units(task)
        for turn in range(_ROUNDS):
            if turn % len(units) == 0:
                before = counts.sum()
            unit, is_early = units[turn % len(units)], turn < _ROUNDS // 2
            if self.schema.target not in unit or len(units) == 1 or not is_early:
                _exchange(task.touching(unit), rows, counts, unit, classes if is_early else None, rng)
            if not counts.any():
                return
            if turn % len(units) == len(units) - 1 and not is_early and counts.sum() > _HARDLY * before:
                break
        broken = np.flatnonzero(counts)
        lend(task, rows, broken, np.flatnonzero(counts == 0), rng)


def n_broken(task: Task, rows: Mapping[str, NDArray[Any]]) -> NDArray[np.int64]:
    """How many of the conditions each row breaks."""
    n_rows, whole = len(next(iter(rows.values()))), dict(rows)
    for i in task.computed:
        one = task.ruled.computed[i]
        whole[one.column.name] = one.values(whole, n_rows)
    found = np.zeros(n_rows, dtype=np.int64)
    for condition in task.conditions:
        found += condition.is_broken(whole, n_rows)
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
    counts: NDArray[np.int64],
    unit: tuple[str, ...],
    classes: NDArray[np.int64] | None,
    rng: np.random.Generator,
) -> None:
    """Exchange a unit between broken rows and others, where that breaks fewer conditions and no row comes off worse."""
    mine, theirs = _pairs(counts, classes, rng)
    both, swapped = np.concatenate([mine, theirs]), np.concatenate([theirs, mine])
    if not len(both):
        return
    before = n_broken(task, {name: values[both] for name, values in rows.items()})
    after = n_broken(task, {name: values[swapped if name in unit else both] for name, values in rows.items()})
    fewer = (after <= before).reshape(2, -1).all(axis=0) & (after < before).reshape(2, -1).any(axis=0)
    helps = np.concatenate([fewer, fewer])
    for name in unit:
        rows[name][both[helps]] = rows[name][swapped[helps]]
    counts[both[helps]] += (after - before)[helps]


def _pairs(
    counts: NDArray[np.int64], classes: NDArray[np.int64] | None, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Broken rows and some others in pairs, at random; where there are classes, both of one class."""
    broken, is_other = np.flatnonzero(counts), np.zeros(len(counts), dtype=bool)
    is_other[rng.integers(0, len(counts), min(len(counts), 2 * len(broken) + 64))] = True
    is_other[broken] = False
    pool = rng.permutation(np.concatenate([broken, np.flatnonzero(is_other)]))
    if classes is not None:
        pool = pool[np.argsort(classes[pool], kind="stable")]
    mine, theirs = pool[: len(pool) // 2 * 2].reshape(-1, 2).T
    alike = (counts[mine] > 0) | (counts[theirs] > 0)
    alike &= True if classes is None else classes[mine] == classes[theirs]
    return mine[alike], theirs[alike]


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
