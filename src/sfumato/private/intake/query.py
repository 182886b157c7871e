"""Rows of a database: which table or SELECT is meant, and how it is read the same way at every pass."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from sfumato.errors import SourceError
from sfumato.private.intake.databases import Database, DuckDb, PostgreSql, Sqlite
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.remote import without_password
from sfumato.private.intake.values import Values

_POSTGRES = ("postgresql://", "postgres://")
_SUFFIXES = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
_WITHHELD = "The database's own message is withheld, because it may quote rows: run the query there to read it."


@dataclass(frozen=True, repr=False)
class Query:
    """Rows of a database: one of its tables, or what one SELECT gives.

    Args:
        database: the path of a DuckDB or SQLite file (or `duckdb:///PATH`, `sqlite:///PATH`), or a `postgresql://` URL.
        sql: one SELECT that writes nothing. Each row of it is a row of the data: see docs/guide/where-data-lives.md.
        table: the name of a table instead, or SCHEMA.TABLE.
        order_by: columns that put the rows into one order, such as the primary key. Default: all columns.

    >>> Query("postgresql://me:secret@db.example/clinic", table="visits")
    <Query of postgresql://db.example/clinic>
    """

    database: str | os.PathLike[str]
    sql: str | None = None
    _: KW_ONLY
    table: str | None = None
    order_by: Sequence[str] = ()

    def __post_init__(self) -> None:
        if (self.sql is None) == (self.table is None):
            raise SourceError(f"{self.shown} is a database: give either a table or a query of it.")
        if isinstance(self.order_by, str):
            object.__setattr__(self, "order_by", (self.order_by,))

    @property
    def shown(self) -> str:
        """The database as it may be shown: without a password."""
        return without_password(os.fspath(self.database))

    def __repr__(self) -> str:
        return f"<Query of {self.shown}>"


def is_database(place: str | os.PathLike[str]) -> bool:
    """Whether a text names a database, of which a table or a query has to be said."""
    text = os.fspath(place).lower()
    return text.startswith((*_POSTGRES, "duckdb:///", "sqlite:///")) or text.endswith(_SUFFIXES)


def refuse_whole(place: str | os.PathLike[str]) -> SourceError:
    """A database is no table: what to say instead, and which tables there are."""
    tables = _tables_of(_open_database(place))
    return SourceError(
        f"{without_password(os.fspath(place))} is a database: say which rows of it, with --table NAME or --query 'select ...' "
        f"(in Python: sf.Query(DATABASE, table='NAME')).{tables}"
    )


class QuerySource:
    """The rows of a query, in an order that its columns give. They are compared from pass to pass by `SameRows`."""

    follows_values = True  # rows lie in the order of their values

    def __init__(self, query: Query) -> None:
        """Ask for the names of its columns; no row is read."""
        self._database, self.shown = _open_database(query.database), query.shown
        if query.table is not None:
            sql = f"select * from {'.'.join(map(_quoted, query.table.split('.')))}"
            sentence = f"{self.shown} has no table {query.table!r} that can be read.{_tables_of(self._database)}"
        else:
            sql = (query.sql or "").strip().rstrip(";")
            sentence = f"{self.shown} does not run the query. It must be one SELECT that writes nothing. {_WITHHELD}"
        with withheld(sentence, self._database.errors):
            structure = self._database.structure(sql)
        #: Arrow's types of the columns, where the database has any.
        self.types: dict[str, Any] = structure if isinstance(structure, dict) else {}
        self.names = tuple(structure)
        missing = [name for name in query.order_by if name not in self.names]
        if missing:
            raise SourceError(
                f"order_by names {missing[0]!r}, which is no column of the query. Name columns that it has."
            )
        order = ", ".join(map(_quoted, query.order_by or self.names))
        self._rows = f"from (\n{sql}\n) as private_rows order by {order}"

    def chunks(self, names: Sequence[str], *, rows: int) -> Iterator[dict[str, Values]]:
        """The named columns in the order of all."""
        sentence = (
            f"{self.shown} did not give all rows of the query, so nothing is released: the database went away, a value is "
            f"not what the query casts it to, or a column has no order (then say order_by). {_WITHHELD}"
        )
        sql = f"select {', '.join(map(_quoted, names))} {self._rows}"
        with withheld(sentence, self._database.errors):
            yield from self._database.batches(sql, rows=rows)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _open_database(place: str | os.PathLike[str]) -> Database:
    text = os.fspath(place)
    if text.startswith(_POSTGRES):
        return PostgreSql(text)
    path = Path(text.partition(":///")[2] if text.startswith(("duckdb:///", "sqlite:///")) else text)
    with withheld(f"{path} does not exist, or cannot be read. Check the path.", (OSError,)), path.open("rb") as stream:
        head = stream.read(16)
    if head.startswith(b"SQLite format 3\0"):
        return Sqlite(path)
    if head[8:12] == b"DUCK":
        return DuckDb(path)
    raise SourceError(f"{without_password(text)} is no database of DuckDB or SQLite, and no postgresql:// URL.")


def _tables_of(database: Database) -> str:
    """The names of its tables, as a sentence: public structure."""
    with withheld("the tables of the database cannot be listed.", database.errors):
        chunks = list(database.batches(database.tables_sql, rows=1000))
    names = [str(name) for chunk in chunks[:1] for name in next(iter(chunk.values())).tolist()]
    return f" It has: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}." if names else " It has no tables."
