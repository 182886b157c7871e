"""Several tables: one of persons, and tables of events, whose rows hang on a person by its key.

The unit of privacy is a person with all that hangs on it. So a person is one row of a batch: the columns of its own, and of
every table of events as many places as there may be events, with the number of those that are filled.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.public.schema.column import Column
from sfumato.public.schema.faults import Fault
from sfumato.public.spelling import did_you_mean, hidden_character

#: More places of a person would not be filled by what noise leaves of them.
MOST_EVENTS = 1000
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True, kw_only=True)
class EventTable:
    """Rows that hang on a person.

    Attributes:
        name: The table's name.
        columns: What its rows hold, besides the key.
        key: The column that names the person.
        max_rows: At most so many rows of a person count: those of a window that lie side by side, in the order.
        order: The column that puts the rows of a person into order, a number or a date; without it they are as they lie.
        kind: The column that says what sort of event a row is. Every sort has values of its own, which go on from the
            person's last of that sort.
        last: Sorts after which nothing happens any more.
    """

    name: str
    columns: tuple[Column, ...]
    key: str
    max_rows: int
    order: str | None = None
    kind: str | None = None
    last: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for fault in event_faults(self):
            raise SchemaError(fault)

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def kind_column(self) -> Column | None:
        """The column that says what sort of event a row is."""
        return None if self.kind is None else self[self.kind]

    @property
    def order_column(self) -> Column | None:
        """The column by which events are in order."""
        return None if self.order is None else self[self.order]

    def at(self, column: str) -> str:
        """The name of a column in a batch of persons."""
        return f"{self.name}.{column}"

    @property
    def count(self) -> str:
        """The name under which a batch of persons has the number of events."""
        return f"{self.name}.#"

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same table."""
        columns = [column.to_json() for column in self.columns]
        plain = {"name": self.name, "key": self.key, "max_rows": self.max_rows, "order": self.order, "kind": self.kind}
        return {**plain, "last": list(self.last), "columns": columns}


class Slot(NamedTuple):
    """An array of a batch: its name, what each of its values is, and how many of them a row has (nothing: one)."""

    name: str
    column: Column
    places: tuple[int, ...] = ()


def slots_of(columns: Sequence[Column], tables: Sequence[EventTable]) -> Iterator[Slot]:
    """All arrays of a batch of persons, or of rows where there are no tables of events."""
    for column in columns:
        yield Slot(column.name, column)
    for table in tables:
        yield Slot(table.count, Column(name=table.count, kind="integer", bounds=(0, table.max_rows)))
        for column in table.columns:
            yield Slot(table.at(column.name), column, (table.max_rows,))


def event_faults(table: EventTable) -> Iterator[str]:
    """What is wrong with one table of events."""
    what, names = f"table {table.name!r}", [column.name for column in table.columns]
    if not _FILE_NAME.fullmatch(table.name) or hidden_character(table.key):
        yield f"{what}: its name becomes that of a file, so it may have letters, digits, _ and - alone. Rename it."
    if type(table.max_rows) is not int or not 1 <= table.max_rows <= MOST_EVENTS:
        yield f"{what}: max_rows = {table.max_rows!r} must be a whole number from 1 to {MOST_EVENTS}."
    if not names:
        yield f"{what} has no columns. Declare at least one, such as the day of the event."
    if len(set(names)) != len(names):
        yield f"{what} names a column twice. Declare each column once."
    if table.key in names:
        yield f"{what}: column {table.key!r} identifies a person, so it cannot be released. Remove it from its columns."
    for column in table.columns:
        if column.kind == "image" or column.discover or column.depends_on:
            yield (
                f"{what}: column {column.name!r} is an image, is to be discovered or depends on others, which only the columns "
                "of persons may. Give its bounds or categories."
            )
    by_name = {column.name: column for column in table.columns}
    if table.order is not None and not (table.order in by_name and by_name[table.order].is_number):
        near = did_you_mean(table.order, names)
        yield f"{what}: order = {table.order!r} must name one of its columns, a number or a date.{near}"
    is_kind = table.kind in by_name and by_name[table.kind].is_coded if table.kind is not None else False
    if table.kind is not None and not is_kind:
        near = did_you_mean(table.kind, names)
        yield f"{what}: kind = {table.kind!r} must name one of its columns, with categories.{near}"
    for category in table.last:
        if not is_kind or table.kind is None or category not in by_name[table.kind].categories:
            yield f"{what}: last = {category!r} must be a category of its kind. Name the column with kind = ..., or remove it."


def table_faults(
    columns: Sequence[Column], *, persons: str | None, tables: Sequence[EventTable], key: str | None
) -> Iterator[Fault]:
    """What does not fit together between a table of persons and those of their events."""
    if not tables:
        if persons is not None:
            yield Fault(("tables",), "one table alone needs no [tables]. Declare its columns under [columns.NAME].")
        return
    if not persons or key is None:
        sentence = 'the table of persons has no key, the column that says who each is. Give key = "NAME" there.'
        yield Fault(("tables", persons or ""), sentence)
    names = [persons or "", *(table.name for table in tables)]
    if len(set(names)) != len(names):
        yield Fault(("tables",), "two tables have the same name. Give each its own.")
    if any(column.kind == "image" for column in columns):
        yield Fault(("tables",), "persons with events cannot hold images. Release the images by themselves.")
    for column in columns:
        for table in tables:
            if column.name.startswith(f"{table.name}."):
                sentence = (
                    f"column {column.name!r} of the persons could be one of table {table.name!r}. Rename one of them."
                )
                yield Fault(("tables", table.name), sentence)


def parent_fault(name: str, parents: dict[str, str | None]) -> str | None:
    """Why a table cannot hang on what it says it hangs on; None where it can."""
    parent = parents[name]
    roots = [other for other, above in parents.items() if above is None]
    if parent is None:
        return None if len(roots) == 1 else (
            f"the tables {', '.join(map(repr, roots))} hang on no other. One table is that of the persons, whose presence is "
            "hidden; give every other one a parent. What is public, such as a list of hospitals, is no table of the data: its "
            "names are the categories of a column."
        )  # fmt: skip
    if parent == name:
        return (
            f"table {name!r} is its own parent. Rows that lead to other rows, and so on, may join any number of persons, and "
            "then nothing bounds what one of them changes. Remove the reference."
        )
    if parent not in parents:
        return (
            f"table {name!r}: there is no table {parent!r}.{did_you_mean(parent, parents)} Name the table of persons."
        )
    seen = [name]
    above: str | None = parent
    while above is not None and above not in seen and above in parents:
        seen.append(above)
        above = parents[above]
    if above is not None:
        return (
            f"table {name!r} hangs on itself by way of {' and '.join(map(repr, seen[1:]))}, so no row of it leads to a "
            "person. Break the circle."
        )
    if parents[parent] is not None:
        return (
            f"table {name!r} hangs on {parent!r}, and that on {parents[parent]!r}. Tables hang on persons directly: join the "
            f"two, or give {name!r} the key of the person."
        )
    return None
