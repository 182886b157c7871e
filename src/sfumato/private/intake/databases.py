"""Databases that are read and never written: each one keeps one snapshot, so that every pass sees the same rows."""

import importlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import numpy as np

from sfumato.errors import MissingLibraryError, SourceError
from sfumato.private.intake.messages import withheld
from sfumato.private.intake.remote import without_password
from sfumato.private.intake.values import Values
from sfumato.public.damaged import DAMAGED

_OF_SCHEMA = (
    "select table_name from information_schema.tables where table_schema not in ('information_schema', 'pg_catalog') "
    "order by table_name"
)


class Database(Protocol):
    """A snapshot of a database. What its driver raises is one of `errors`, and may quote rows."""

    errors: tuple[type[Exception], ...]
    tables_sql: str

    def structure(self, sql: str) -> dict[str, Any] | list[str]:
        """The names of the columns of one SELECT, with their Arrow types where there are such; no row."""
        ...

    def batches(self, sql: str, *, rows: int) -> Iterator[dict[str, Values]]:
        """The rows of one SELECT, at most `rows` at a time."""
        ...


class DuckDb:
    """A DuckDB file. While it is open to be read, DuckDB lets no process write to it."""

    tables_sql = _OF_SCHEMA

    def __init__(self, path: Path) -> None:
        """Open it to be read; its queries reach no other file and no variable of this process."""
        duckdb = _driver("duckdb", f"{path} is a DuckDB database, and duckdb", extra="duckdb")
        self.errors: tuple[type[Exception], ...] = (duckdb.Error, *DAMAGED)
        config = {"enable_external_access": "false", "python_enable_replacements": "false"}
        config |= {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
        with withheld(_not_opened(path, "DuckDB"), self.errors):
            self._connection = duckdb.connect(str(path), read_only=True, config=config)
            self._select = duckdb.StatementType.SELECT

    def structure(self, sql: str) -> dict[str, Any]:
        """Names and types; several statements, or one that is no SELECT, are refused before anything runs."""
        if [statement.type for statement in self._connection.extract_statements(sql)] != [self._select]:
            raise ValueError("not one SELECT")
        relation = self._connection.cursor().sql(sql)
        if len(set(relation.columns)) != len(relation.columns):
            raise _twice()
        schema = self._connection.cursor().sql(f"select * from (\n{sql}\n) limit 0").to_arrow_reader(1).schema
        return dict(zip(schema.names, schema.types, strict=True))

    def batches(self, sql: str, *, rows: int) -> Iterator[dict[str, Values]]:
        """Streamed on a cursor of its own: another statement on it would end the stream."""
        for batch in self._connection.cursor().sql(sql).to_arrow_reader(rows):
            yield dict(zip(batch.schema.names, batch.columns, strict=True))


class Sqlite:
    """A SQLite file, within one read transaction. Its columns have no types: every value is read by itself."""

    errors: tuple[type[Exception], ...] = (sqlite3.Error, sqlite3.Warning, *DAMAGED)
    tables_sql = "select name from sqlite_master where type in ('table', 'view') order by name"

    def __init__(self, path: Path) -> None:
        """Open it to be read, and begin the transaction by a first look."""
        with withheld(_not_opened(path, "SQLite"), self.errors):
            uri = f"file:{quote(str(path.resolve()))}?mode=ro"
            self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False, isolation_level=None)
            # A text that is no UTF-8 would raise, for all rows: it keeps its bytes instead.
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            self._connection.execute("begin")
            self._connection.execute("select count(*) from sqlite_master").fetchall()

    def structure(self, sql: str) -> list[str]:
        """Names. Within brackets only a SELECT can stand, so that nothing else is ever run."""
        self._connection.execute(f"select * from (\n{sql}\n) limit 0").fetchall()
        names = [column[0] for column in self._connection.execute(sql).description]
        if len(set(names)) != len(names):
            raise _twice()
        return names

    def batches(self, sql: str, *, rows: int) -> Iterator[dict[str, Values]]:
        """Rows as Python objects, column by column."""
        cursor = self._connection.execute(sql)
        names = [column[0] for column in cursor.description]
        while private_rows := cursor.fetchmany(rows):
            columns = zip(*private_rows, strict=True)
            yield {n: np.fromiter(values, object, len(private_rows)) for n, values in zip(names, columns, strict=True)}


class PostgreSql:
    """A PostgreSQL server by way of ADBC. A connection that stays open keeps the snapshot that every pass imports."""

    tables_sql = _OF_SCHEMA
    _BEGIN = "begin transaction isolation level repeatable read read only"

    def __init__(self, url: str) -> None:
        """Connect, and keep the state of this moment."""
        shown = without_password(url)
        self._url = url
        self._dbapi = _driver("adbc_driver_postgresql.dbapi", f"{shown} is PostgreSQL, and its driver", extra="adbc")
        self.errors: tuple[type[Exception], ...] = (self._dbapi.Error, self._dbapi.Warning, *DAMAGED)
        why = "Check the address, that the server runs, and the password (better in PGPASSWORD or ~/.pgpass)."
        with withheld(f"{shown} cannot be reached. {why}", self.errors):
            self._keeper = self._dbapi.connect(url, autocommit=True)
            with self._keeper.cursor() as cursor:
                cursor.execute(self._BEGIN)
                cursor.execute("select pg_export_snapshot()")
                self._snapshot = str(cursor.fetchone()[0])

    def structure(self, sql: str) -> dict[str, Any]:
        """Names and types. Within brackets only a SELECT can stand, and the transaction writes nothing."""
        with self._connected() as connection, self._cursor(connection) as cursor:
            cursor.execute(f"select * from (\n{sql}\n) as private_rows limit 0")
            schema = cursor.fetch_record_batch().schema
        if len(set(schema.names)) != len(schema.names):
            raise _twice()
        return dict(zip(schema.names, schema.types, strict=True))

    def batches(self, sql: str, *, rows: int) -> Iterator[dict[str, Values]]:
        """Streamed on a connection of its own, under the snapshot."""
        with self._connected() as connection, self._cursor(connection) as cursor:
            cursor.execute(sql)
            for batch in cursor.fetch_record_batch():
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    yield dict(zip(part.schema.names, part.columns, strict=True))

    def _connected(self) -> Any:
        return self._dbapi.connect(self._url, autocommit=True)

    def _cursor(self, connection: Any) -> Any:
        cursor = connection.cursor()
        cursor.execute(self._BEGIN)
        cursor.execute(f"set transaction snapshot '{self._snapshot}'")
        return cursor


def _twice() -> SourceError:
    return SourceError("the query names a column twice. Give each its own name: select a.id, b.id as other_id, ...")


def _not_opened(path: Path, kind: str) -> str:
    return (
        f"{path} cannot be opened to be read as a {kind} database: it is damaged, or somebody has it open to write. Close it "
        "there, or give a copy."
    )


def _driver(module: str, needs: str, *, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingLibraryError(f"{needs} is not installed. Install it: pip install 'sfumato[{extra}]'") from None
