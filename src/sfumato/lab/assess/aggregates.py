"""Persons as rows of one table: their own columns, and simple aggregates of their events. So what is made for one table is
of use for several: learners, correlations and attacks.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.assess.histories import Events, Persons
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch, Schema

#: Where there are more sorts of events, they are not told apart: a table of hundreds of columns would say no more.
_MOST_KINDS = 12

#: What a reader is told of it.
IN_WORDS = (
    "A person is one row here: its own columns, and of each table of events how many there are, the first and the last moment, and the "
    f"means and last values of columns (of up to {_MOST_KINDS} kinds each by itself)."
)
#: And of attacks.
NOT_TESTED = "Attacks see persons as these rows: what single events give away beyond them is not tested."

Aggregate = tuple[Column, NDArray[Any]]


def as_rows(persons: Persons) -> tuple[Schema, Batch]:
    """The schema of these rows, which is the same for all persons of a schema, and the rows, encoded."""
    found = {column.name: (column, values) for each in persons.events() for column, values in _aggregates(each)}
    columns = (*persons.schema.columns, *(column for column, _ in found.values()))
    own = {column.name: persons.batch[column.name] for column in persons.schema.columns}
    schema = replace(persons.schema, columns=columns, persons=None, tables=(), unit=PrivacyUnit())
    return schema, {**own, **{name: values for name, (_, values) in found.items()}}


def _aggregates(events: Events) -> Iterator[Aggregate]:
    yield _counted(events, "number", np.ones(len(events.whose), dtype=bool))
    order, kind = events.order, events.table.kind_column
    if order is not None:
        for which in ("first", "last"):
            yield _taken(events, order, which, f"{which} {events.name_of(order)}")
    values = [column for column in events.table.columns if column not in (order, kind)]
    if kind is None or len(kind.categories) > _MOST_KINDS:
        yield from (
            found for column in [*values, *([] if kind is None else [kind])] for found in _valued(events, column)
        )
        return
    for code, name in enumerate(kind.categories):
        mine = events.rows[kind.name] == code
        yield _counted(events, f"number of {name}", mine)
        for column in values:
            yield from _valued(events, column, mine=mine, of=f" of {name}")


def _valued(
    events: Events, column: Column, *, mine: NDArray[np.bool_] | None = None, of: str = ""
) -> Iterator[Aggregate]:
    if column.is_number:
        mean = Column(
            name=f"mean {events.name_of(column)}{of}", kind="numeric", bounds=(column.low, column.high), missing=True
        )
        yield _named(events, mean, _of_each(events, column, "mean", mine))
    yield _taken(events, column, "last", f"last {events.name_of(column)}{of}", mine)


def _counted(events: Events, what: str, mine: NDArray[np.bool_]) -> Aggregate:
    column = Column(name=what, kind="integer", bounds=(0, events.table.max_rows))
    return _named(events, column, np.bincount(events.whose[mine], minlength=len(events.number)).astype(np.float64))


def _taken(events: Events, column: Column, which: str, what: str, mine: NDArray[np.bool_] | None = None) -> Aggregate:
    """The first or the last value that a person has; missing where it has none."""
    taken, values = replace(column, name=what, missing=True), _of_each(events, column, which, mine)
    if not column.is_coded:
        return _named(events, taken, values)
    return _named(events, taken, np.where(np.isnan(values), taken.size - 1, values).astype(np.int64))


def _of_each(events: Events, column: Column, which: str, mine: NDArray[np.bool_] | None) -> NDArray[np.float64]:
    chosen = np.ones(len(events.whose), dtype=bool) if mine is None else mine
    values = pd.Series(events.rows[column.name][chosen].astype(np.float64))
    found = values.groupby(events.whose[chosen]).agg(which)
    return np.asarray(found.reindex(np.arange(len(events.number))), dtype=np.float64)


def _named(events: Events, column: Column, values: NDArray[Any]) -> Aggregate:
    return replace(column, name=events.table.at(column.name)), values
