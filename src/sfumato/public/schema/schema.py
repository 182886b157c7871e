"""What is public about the data before anybody looks at it: columns, their kinds, bounds and categories."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.budget import PrivacyUnit
from sfumato.public.expressions.expression import Expression, read_expression
from sfumato.public.expressions.variables import Variable
from sfumato.public.schema.column import CODED_KINDS, KINDS, NUMBER_KINDS, Column, Kind
from sfumato.public.schema.following import followed
from sfumato.public.schema.lookups import Lookup
from sfumato.public.schema.one_of import Groups, OneOf, groups_declared
from sfumato.public.schema.ruled import Ruled, read_rules
from sfumato.public.schema.rules import Rule, rules_declared
from sfumato.public.schema.tables import EventTable, Slot, flat_tables, slots_of
from sfumato.public.schema.toml_text import Declared, from_toml, read_schema_file, to_toml
from sfumato.public.schema.variables import variables_of
from sfumato.public.schema.whole import contradictions
from sfumato.public.spelling import did_you_mean

__all__ = ["CODED_KINDS", "KINDS", "NUMBER_KINDS", "Batch", "Column", "Kind", "Schema", "schema_of", "sketch"]

#: Rows in encoded form: numbers as float64 (NaN = missing), codes as int64 (last code = missing), images as float32. Of a
#: table of events a person's row has as many values as there may be events, the first `#` of them real (`tables.py`).
Batch = Mapping[str, NDArray[Any]]


def n_rows_of(batch: Batch) -> int:
    """How many rows a batch holds."""
    return len(next(iter(batch.values())))


@dataclass(frozen=True, kw_only=True, repr=False)
class Schema:
    """All columns, the target to predict, the public size (if any) and the unit of privacy.

    `one_of` and `at_most_one_of` list groups of yes-or-no columns of which exactly one, or at most one, is set in every row.
    `rules` are what every released row obeys. Columns that a formula gives are `computed`: they are neither read nor measured,
    and stand behind the others in released rows.
    `lookups` are public tables that columns refer to. Where there are `tables` of events, the columns are those of the table of
    `persons`, and `rows` is how many of these there are.
    """

    columns: tuple[Column, ...]
    target: str | None = None
    rows: int | None = None
    unit: PrivacyUnit = field(default_factory=PrivacyUnit)
    one_of: Groups = ()
    at_most_one_of: Groups = ()
    rules: tuple[Rule, ...] = ()
    computed: tuple[Column, ...] = ()
    persons: str | None = None
    tables: tuple[EventTable, ...] = ()
    lookups: tuple[Lookup, ...] = ()

    def __post_init__(self) -> None:
        for key in ("one_of", "at_most_one_of"):
            object.__setattr__(self, key, groups_declared(getattr(self, key), key=key))
        object.__setattr__(self, "rules", rules_declared(self.rules))
        every = (*self.columns, *self.computed)
        groups = {"one_of": self.one_of, "at_most_one_of": self.at_most_one_of}
        faults = contradictions(
            every,
            target=self.target,
            rows=self.rows,
            unit=self.unit,
            groups=groups,
            rules=self.rules,
            persons=self.persons,
            tables=self.tables,
        )
        for fault in faults:  # the first; a file is told all of them when it is read
            raise SchemaError(fault.sentence)
        hanging = tuple((table.name, table.max_rows) for table in self.flat)
        if self.unit.tables != hanging:  # the unit says what hangs on a person, because a certificate must
            object.__setattr__(self, "unit", replace(self.unit, tables=hanging))
        if self.rules:
            given = {one.column.name for one in self._ruled_of(every).computed}
            object.__setattr__(self, "columns", tuple(column for column in every if column.name not in given))
            object.__setattr__(self, "computed", tuple(column for column in every if column.name in given))

    def __repr__(self) -> str:
        target = "" if self.target is None else f", target {self.target!r}"
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        rows += "".join(f", table {table.name!r}" for table in self.tables)
        return f"<Schema: {len(self.columns)} column{'s' * (len(self.columns) > 1)}{target}{rows}>"

    def __getitem__(self, name: str) -> Column:
        if (column := self._by_name.get(name)) is not None:
            return column
        listed = ", ".join(list(self._by_name)[:20]) + (", ..." if len(self._by_name) > 20 else "")
        raise SchemaError(f"the schema has no column {name!r}.{did_you_mean(name, self._by_name)} Columns: {listed}.")

    @cached_property
    def _by_name(self) -> dict[str, Column]:
        """The columns, so that asking each of 10,000 for itself does not look at all of them each time."""
        return {column.name: column for column in self.released}

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All arrays of a batch."""
        return tuple(slots_of(self.columns, self.flat))

    @cached_property
    def flat(self) -> tuple[EventTable, ...]:
        """The tables of events as they stand in a person's row."""
        return flat_tables(self.tables)

    @property
    def table_names(self) -> tuple[str, ...]:
        """The tables that the data has: of persons, if they have one, and of events."""
        return (*([] if self.persons is None else [self.persons]), *(table.name for table in self.tables))

    @property
    def images(self) -> tuple[Column, ...]:
        """The image columns: none or one."""
        return tuple(column for column in self.columns if column.kind == "image")

    @property
    def features(self) -> tuple[Column, ...]:
        """All columns but the target."""
        return tuple(column for column in self.columns if column.name != self.target)

    @property
    def target_column(self) -> Column | None:
        """The column to predict, if one is declared."""
        return None if self.target is None else self[self.target]

    @property
    def groups(self) -> tuple[OneOf, ...]:
        """The declared groups."""
        exactly, at_most = map(OneOf, self.one_of), (OneOf(names, or_none=True) for names in self.at_most_one_of)
        return (*exactly, *at_most)

    @property
    def unknown(self) -> tuple[Column, ...]:
        """Columns whose bounds or categories are still to be discovered."""
        return tuple(column for column in self.columns if column.discover)

    @property
    def released(self) -> tuple[Column, ...]:
        """All columns of released rows but keys: those that are measured, then those that are computed."""
        return (*self.columns, *self.computed)

    @cached_property
    def ruled(self) -> Ruled:
        """What the rules mean together."""
        return self._ruled_of(self.released)

    def _ruled_of(self, columns: tuple[Column, ...]) -> Ruled:
        grouped = tuple(name for group in (*self.one_of, *self.at_most_one_of) for name in group)
        return read_rules(columns, self.rules, target=self.target, grouped=grouped)[0]

    @cached_property
    def variables(self) -> dict[str, Variable]:
        """The columns as expressions see them."""
        return variables_of(self.released)

    def expression(self, text: str, *, truth: bool = True) -> Expression:
        """A condition over the columns, such as "age >= 65 and ward = 'icu'"; with `truth=False` an amount as well."""
        return read_expression(text, self.variables, truth=truth)

    def without_rules(self) -> "Schema":
        """The measured columns alone: for what has to do with some of them only."""
        return replace(self, rules=(), computed=())

    def with_columns(self, columns: Mapping[str, Column]) -> "Schema":
        """A copy in which some columns are replaced."""
        return replace(self, columns=tuple(columns.get(c.name, c) for c in self.columns))

    def require_coded_target(self) -> Column:
        """The target, for a mechanism that needs classes."""
        column = self.target_column
        if column is None:
            raise SchemaError('this mechanism needs a target. Set target = "NAME" under [dataset] in schema.toml.')
        if not column.is_coded:
            raise SchemaError(
                f"target {column.name!r} is {column.kind}: this mechanism needs a categorical, ordinal or boolean one."
            )
        return column

    def require_one_table(self, mechanism: str) -> None:
        """Refuse several tables, for a mechanism whose rows have nothing that hangs on them."""
        if self.tables:
            raise SchemaError(
                f"{mechanism} releases one table, and the schema has several. Use 3a-tables, or release the persons by themselves."
            )

    def decode(self, batch: Batch) -> pd.DataFrame:
        """Encoded rows as a table. Declared groups and dependences hold, whatever the rows say."""
        settled = {**batch, **{name: values for group in self.groups for name, values in group.obeyed(batch).items()}}
        settled = followed(settled, self.columns, target=self.target)
        return pd.DataFrame({c.name: c.decode(settled[c.name]) for c in self.columns})

    def to_json(self) -> dict[str, Any]:
        """Plain values, the same for the same schema."""
        columns = [column.to_json() for column in self.columns]
        body: dict[str, Any] = {"columns": columns, "target": self.target, "rows": self.rows}
        body["unit"] = self.unit.to_json()
        if self.tables:
            body |= {"persons": self.persons, "tables": [table.to_json() for table in self.tables]}
        if self.lookups:
            body["lookups"] = [lookup.to_json() for lookup in self.lookups]
        groups = {"one_of": self.one_of, "at_most_one_of": self.at_most_one_of}
        body |= {key: [list(group) for group in settled] for key, settled in groups.items() if settled}
        body |= {"computed": [column.to_json() for column in self.computed]} if self.computed else {}
        return body | ({"rules": [rule.to_json() for rule in self.rules]} if self.rules else {})

    def digest(self) -> str:
        """A SHA-256 of the schema's meaning, whatever its file looks like."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()

    @staticmethod
    def load(path: str | Path) -> "Schema":
        """Read and check a schema.toml, and the files of categories that it names."""
        text = read_schema_file(path)
        return Schema(**from_toml(text, name=Path(path).name, folder=Path(path).parent)._asdict())

    @staticmethod
    def parse(text: str) -> "Schema":
        r"""Read a schema from the text of a schema.toml.

        >>> Schema.parse('[dataset]\ntarget = "y"\n[columns.y]\ntype = "boolean"').target
        'y'
        """
        return Schema(**from_toml(text)._asdict())

    def to_toml(self) -> str:
        """Write a schema.toml; reading it back gives the same schema."""
        groups = self.one_of, self.at_most_one_of
        declared = Declared(self.released, self.target, self.rows, self.unit, *groups, self.rules)
        return to_toml(declared._replace(persons=self.persons, tables=self.tables, lookups=self.lookups))


def schema_of(given: Schema | str | Path) -> Schema:
    """A schema as people give one: itself, or the path of its file."""
    if isinstance(given, Schema):
        return given
    if isinstance(given, str | Path):
        return Schema.load(given)
    raise SchemaError(
        f"a schema of type {type(given).__name__} is not known. Give an sf.Schema, or the path of its schema.toml."
    )


def sketch(schema: Schema) -> Schema:
    """The schema with made-up bounds and categories where it leaves them open: for asking what a mechanism would do."""
    filled = {
        c.name: replace(
            c, discover=False, bounds=(0.0, 1.0) if c.is_number else None, categories=("a", "b") if c.is_coded else ()
        )
        for c in schema.unknown
    }
    return schema.with_columns(filled)
