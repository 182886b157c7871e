"""The dry run of several tables: each by itself, and whether keys lead from one to the other. NOT private."""

from dataclasses import replace
from typing import Any

from sfumato.lab.dry_run.finding import Finding, found
from sfumato.lab.dry_run.reading import DryRun, dry_run
from sfumato.private.intake.histories import Draw
from sfumato.private.intake.places_of_tables import table_places
from sfumato.private.intake.sensitive import open_histories
from sfumato.public.budget import PrivacyUnit
from sfumato.public.schema.schema import Schema


def dry_run_tables(data: Any, schema: Schema) -> DryRun:
    """Read all tables and say what a release would map, cut or leave out in silence, and which rows belong to nobody."""
    if not schema.tables:
        return dry_run(data, schema)
    unit = PrivacyUnit(relation=schema.unit.relation)
    alone = {table.name: Schema(columns=table.columns) for table in schema.tables}
    keys = {table.name: table.read_keys for table in schema.tables}
    if schema.persons is not None and schema.columns:
        alone = {schema.persons: replace(schema, tables=(), persons=None, unit=unit), **alone}
        keys[schema.persons] = (str(schema.unit.person),)
    places = table_places(data, schema.table_names)
    drawn = open_histories(data, schema).draw()
    findings, left_out = _findings_of_keys(drawn, schema), list[str]()
    for name, one in alone.items():
        run = dry_run(places[name], one)
        findings += [replace(finding, column=_named(name, finding.column)) for finding in run.findings]
        left_out += [f"{name}.{column}" for column in run.left_out if column not in keys[name]]
    ordered = sorted(findings, key=lambda finding: not finding.is_fault)
    rows = int((drawn.numbers >= 0).sum()) if schema.persons is None else len(drawn.numbers)
    return DryRun(rows, tuple(left_out), tuple(ordered))


def _named(table: str, column: str | None) -> str:
    return table if column is None else f"{table}.{column}"


def _findings_of_keys(drawn: Draw, schema: Schema) -> list[Finding]:
    rows = len(drawn.numbers)
    what = "rows that do not count: their key is missing, or an earlier or later row has the same"
    remedy = "Give every person one row with a key of its own. Of several rows one counts, drawn at random."
    n_doubled = 0 if schema.persons is None else int((drawn.numbers < 0).sum())
    out = found(f"{schema.persons}.{schema.unit.person}", what, rows=n_doubled, of=rows, remedy=remedy)
    for table in schema.tables:
        hanging, key = drawn.tables[table.name], f"{table.name}.{table.key}"
        events = hanging.events
        whom = "nobody of" if table.parent is None else "no row that counts of"
        what = f"rows that name {whom} {table.parent or schema.persons!r}, which belong to nobody and count nowhere"
        remedy = "Are keys written in the same way in both tables? 7 and 007 are two persons."
        out += found(key, what, rows=hanging.orphans, of=events, remedy=remedy)
        if table.parent is not None:
            above = next(other for other in schema.tables if other.name == table.parent)
            what = f"rows whose key another row has: rows of {table.name!r} that name it count for each, and so for other persons"
            remedy = (
                "Give each row a key of its own. Or where rows are numbered within a person, declare in the table that names them "
                'which column names the person: person_key = "NAME".'
            )
            counted_above = len(drawn.tables[table.parent].rows)
            shared = found(
                f"{table.parent}.{above.own_key}", what, rows=hanging.shared, of=counted_above, remedy=remedy
            )
            out += [
                replace(one, is_fault=True) for one in shared
            ]  # were they few: it is about whose rows are protected
        what = f"rows left out: they are more than max_rows = {table.max_rows}, and a window of these counts"
        remedy = "A larger max_rows sees longer histories. Choose it by what is known in public."
        out += found(key, what, rows=hanging.beyond, of=events, remedy=remedy)
    return out
