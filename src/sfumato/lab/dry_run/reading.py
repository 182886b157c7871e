"""The dry run itself: one reading of all rows, chunk by chunk, through the same intake that a release uses.

NOT private: it looks at rows outside of the doors, for the custodian alone, and writes nothing.
"""

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfumato.lab.dry_run.dependence import Declared, Dependences, Groups
from sfumato.lab.dry_run.finding import NOT_PRIVATE, Finding, found
from sfumato.lab.dry_run.rules import RuleTally
from sfumato.lab.dry_run.tallies import rows_to_be_found, tally_of
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.persons import LimitedSource
from sfumato.private.intake.source import Source
from sfumato.private.intake.sources import open_source
from sfumato.public.schema.schema import Schema

#: Values that are held at once.
_CHUNK_CELLS = 1 << 21
#: A declared size that is rounded to one digit is off by less than this.
_FACTOR = 1.5
#: More than any person has.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class DryRun:
    """How a file and its schema fit. Not private."""

    rows: int
    left_out: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What should be mended before a release."""
        return tuple(finding for finding in self.findings if finding.is_fault)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "warning": NOT_PRIVATE,
            "rows": self.rows,
            "faults": len(self.faults),
            "columns_left_out": list(self.left_out),
            "findings": [asdict(finding) for finding in self.findings],
        }


def dry_run(data: Any, schema: Schema) -> DryRun:
    """Read all rows once and say what a release would map, cut or leave out in silence.

    >>> import numpy as np
    >>> from sfumato.public.schema.schema import Column
    >>> schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 110)),))
    >>> [(f.what, f.rows) for f in dry_run({"age": np.array([41, 250])}, schema).findings]
    [('above the bounds, and cut to them', 1)]
    """
    source = open_source(data, schema)
    # Pictures are brought to the schema's shape, and there is nothing to say about one of them.
    columns = tuple(column for column in schema.columns if column.kind != "image")
    known = tuple(column for column in columns if not column.discover)
    least = rows_to_be_found(schema)
    tallies = {column.name: tally_of(column, least=least) for column in columns}
    grouped = {name for group in schema.groups for name in group.members}
    dependences = Dependences([c for c in known if c.name not in grouped], target=schema.target)
    groups = Groups(schema)
    target, target_values = next((column for column in known if column.name == schema.target), None), set[float]()
    known_names = {column.name for column in known}
    declared = [Declared(column) for column in known if column.depends_on and set(column.depends_on) <= known_names]
    names = [column.name for column in columns] or [schema.columns[0].name]
    alone = tuple(replace(column, depends_on=()) for column in known)
    plain = replace(schema.without_rules(), target=None, one_of=(), at_most_one_of=()) if known else None
    encoded = None if plain is None else replace(plain, columns=alone)
    # Computed columns are not read for a release. Where the file has them, it is seen whether they are as computed.
    beside = tuple(column for column in schema.computed if column.name in source.names)
    rules = RuleTally(schema, beside)
    with_beside = replace(plain, columns=beside) if plain is not None and beside else None
    n_rows = 0
    names = [*names, *(column.name for column in beside)]
    for chunk in source.chunks(names, rows=max(1, min(1 << 16, _CHUNK_CELLS // len(names)))):
        n_rows += len(chunk[names[0]])
        if encoded is not None:
            batch = conform(chunk, encoded)
            dependences.add(batch)
            groups.add(batch)
            if target is not None and len(target_values) < 2:
                numbers = np.nan_to_num(batch[target.name].astype(np.float64), nan=np.inf)
                target_values.update(np.unique(numbers)[:2].tolist())
            for rule in declared:
                rule.add(batch)
            rules.add(batch, {} if with_beside is None else conform(chunk, with_beside))
        for name, tally in tallies.items():
            tally.add(chunk[name])
    findings = _findings_of_lines(source, n_rows) + _findings_of_persons(source, schema, n_rows)
    if schema.unit.person is None:
        findings += _findings_of_size(n_rows, schema)
    if target is not None and len(target_values) == 1:
        what = "the target has one value in all rows"
        remedy = "Is its list of categories, words or bounds that of the file? A model can learn nothing from it."
        findings += found(target.name, what, rows=n_rows, of=n_rows, remedy=remedy)
    findings += [finding for tally in tallies.values() for finding in tally.findings(n_rows)]
    findings += groups.findings(n_rows) + dependences.findings()
    findings += [finding for rule in declared for finding in rule.findings(n_rows)]
    findings += rules.findings(n_rows)
    used = {*(column.name for column in schema.released), schema.unit.person}
    ordered = sorted(findings, key=lambda finding: not finding.is_fault)
    return DryRun(n_rows, tuple(name for name in source.names if name not in used), tuple(ordered))


def _findings_of_lines(source: Source, rows: int) -> list[Finding]:
    odd = getattr(source, "private_odd_lines", 0)
    what = "lines with too many or too few fields, or with a quote that does not close, which are left out"
    remedy = (
        "Put texts with separators into quotes, and write a quote of a text twice. A value of several lines cannot be read "
        "from CSV: write the table as Parquet."
    )
    return found(None, what, rows=odd, of=rows + odd, remedy=remedy)


def _findings_of_size(rows: int, schema: Schema) -> list[Finding]:
    declared = schema.rows
    if declared is None or rows == declared:
        return []
    exact = schema.unit.relation == "replace_one"
    if not exact and declared / _FACTOR <= rows <= declared * _FACTOR:
        return []
    what = f"rows, of the {declared:,} that the schema declares"
    remedy = (
        "Under replace_one the number of rows is public: declare it exactly."
        if exact
        else "Is this the whole file? Correct rows under [dataset] by what is publicly known: delta is judged by it."
    )
    return [Finding(column=None, what=what, rows=rows, share=rows / declared, remedy=remedy, is_fault=True)]


def _findings_of_persons(source: Source, schema: Schema, rows: int) -> list[Finding]:
    person, most = schema.unit.person, schema.unit.max_rows
    if person is None:
        return []
    everybody = LimitedSource(source, person=person, max_rows=_NO_LIMIT).numbers(rows=1 << 16)
    each = np.bincount(everybody) if len(everybody) else np.zeros(0, dtype=np.int64)
    over = each[each > most]
    left_out = int((over - most).sum())
    what = f"rows left out: {len(over):,} of {len(each):,} persons have more than max_rows = {most}"
    remedy = "A larger max_rows keeps more rows and adds noise to all. Choose it by what is known in public."
    # A limit is chosen, so what it leaves out is no fault.
    out = [replace(each, is_fault=False) for each in found(person, what, rows=left_out, of=rows, remedy=remedy)]
    what = "rows without a person, which are left out"
    out += found(person, what, rows=rows - len(everybody), of=rows, remedy="Give every row the id of its person.")
    return out + _findings_of_size(len(everybody) - left_out, schema)
