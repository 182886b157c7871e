"""Whether the parts of a schema fit together: every contradiction, with the place where it would be mended."""

from collections.abc import Iterator, Mapping, Sequence

from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.column import Column
from sfumato.public.schema.faults import Fault
from sfumato.public.schema.following import dependence_faults
from sfumato.public.schema.one_of import Groups, group_faults
from sfumato.public.schema.possible import contradiction
from sfumato.public.schema.ruled import read_rules
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.tables import EventTable, table_faults
from sfumato.public.spelling import did_you_mean, hidden_character


def contradictions(
    columns: Sequence[Column],
    *,
    target: str | None,
    rows: int | None,
    unit: PrivacyUnit | None,
    groups: Mapping[str, Groups],
    rules: Sequence[Rule] = (),
    unread: Sequence[str] = (),
    persons: str | None = None,
    tables: Sequence[EventTable] = (),
) -> Iterator[Fault]:
    """Everything that does not fit, of what is right by itself; `groups` are one-hot groups by their key.

    `unread` columns have faults of their own: they are there, and nothing more is known of them.
    """
    names = [*(column.name for column in columns), *unread]
    yield from table_faults(columns, persons=persons, tables=tables, key=None if unit is None else unit.person)
    if not names and not tables:
        yield Fault((), "the schema has no columns. Declare at least one under [columns.NAME].")
    if len(set(names)) != len(names):
        yield Fault(("columns",), "the schema names a column twice. Declare each column once.")
    if target is not None and target not in names:
        listed = ", ".join(names[:20]) or "none"
        events = next((table.name for table in tables if target in {column.name for column in table.columns}), None)
        of_events = f" It is one of {events!r}, and a target is a column of the persons."
        near = did_you_mean(target, names) if events is None else of_events
        sentence = (
            f"target {target!r} is not a column of the {'persons' if tables else 'schema'}.{near} Columns: {listed}."
        )
        yield Fault(("dataset", "target"), sentence)
    if rows is not None and rows < 1:
        sentence = f"rows = {rows} must be at least 1. It is the public, approximate size of the data."
        yield Fault(("dataset", "rows"), sentence)
    if unit is not None and unit.person is not None and hidden_character(unit.person):
        sentence = (
            f"person = {unit.person!r} has a control or direction character in it. Rename the column in the data."
        )
        yield Fault(("privacy", "person"), sentence)
    if unit is not None and unit.person in names:
        sentence = f"column {unit.person!r} identifies a person, so it cannot be released. Remove it from [columns]."
        yield Fault(("columns", str(unit.person)), sentence)
    for key, sentence in group_faults(groups, columns=columns, target=target, unread=unread):
        yield Fault(("dataset", key), sentence)
    grouped = [name for declared in groups.values() for group in declared for name in group]
    for name, sentence in dependence_faults(columns, target=target, grouped=grouped, unread=unread):
        yield Fault(("columns", name, "depends_on"), sentence)
    if rules and tables:
        sentence = (
            "rules hold in the rows of one table, and the schema has several. Take them out, or release one table."
        )
        yield Fault(("rules",), sentence)
    elif rules and not unread:
        yield from _rule_faults(columns, rules, target, grouped)
    images = [column for column in columns if column.kind == "image"]
    others = [c for c in columns if c.kind != "image" and c.name != target and not c.is_coded]
    if images and (len(images) > 1 or others):
        sentence = "a schema with an image may hold one image column and a categorical target. Remove the others."
        yield Fault(("columns", (others or images[1:])[0].name), sentence)


def _rule_faults(
    columns: Sequence[Column], rules: Sequence[Rule], target: str | None, grouped: Sequence[str]
) -> Iterator[Fault]:
    """Rules that cannot be read, or that no row can obey."""
    found, faults = read_rules(tuple(columns), tuple(rules), target=target, grouped=tuple(grouped))
    if not faults:
        faults = [] if (fault := contradiction(found)) is None else [fault]
    yield from (Fault(("rules", str(number)), sentence) for number, sentence in faults)
