"""Several tables: one of persons, and tables of events, whose rows hang on a person by its key, or on another event.

The unit of privacy is a person with all that hangs on it. So a person is one row of a batch: the columns of its own, and of
every table of events as many places as there may be events, with the number of those that are filled. Where tests hang on
visits, a person's tests stand side by side in the order of the visits, and every visit has the number of its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sfumato.errors import SchemaError
from sfumato.public.schema.column import Column, Kind
from sfumato.public.schema.faults import Fault
from sfumato.public.spelling import did_you_mean, hidden_character

#: More places of a person would not be filled by what noise leaves of them.
MOST_EVENTS = 1000
_FILE_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")


@dataclass(frozen=True, kw_only=True)
class EventTable:
    """Rows that hang on a person, or on a row of another table.

    Attributes:
        name: The table's name.
        columns: What its rows hold, besides keys.
        key: The column that names the person, or the row of the parent.
        max_rows: At most so many rows of each count: those of a window that lie side by side, in the order.
        order: The column that puts the rows of a person into order, a number or a date; without it they are as they lie.
        kind: The column that says what sort of event a row is. Every sort has values of its own, which go on from the
            person's last of that sort.
        last: Sorts after which nothing happens any more.
        parent: The table that it hangs on, where that is not the table of persons.
        own_key: The column that names its own rows, where others hang on them.
        person_key: The column that names the person as well, where rows of the parent have keys that other persons' rows have too.
    """

    name: str
    columns: tuple[Column, ...]
    key: str
    max_rows: int
    order: str | None = None
    kind: str | None = None
    last: tuple[str, ...] = ()
    parent: str | None = None
    own_key: str | None = None
    person_key: str | None = None

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

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that name rows: its own, and that of whom it hangs on."""
        return (self.key,) if self.own_key is None else (self.own_key, self.key)

    @property
    def read_keys(self) -> tuple[str, ...]:
        """The same in the data, where a row may name its person too. A release needs no such column: its keys are all different."""
        return self.keys if self.person_key is None else (*self.keys, self.person_key)

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same table."""
        columns = [column.to_json() for column in self.columns]
        plain = {"name": self.name, "key": self.key, "max_rows": self.max_rows, "order": self.order, "kind": self.kind}
        deeper = {"parent": self.parent, "own_key": self.own_key, "person_key": self.person_key}
        there = {name: value for name, value in deeper.items() if value is not None}
        return {**plain, "last": list(self.last), "columns": columns, **there}


class Slot(NamedTuple):
    """An array of a batch: its name, what each of its values is, and how many of them a row has (nothing: one)."""

    name: str
    column: Column
    places: tuple[int, ...] = ()


def flat_tables(tables: Sequence[EventTable]) -> tuple[EventTable, ...]:
    """The tables as they stand in a person's row: all hang on the person, with as many places as there may be in all.

    A row on which others hang has the number of these as a column. The moment of what hangs on an event is the time since then,
    where both are told by the same clock; else it is a number like others. Who comes first is told by the order of the places.
    """
    by_name, places, flat = {table.name: table for table in tables}, dict[str, int](), list[EventTable]()
    for table in tables:
        above = None if table.parent is None else by_name[table.parent]
        places[table.name] = table.max_rows * (1 if above is None else places[above.name])
        columns = [_since(column, table, above) for column in table.columns]
        columns += [count_column(other) for other in tables if other.parent == table.name]
        order = table.order if above is None else None
        deep = {"parent": None, "own_key": None, "person_key": None, "max_rows": places[table.name]}
        flat.append(replace(table, columns=tuple(columns), order=order, **deep))  # type: ignore[arg-type]
    return tuple(flat)


def count_column(table: EventTable) -> Column:
    """How many rows of a table hang on one of its parent."""
    return Column(name=table.count, kind="integer", bounds=(0, table.max_rows))


def same_clock(table: EventTable, above: EventTable | None) -> bool:
    """Whether moments of what hangs on an event can be told as the time since then: both are dates, or have the same bounds."""
    own, other = table.order_column, None if above is None else above.order_column
    if own is None or other is None:
        return False
    return own.kind == other.kind and (own.kind == "datetime" or own.bounds == other.bounds)


def _since(column: Column, table: EventTable, above: EventTable | None) -> Column:
    if above is None or column.name != table.order or not same_clock(table, above):
        return column
    start = above[str(above.order)]
    kind: Kind = "integer" if column.kind == "integer" else "numeric"
    return Column(name=column.name, kind=kind, bounds=(0.0, column.high - start.low), missing=column.missing)


def slots_of(columns: Sequence[Column], tables: Sequence[EventTable]) -> Iterator[Slot]:
    """All arrays of a batch of persons, or of rows where there are no tables of events; tables are flat ones."""
    for column in columns:
        yield Slot(column.name, column)
    for table in tables:
        yield Slot(table.count, Column(name=table.count, kind="integer", bounds=(0, table.max_rows)))
        for column in table.columns:
            yield Slot(table.at(column.name), column, (table.max_rows,))


def event_faults(table: EventTable) -> Iterator[str]:
    """What is wrong with one table of events."""
    what, names = f"table {table.name!r}", [column.name for column in table.columns]
    if not _FILE_NAME.fullmatch(table.name) or any(map(hidden_character, table.read_keys)):
        yield f"{what}: its name becomes that of a file, so it may have letters, digits, _ and - alone. Rename it."
    if type(table.max_rows) is not int or not 1 <= table.max_rows <= MOST_EVENTS:
        yield f"{what}: max_rows = {table.max_rows!r} must be a whole number from 1 to {MOST_EVENTS}."
    if not names:
        yield f"{what} has no columns. Declare at least one, such as the day of the event."
    if len(set(names)) != len(names):
        yield f"{what} names a column twice. Declare each column once."
    if table.own_key == table.key:
        yield f"{what}: column {table.key!r} cannot name both its own rows and those that they hang on. Give two columns."
    if table.person_key in table.keys:
        yield f"{what}: column {table.person_key!r} cannot name both a row and the person. Give two columns."
    if table.person_key is not None and table.parent is None:
        yield f"{what} hangs on the persons, whom parent_key names. Remove person_key, or name the table of events that it hangs on."
    for key in table.read_keys:
        if key in names:
            yield f"{what}: column {key!r} identifies a person, so it cannot be released. Remove it from its columns."
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
    if is_kind and table.kind is not None and set(by_name[table.kind].categories) <= set(table.last):
        yield f"{what}: after every sort nothing happens any more, by last. Then a person has one row: max_rows = 1, and no last."
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
    if key is None:
        sentence = 'the table of persons has no key, the column that says who each is. Give key = "NAME" there.'
        yield Fault(("tables", persons or tables[0].name), sentence)
    if persons is None and (len(tables) > 1 or columns or tables[0].key != key):
        sentence = "a table of events alone has one key and no other table. Declare the table of persons, with its key."
        yield Fault(("tables", tables[0].name), sentence)
    names = [persons or "", *(table.name for table in tables)]
    if len({name.lower() for name in names}) != len(names):  # not all systems tell a file from one in other letters
        yield Fault(("tables",), "two tables have the same name. Give each its own.")
    yield from _faults_of_levels(tables)
    if any(column.kind == "image" for column in columns):
        yield Fault(("tables",), "persons with events cannot hold images. Release the images by themselves.")
    for column in columns:
        for table in tables:
            if column.name.startswith(f"{table.name}."):
                sentence = (
                    f"column {column.name!r} of the persons could be one of table {table.name!r}. Rename one of them."
                )
                yield Fault(("tables", table.name), sentence)


def _faults_of_levels(tables: Sequence[EventTable]) -> Iterator[Fault]:
    """Tables that hang on others, which come before them."""
    before, places = dict[str | None, EventTable](), dict[str | None, int]({None: 1})
    for table in tables:
        if table.parent is not None and table.parent not in before:
            sentence = f"table {table.name!r}: there is no table {table.parent!r} before it, which it could hang on."
            yield Fault(("tables", table.name), sentence)
            return
        places[table.name] = table.max_rows * places[table.parent]
        if table.parent is not None and before[table.parent].own_key is None:
            sentence = f"table {table.parent!r} has no key, by which {table.name!r} could name its rows. Give it one."
            yield Fault(("tables", table.parent), sentence)
        if places[table.name] > MOST_EVENTS:
            sentence = (
                f"table {table.name!r}: a person may have {places[table.name]} rows of it, max_rows of all levels together. "
                f"Keep it to {MOST_EVENTS}."
            )
            yield Fault(("tables", table.name), sentence)
        before[table.name] = table


def parent_fault(name: str, parents: dict[str, str | None]) -> str | None:
    """Why a table cannot hang on what it says it hangs on; None where it can."""
    parent = parents[name]
    roots = [other for other, above in parents.items() if above is None]
    if parent is None:
        return None if len(roots) == 1 else (
            f"the tables {', '.join(map(repr, roots))} hang on no other. One table is that of the persons, whose presence is "
            "hidden; give every other one a parent. What is public, such as a list of hospitals, is no table of the data: "
            "declare it under [lookups.NAME]."
        )  # fmt: skip
    if parent == name:
        return (
            f"table {name!r} is its own parent. Rows that lead to other rows, and so on, may join any number of persons, and "
            "then nothing bounds what one of them changes. Remove the reference."
        )
    if parent not in parents:
        return (
            f"table {name!r}: there is no table {parent!r}.{did_you_mean(parent, parents)} Name the table of persons, or one that "
            "hangs on it."
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
    return None
