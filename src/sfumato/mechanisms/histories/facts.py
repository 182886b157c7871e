"""What is public about a table of events, and how a person's events become numbers: each person alone decides.

A sort of event has a *slot*: its own history of values. Values are spoken of by their normal ranks among all values of
their slot, so that every column is on one scale.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.histories.settings import HistorySettings
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch
from sfumato.public.schema.tables import EventTable


class Events(NamedTuple):
    """The events of some persons, one row each: which places are filled, their sorts and slots, and moments if there are any."""

    number: Integers
    filled: Flags
    kinds: Integers
    slots: Integers
    moments: Floats | None


@dataclass(frozen=True)
class EventFacts:
    """A table of events, as the method sees it."""

    table: EventTable
    settings: HistorySettings

    def __post_init__(self) -> None:
        """Work out at once what is kept: a release must hold the same whatever was asked before."""
        _ = self.numbers, self.codes, self.levels, self.clock

    @property
    def n_kinds(self) -> int:
        """Sorts of events; a missing one is a sort."""
        return 1 if self.table.kind_column is None else self.table.kind_column.size

    @property
    def n_slots(self) -> int:
        """Sorts with a history of values of their own."""
        return self.n_kinds if self.n_kinds <= self.settings.most_slots else 1

    @property
    def ends(self) -> Flags:
        """Which sorts are the last of a person."""
        column = self.table.kind_column
        names = () if column is None else column.categories
        return np.array([name in self.table.last for name in names] + [False] * (self.n_kinds - len(names)))

    @property
    def counted_slots(self) -> Integers:
        """Slots whose numbers say something: a person has one event of a sort that ends, and the last sort says whether."""
        going_on = np.flatnonzero(~self.ends) if self.n_slots > 1 else np.zeros(0, dtype=np.int64)
        return going_on if len(going_on) > 1 else going_on[:0]

    @cached_property
    def numbers(self) -> tuple[Column, ...]:
        """Columns of values that are numbers, but for the order."""
        return tuple(c for c in self.table.columns if c.is_number and c.name != self.table.order)

    @cached_property
    def codes(self) -> tuple[Column, ...]:
        """Columns of categories, but for the sort."""
        return tuple(c for c in self.table.columns if c.is_coded and c.name != self.table.kind)

    @cached_property
    def levels(self) -> tuple[Cells, ...]:
        """The cells of every column of values."""
        return tuple(
            Cells(column, bend=self.settings.level_bend, n_places=self.settings.level_places) for column in self.numbers
        )

    @cached_property
    def clock(self) -> "Clock | None":
        """How time is spoken of, where events are in order."""
        order = self.table.order_column
        return None if order is None else Clock(order, self.settings)

    def events(self, batch: Batch) -> Events:
        """The events of some persons."""
        number = batch[self.table.count].astype(np.int64)
        filled = np.arange(self.table.max_rows) < number[:, None]
        kind, order = self.table.kind, self.table.order
        kinds = np.zeros(filled.shape, dtype=np.int64) if kind is None else batch[self.table.at(kind)]
        slots = kinds if self.n_slots == self.n_kinds else np.zeros_like(kinds)
        moments = None if order is None else batch[self.table.at(order)].astype(np.float64)
        return Events(number, filled, kinds, slots, moments)

    def values(self, batch: Batch, column: Column) -> Floats:
        """The values of a column, NaN where there is none."""
        return np.where(self.events(batch).filled, batch[self.table.at(column.name)], np.nan)


@dataclass(frozen=True)
class Clock:
    """The order of events, and cells of the time from one to the next: the first is no time at all."""

    order: Column
    settings: HistorySettings

    def __post_init__(self) -> None:
        """As above."""
        _ = self.gap

    @cached_property
    def gap(self) -> Cells:
        """These cells."""
        column = Column(name="gap", kind="numeric", bounds=(0.0, self.order.high - self.order.low))
        return Cells(column, n_places=self.settings.gap_places)

    @property
    def classes(self) -> int:
        """Classes of persons by their mean gap."""
        return self.settings.gap_classes

    def class_of(self, mean_gap: Floats) -> Integers:
        """The class of persons with such a mean gap."""
        of_cells = np.arange(self.gap.count) * self.classes // self.gap.count
        return np.asarray(of_cells[self.gap.code(mean_gap)])


def counted(codes: Integers, counts: Flags, width: int) -> Floats:
    """For every row how often it has each code, of those places that count.

    >>> counted(np.array([[1, 1, 0], [2, 0, 0]]), np.array([[True, True, False], [True, False, False]]), 3).tolist()
    [[0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows, _ = np.nonzero(counts)
    flat = np.bincount(rows * width + codes[counts], minlength=len(codes) * width)
    return np.asarray(flat[: len(codes) * width].reshape(len(codes), width).astype(np.float64))


def before(values: Floats, slots: Integers, n_slots: int) -> Floats:
    """For every event the last known value of its slot before it, NaN where there is none.

    >>> before(np.array([[5.0, 7.0, np.nan, 9.0]]), np.array([[0, 1, 0, 0]]), 2).tolist()
    [[nan, nan, 5.0, 5.0]]
    """
    out = np.full(values.shape, np.nan)
    rows, last = np.arange(len(values)), np.full((len(values), n_slots), np.nan)
    for at in range(values.shape[1]):
        slot = slots[:, at]
        out[:, at] = last[rows, slot]
        last[rows, slot] = np.where(np.isnan(values[:, at]), out[:, at], values[:, at])
    return out


def gaps(moments: Floats, filled: Flags) -> tuple[Floats, Flags]:
    """The time from each event to the next, and where there is one."""
    between = np.maximum(np.diff(moments, axis=1), 0.0)
    there = filled[:, 1:] & ~np.isnan(between)
    return np.where(there, between, 0.0), there


def ties(moments: Floats | None, filled: Flags) -> Flags:
    """Which events come at the moment of the one before them."""
    if moments is None:
        return np.zeros_like(filled[:, 1:])
    between, there = gaps(moments, filled)
    return np.asarray(there & (between == 0))


def mean_gap(moments: Floats, filled: Flags) -> Floats:
    """The mean time between a person's events, 0 with fewer than two."""
    between, there = gaps(moments, filled)
    return np.asarray(between.sum(axis=1) / np.maximum(there.sum(axis=1), 1))
