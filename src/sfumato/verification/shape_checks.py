"""Whether rows are rows of the schema: a check that takes no time, for rows that are built again and for those that are not."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from sfumato.model import Synthetic
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Column, Schema
from sfumato.public.schema.tables import EventTable

_MISSING = "(missing)"
#: Mechanisms whose rows are mixtures: numbers for every entry of an encoded row, which noise takes beyond the bounds.
MIXING = ("dpmix", "clustmix", "kip", "dp-kip")


def misfits(synthetic: Synthetic, schema: Schema, *, mechanism: str = "") -> list[str]:
    """What the schema has no place for: a column, a category, a value beyond its bounds, a picture of another size."""
    if synthetic.table is None:
        return _misfits_of_pictures(synthetic, schema)
    if schema.tables or synthetic.tables:
        return _misfits_of_tables(synthetic.table, synthetic.tables, schema)
    keys = [key.name for key in schema.ruled.keys]
    if [str(name) for name in synthetic.table.columns] != [*keys, *(column.name for column in schema.released)]:
        return _misfits_of_mixtures(synthetic.table, schema)
    misfit = {column.name: _misfit(synthetic.table[column.name], column) for column in schema.released}
    if mechanism in MIXING and any(misfit.values()):  # of numbers alone mixtures have columns of the same names
        return _misfits_of_mixtures(synthetic.table, schema)
    return [f"the released column {name!r} {what}." for name, what in misfit.items() if what]


def _misfits_of_tables(persons: pd.DataFrame, tables: Mapping[str, pd.DataFrame], schema: Schema) -> list[str]:
    """Of persons with events: every table has its columns behind a key, and every event is that of a released person."""
    if set(tables) != {table.name for table in schema.tables}:
        return ["the released tables are not those of the schema."]
    person = str(schema.unit.person)
    problems = _misfits_of_table(str(schema.persons), persons, (person,), schema.columns)
    own: dict[str | None, pd.Series[Any]] = {} if problems else {None: persons[person]}
    for table in schema.tables:
        rows = tables[table.name]
        odd = _misfits_of_table(table.name, rows, table.keys, table.columns)
        if not odd and table.parent in own:
            odd = list(_misfits_of_keys(table, rows, own[table.parent]))
        if not odd and table.own_key is not None:
            own[table.name] = rows[table.own_key]
        problems += odd
    for name, keys in own.items():
        if not keys.is_unique:
            problems.append(
                f"the rows of the released table {name or schema.persons!r} do not have a key of their own each."
            )
    return problems


def _misfits_of_keys(table: EventTable, rows: pd.DataFrame, above: "pd.Series[Any]") -> Iterator[str]:
    """Every row hangs on a released one, of which no more than declared hang."""
    whose = rows[table.key]
    if not whose.isin(above).all():
        yield f"the released table {table.name!r} has a row that belongs to nobody."
    if len(whose) and whose.value_counts().max() > table.max_rows:
        yield f"in the released table {table.name!r} more than max_rows = {table.max_rows} rows hang on one."
    goes_on = whose.to_numpy()[1:] == whose.to_numpy()[:-1]
    if table.order is not None:
        moments = rows[table.order]
        if (goes_on & (moments < moments.shift()).fillna(False).to_numpy(dtype=bool)[1:]).any():
            yield f"the rows of the released table {table.name!r} do not go up in {table.order!r} within whom they hang on."
    if (
        table.kind is None or table.parent is not None
    ):  # of what hangs on events, a person's last may be of an early event
        return
    if (goes_on & rows[table.kind].isin(table.last).to_numpy(dtype=bool)[:-1]).any():
        yield f"in the released table {table.name!r} something follows on {' or '.join(table.last)}, which come last."


def _misfits_of_table(name: str, rows: pd.DataFrame, keys: tuple[str, ...], columns: tuple[Column, ...]) -> list[str]:
    """Keys that are numbers in order, and then the columns."""
    if [str(column) for column in rows.columns] != [*keys, *(column.name for column in columns)]:
        return [f"the released table {name!r} has other columns than the schema."]
    if any(rows[key].dtype != np.int64 or not rows[key].is_monotonic_increasing for key in keys):
        return [f"the keys of the released table {name!r} are no numbers in order."]
    misfit = {column.name: _misfit(rows[column.name], column) for column in columns}
    return [f"the released column {one!r} of {name!r} {what}." for one, what in misfit.items() if what]


def _misfit(values: "pd.Series[Any]", column: Column) -> str | None:
    wanted = column.decode(np.zeros(0)).dtype
    is_date = column.kind == "datetime" and pd.api.types.is_datetime64_dtype(values.dtype)
    if isinstance(wanted, pd.CategoricalDtype):
        held = values.dtype
        if not isinstance(held, pd.CategoricalDtype) or list(held.categories) != list(column.written):
            return "has other categories than the schema"
    elif values.dtype != wanted and not is_date:
        return "is of another type than the schema"
    if not column.missing and column.special_as is None and values.isna().any():
        return "lacks values that the schema says are there"
    if column.is_number:
        numbers = values.astype("datetime64[s]").astype("int64") if is_date else values
        if column.kind == "time":
            numbers = pd.Series(column.encode(values), index=values.index)
            if (column.decode(numbers.to_numpy()).fillna("") != values.fillna("").astype("string")).any():
                return "holds a value that is no time of a day within its bounds"
        known = numbers.dropna() if not is_date else numbers[values.notna()]
        # What is rounded to whole numbers or decimals may lie half a step outside.
        slack = 0.5 if column.kind != "numeric" or column.decimals is not None else 0.0
        outside = ~known.between(column.low - slack, column.high + slack) & (known != column.special_as)
        if outside.any():
            return "holds a value beyond its bounds"
    return None


def _misfits_of_mixtures(table: pd.DataFrame, schema: Schema) -> list[str]:
    """Mixed rows have a column for each entry of an encoded row, the class, and how much of each class."""
    target = schema.target_column
    names = list(Encoder(schema.features).names) if schema.features else []
    shares = [] if target is None else Encoder((target,)).names if target.is_coded else ()
    classed = [*names, *([] if target is None else [target.name])]
    if [str(name) for name in table.columns] not in (names, classed, [*classed, *shares]):
        return ["the released rows have other columns than the schema."]
    odd = [name for name in table.columns if name != schema.target and table[name].dtype != np.float32]
    if target is not None and target.name in table.columns:
        kind = table[target.name].dtype
        known = [*target.categories, *([_MISSING] if target.missing else [])]
        odd += [target.name] * (not isinstance(kind, pd.CategoricalDtype) or list(kind.categories) != known)
    return [f"the released column {name!r} is of another type than the schema." for name in odd[:1]]


def _misfits_of_pictures(synthetic: Synthetic, schema: Schema) -> list[str]:
    images, labels, soft, target = synthetic.images, synthetic.labels, synthetic.soft_labels, schema.target_column
    if images is None or not schema.images:
        return ["pictures are released, and the schema has none."]
    known = () if target is None else (*target.categories, *([_MISSING] if target.missing else []))
    n_rows, problems = len(images), []
    if images.shape[1:] != schema.images[0].shape or images.dtype not in (np.uint8, np.float32):
        problems.append("the released pictures are of another size or type than the schema's.")
    if synthetic.classes not in ((), known):
        problems.append("the released pictures have other classes than the schema.")
    if labels is not None and not (
        labels.shape == (n_rows,) and labels.dtype == np.int64 and np.isin(labels, np.arange(len(known))).all()
    ):
        problems.append("the labels of the released pictures are no classes of the schema.")
    if soft is not None and not (soft.shape == (n_rows, len(known)) and soft.dtype == np.float32):
        problems.append("the soft labels of the released pictures are not one number for each class.")
    return problems
