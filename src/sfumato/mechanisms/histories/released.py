"""Drawn histories as tables of rows: keys that fit, and what hangs on an event behind it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.mechanisms.histories.draw import Histories
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.tables import EventTable, same_clock


def numbers_below(above: Histories, table: EventTable) -> Integers:
    """How many rows of a table hang on each drawn event of the one above; 0 where there is no event."""
    drawn = np.nan_to_num(above.columns[table.count]).round()
    return np.where(above.filled, np.clip(drawn, 0, table.max_rows), 0).astype(np.int64)


def released_tables(schema: Schema, histories: Sequence[Sequence[Histories]]) -> dict[str, pd.DataFrame]:
    """Every table with its keys first; rows in the order of those that they hang on, and of moments."""
    tables, below, moments = dict[str, pd.DataFrame](), dict[str, Integers](), dict[str, Floats]()
    by_name = {table.name: table for table in schema.tables}
    for table, parts in zip(schema.tables, histories, strict=True):
        above = None if table.parent is None else by_name[table.parent]
        counts = np.concatenate([part.number for part in parts]) if above is None else below[table.name]
        whose = np.repeat(np.arange(len(counts)), counts)
        values = {name: _joined(parts, name) for name in parts[0].columns}
        if above is not None and same_clock(table, above):
            order = table[str(table.order)]
            moment = moments[above.name][whose] + values[order.name].astype(np.float64)
            values[order.name] = np.clip(moment, order.low, order.high)
        numbers = {
            other.name: np.concatenate([numbers_below(part, other)[part.filled] for part in parts])
            for other in schema.tables
            if other.parent == table.name
        }
        if above is not None and table.order is not None:  # within what they hang on: places need not be in order
            sorted_rows = np.lexsort((values[table.order], whose))
            values = {name: one[sorted_rows] for name, one in values.items()}
            numbers = {name: one[sorted_rows] for name, one in numbers.items()}  # a row keeps what hangs on it
        keys = {table.key: whose + 1}
        if table.own_key is not None:
            keys = {table.own_key: np.arange(1, len(whose) + 1), **keys}
        columns = {column.name: column.decode(values[column.name]) for column in table.columns}
        tables[table.name] = pd.DataFrame({**keys, **columns})
        below |= numbers
        if table.order is not None:
            moments[table.name] = values[table.order].astype(np.float64)
    return tables


def _joined(parts: Sequence[Histories], name: str) -> Values:
    joined: Values = np.concatenate([part.columns[name][part.filled] for part in parts])
    return joined
