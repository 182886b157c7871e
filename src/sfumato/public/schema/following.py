"""Columns that are a function of others, declared as a public fact: in released rows, equal reasons have equal consequences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.public.schema.column import Column
from sfumato.public.schema.spelling import did_you_mean


def followed(batch: Mapping[str, NDArray[Any]], columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
    """Synthetic rows in which those that agree in all columns that one depends on agree in that one as well.

    The value is the one that most of them had. It is worked out from the synthetic rows alone, so it costs nothing.

    >>> level = Column(name="level", kind="categorical", categories=("low", "high"))
    >>> years = Column(name="years", kind="integer", bounds=(0, 20), depends_on=("level",))
    >>> rows = {"level": np.array([0, 0, 0, 1]), "years": np.array([8.0, 8.0, 9.0, 9.0])}
    >>> followed(rows, [level, years])["years"].tolist()
    [8.0, 8.0, 8.0, 9.0]
    """
    rows = dict(batch)
    by_name = {column.name: column for column in columns}
    for column in _reasons_first(columns):
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


def _is_discrete(column: Column) -> bool:
    return column.is_coded or column.kind == "integer"
