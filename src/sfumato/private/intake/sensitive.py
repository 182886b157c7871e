"""Private rows behind a closed door: an object that can be handed around and shows nothing."""

import operator
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from sfumato.errors import PrivacyError, SchemaError, SourceError
from sfumato.private.intake.conforming import conform
from sfumato.private.intake.histories import HistorySource, person_schema, table_schema
from sfumato.private.intake.many_files import FilesSource
from sfumato.private.intake.persons import LimitedSource
from sfumato.private.intake.places import local_path
from sfumato.private.intake.places_of_tables import table_places
from sfumato.private.intake.source import Source
from sfumato.private.intake.sources import open_source
from sfumato.private.intake.stretches import stretches_of
from sfumato.private.intake.together import brought_together
from sfumato.private.intake.unchanged import Unchanged, fingerprint
from sfumato.public.schema.schema import Batch, Schema, schema_of


def _refuse(what: str) -> Callable[..., NoReturn]:
    def refusal(self: object, *args: object, **options: object) -> NoReturn:
        """Refuse, whatever is asked."""
        raise PrivacyError(f"{what} would show private rows. Go through sfumato.fit, which charges for what it reads.")

    return refusal


class Sensitive:
    """A private dataset. Only its schema is public.

    Whatever would show a row, their number, or whether two datasets are the same raises PrivacyError. This
    guards against accidents in notebooks, logs and pickles; it is no wall against code that means to get in.

    >>> import numpy as np
    >>> from sfumato.public.schema.schema import Column
    >>> schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 100)),))
    >>> Sensitive.read({"age": np.array([41])}, schema)
    <Sensitive: rows withheld>
    """

    __slots__ = ("__before_reading", "__schema", "__source", "__weakref__")

    def __init__(self, source: Source, *, schema: Schema, before_reading: Callable[[], None] = lambda: None) -> None:
        """Take an opened source. `Sensitive.read` opens one. `before_reading` is called whenever rows are about to be read."""
        object.__setattr__(self, "_Sensitive__schema", schema)
        object.__setattr__(self, "_Sensitive__source", source)
        object.__setattr__(self, "_Sensitive__before_reading", before_reading)

    @classmethod
    def read(cls, data: Any, schema: Schema | str | Path) -> "Sensitive":
        """Open a path or in-memory data under a schema; no row is read yet.

        Args:
            data: a path, a folder, a glob, a URL or a list of these, a `Query`, a frame, a table, or a dict of arrays; see
                docs/guide/where-data-lives.md. Of several tables a dict of these, a folder with a file for each, or a database.
            schema: what is public about the data, or the path of its file.

        Raises:
            SourceError: the file is missing, is not what its name says, or lacks a declared column.
        """
        schema = schema_of(schema)
        if schema.tables:
            return cls(open_histories(data, schema), schema=schema)
        private_source = _open_unchanging(data, schema)
        if schema.unit.person is not None:
            private_source = LimitedSource(private_source, person=schema.unit.person, max_rows=schema.unit.max_rows)
        return cls(private_source, schema=schema)

    @property
    def schema(self) -> Schema:
        """What is public about the rows."""
        return _schema_of(self)

    def __repr__(self) -> str:
        """The same text for every dataset."""
        return "<Sensitive: rows withheld>"

    def __setattr__(self, name: str, value: object) -> NoReturn:
        """Refuse: a dataset keeps its rows and its schema."""
        raise PrivacyError("a Sensitive cannot be changed. Read the data again with the schema that you want.")

    def __dir__(self) -> list[str]:
        """What a person may use; the same for every dataset."""
        return ["read", "schema"]

    def __hash__(self) -> int:
        """By identity, so that it can be a key; whether two datasets are equal is not for asking."""
        return id(self)

    __len__ = __bool__ = __length_hint__ = _refuse("the length")
    __getitem__ = __iter__ = __reversed__ = __contains__ = _refuse("a row")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse("a comparison")
    __copy__ = __deepcopy__ = __replace__ = _refuse("a copy")
    __reduce__ = __reduce_ex__ = __getstate__ = _refuse("a pickle")
    __array__ = __dlpack__ = to_numpy = _refuse("an array")
    __dataframe__ = __arrow_c_stream__ = __arrow_c_array__ = to_pandas = _refuse("a table")
    __dict__ = property(_refuse("the insides"))  # what vars() looks up


def _open_unchanging(data: Any, schema: Schema) -> Source:
    """A source of one table. If its file is another one later, nothing is released."""
    path = local_path(data) if isinstance(data, str | os.PathLike) else None
    seen = "" if path is None else fingerprint(path)
    private_source = open_source(data, schema)
    if path is not None and not isinstance(private_source, FilesSource):  # which looks at each of its files
        private_source = Unchanged(private_source, path=path, seen=seen)
    return private_source


def open_histories(data: Any, schema: Schema) -> HistorySource:
    """A source for every table of a schema, each opened by itself."""
    places = table_places(data, schema.table_names)
    private_events = {t.name: _open_table(t.name, places[t.name], table_schema(t)) for t in schema.tables}
    if schema.persons is None:  # everybody whom the one table names is a person
        return HistorySource(private_events[schema.tables[0].name], private_events, schema=schema)
    private_persons = _open_table(schema.persons, places[schema.persons], person_schema(schema))
    return HistorySource(private_persons, private_events, schema=schema)


def _open_table(name: str, data: Any, schema: Schema) -> Source:
    """One of several tables. What is wrong with it is said by its name."""
    try:
        return _open_unchanging(data, schema)
    except SourceError as error:
        raise SourceError(f"table {name!r}: {error}") from None


def opened(data: Any, schema: Schema | str | Path | None) -> Sensitive:
    """Private rows as people hand them over: opened already, or with the schema that they are to be read by."""
    if isinstance(data, Sensitive):
        if schema is not None and schema_of(schema) != data.schema:
            raise SchemaError("the data was opened under another schema. Leave out schema, or open the data with it.")
        return data
    if isinstance(data, Schema):
        raise SchemaError(
            "a schema stands in the place of the data. Write sf.fit('auto', data, budget, schema=schema), or "
            "sf.synthesize(data, schema, epsilon=1)."
        )
    if schema is None:
        raise SchemaError(
            f"data of type {type(data).__name__} has no schema, which says what is public about it. Give schema=..., as "
            "sf.Schema.load('schema.toml') reads one; sfumato schema drafts it."
        )
    return Sensitive.read(data, schema)


#: Attributes are reached through these three, here and nowhere else.
_schema_of: Callable[[Sensitive], Schema] = operator.attrgetter("_Sensitive__schema")
_source_of: Callable[[Sensitive], Source] = operator.attrgetter("_Sensitive__source")
_before_of: Callable[[Sensitive], Callable[[], None]] = operator.attrgetter("_Sensitive__before_reading")


def _rows_of(sensitive: Sensitive) -> Source:
    """The source, for whoever reads rows from it: what has to be done before that is done here, so nobody can forget it."""
    _before_of(sensitive)()
    return _source_of(sensitive)


def charged_first(sensitive: Sensitive, charge: Callable[[], None]) -> Sensitive:
    """The same data, which gives no row before `charge` has returned. It is called at every way in."""
    before = _before_of(sensitive)

    def both() -> None:
        charge()
        before()

    return Sensitive(_source_of(sensitive), schema=sensitive.schema, before_reading=both)


def open_batches(sensitive: Sensitive, *, rows: int = 16384) -> Iterator[Batch]:
    """The one way in: encoded rows, chunk by chunk. Only the View may call this.

    Chunks hold at most `rows` rows, and may hold fewer anywhere in the stream: their sizes mean nothing.
    """
    schema = sensitive.schema
    names = [column.name for column in schema.columns]
    for private_raw in _rows_of(sensitive).chunks(names, rows=rows):
        yield conform(private_raw, schema)


def open_persons(sensitive: Sensitive, *, rows: int) -> Iterator[Batch]:
    """The same with the rows of a person side by side, in the order that they have in the data.

    Beside the columns, under the name of the person's own, which no column of a schema has, stands the number of each row's
    person, ascending. Where the unit is a row, there is no such name.
    """
    schema, source = sensitive.schema, _rows_of(sensitive)
    person, names = schema.unit.person, [column.name for column in schema.columns]
    if person is None:
        yield from open_batches(sensitive, rows=rows)
        return
    if isinstance(source, HistorySource):
        yield from source.batches(rows=rows)
        return
    if not isinstance(source, LimitedSource):
        raise PrivacyError("nobody has told the persons of these rows apart. Open the data with Sensitive.read.")

    def read() -> Iterator[Batch]:
        for private_raw, numbers in source.numbered_chunks(names, rows=rows):
            yield {**conform(private_raw, schema), person: numbers}

    yield from brought_together(read, source.numbers(rows=rows), person=person, rows=rows)


@dataclass(frozen=True)
class RawParts:
    """Rows as they lie, for engines that read them there: some parts, and whose rows they are."""

    rows: Any
    person: str | None = None
    max_rows: int = 1
    key: bytes = field(default=b"", repr=False)


def open_parts(sensitive: Sensitive) -> RawParts | None:
    """Parts that can be read by themselves, by another process too; None where there is only one way in. For engines alone."""
    source = _rows_of(sensitive)
    if not isinstance(source, LimitedSource):
        rows = getattr(source, "parts", None)
        return None if rows is None else RawParts(rows)
    rows = getattr(source.source, "parts", None)
    return None if rows is None else RawParts(rows, source.person, source.max_rows, source.key)


def open_stretches(sensitive: Sensitive, *, stretches: int, least: int) -> list[Source]:
    """The rows of local files in so many stretches, for as many processes; none where there are hardly so many rows.

    Persons are told apart by all of their rows, so where they are the unit one process reads. For engines alone.
    """
    return stretches_of(_rows_of(sensitive), stretches=stretches, least=least)


def require_same_files(sensitive: Sensitive) -> None:
    """Refuse files that came or went since the data was opened."""
    source = _source_of(sensitive)
    source = source.source if isinstance(source, LimitedSource) else source
    if isinstance(source, FilesSource):
        source.require_same_files()


def with_schema(sensitive: Sensitive, schema: Schema) -> Sensitive:
    """The same rows under a schema that says more of them, as a discovery leaves it."""
    source = _source_of(sensitive)
    private_source = source.under(schema) if isinstance(source, HistorySource) else source
    return Sensitive(private_source, schema=schema, before_reading=_before_of(sensitive))


def with_key(sensitive: Sensitive, key: bytes) -> Sensitive:
    """The same data; where persons have more rows than they may, which of them count is drawn by this key."""
    source = _source_of(sensitive)
    if not isinstance(source, LimitedSource | HistorySource):
        return sensitive
    return Sensitive(source.keyed(key), schema=sensitive.schema, before_reading=_before_of(sensitive))


def resourced(sensitive: Sensitive, change: Callable[[Source], Source]) -> Sensitive:
    """The same data behind another source of its rows: some of them, say."""
    return Sensitive(change(_source_of(sensitive)), schema=sensitive.schema, before_reading=_before_of(sensitive))


def follows_values(sensitive: Sensitive) -> bool:
    """Whether rows lie where their values say, as after ORDER BY: then a row that is replaced does not keep its place."""
    return bool(getattr(_source_of(sensitive), "follows_values", False))


def count_rows(sensitive: Sensitive) -> int:
    """The number of rows, where it is public: under `replace_one`, after the limit of rows for each person."""
    schema = sensitive.schema
    if schema.unit.relation != "replace_one":
        raise PrivacyError(
            "under add_or_remove the number of rows is private. Measure it with a noisy count, declare an "
            'approximate rows = ... in schema.toml, or choose relation = "replace_one".'
        )
    # The last column that is no image is the cheapest to read.
    names = [c.name for c in schema.columns if c.kind != "image"] or [c.name for c in schema.columns]
    name = names[-1] if names else str(schema.unit.person)
    return sum(len(private_raw[name]) for private_raw in _rows_of(sensitive).chunks([name], rows=65536))
