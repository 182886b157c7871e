"""Where the lines are: a database in which rows are only ever added, one transaction for each."""

import contextlib
import random
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.engine import URL, Connection, Engine, make_url
from sqlalchemy.pool import NullPool

from sfumato.errors import LedgerError, MissingLibraryError, VerificationError
from sfumato.ledger.chain import Line

VERSION = 1
T = TypeVar("T")
#: How long a ledger that does not answer is asked again: while it is opened, and once it has answered.
_SECONDS_TO_OPEN, _SECONDS = 5.0, 60.0

_tables = sa.MetaData()
_about = sa.Table(
    "sfumato_ledger",
    _tables,
    sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("identity", sa.String(32), nullable=False),
)
_lines = sa.Table(
    "sfumato_ledger_lines",
    _tables,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("attempt", sa.String(32), nullable=False, unique=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("digest", sa.String(64), nullable=False),
    sa.Column("signature", sa.Text),
    sa.Index("sfumato_ledger_by_dataset", "dataset", "number"),
)
_LINE = (_lines.c.body, _lines.c.digest, _lines.c.signature)


@dataclass(frozen=True)
class Ends:
    """What a new line follows: the last line of all, the last of its dataset, and the last that says where the ledger is."""

    last: Line | None
    of_dataset: Line | None
    of_place: Line | None


class Store:
    """A database of lines. `append` is the only way to change it."""

    def __init__(self, url: str, *, create: bool = False) -> None:
        self.url = _checked_url(url)
        #: The address without a password, for people.
        self.shown = self.url.render_as_string(hide_password=True)
        self._engine = _engine_of(self.url)
        file = self.url.database if self.url.get_backend_name() == "sqlite" else None
        if create:
            self._create()
        elif file is not None and not Path(file).exists():  # SQLite would make one
            raise LedgerError(_nowhere(self.shown))
        self.identity = self._identity()

    def append(self, attempt: str, dataset: str, make: Callable[[Ends], Line]) -> Line:
        """Add the line that `make` gives for the ends of the chain, in one transaction that is stored when this returns.

        Where the connection is lost, nobody knows whether it was. So the same attempt is made again, and a line that has its
        key already is the answer: it is never added twice.
        """

        def once() -> Line:
            with self._transaction(writes=True) as connection:
                # PostgreSQL waits here for whoever is before us; SQLite did when the transaction began.
                connection.execute(sa.select(_about.c.version).with_for_update()).one()
                there = connection.execute(sa.select(*_LINE).where(_lines.c.attempt == attempt)).first()
                if there is not None:
                    return Line.read(*there)
                line = make(self._ends(connection, dataset))
                connection.execute(sa.insert(_lines).values(_columns(line)))
                return line

        return self._persistently(once)

    def lines(self, *, after: int = 0) -> Iterator[tuple[Any, ...]]:
        """All rows in their order, as they lie: number, dataset, attempt, body, digest, signature."""

        def some(first: int) -> list[Any]:
            query = sa.select(_lines).where(_lines.c.number > first).order_by(_lines.c.number).limit(500)
            with self._transaction(writes=False) as connection:
                return list(connection.execute(query))

        while rows := self._persistently(partial(some, after)):
            yield from (tuple(row) for row in rows)
            after = rows[-1].number

    def ends(self, dataset: str) -> Ends:
        """The ends of the chain, as they are now."""

        def once() -> Ends:
            with self._transaction(writes=False) as connection:
                return self._ends(connection, dataset)

        return self._persistently(once)

    def place(self) -> str:
        """Where the database lies, in words that a copy of it would not share."""
        if self.url.get_backend_name() == "sqlite":
            path = Path(self.url.database or "").resolve()
            return f"{path} (inode {path.stat().st_ino})"

        def once() -> str:
            with self._transaction(writes=False) as connection:
                name = connection.execute(sa.select(sa.func.current_database())).scalar_one()
                known = sa.table("pg_database", sa.column("datname"), sa.column("oid"))
                oid = connection.execute(sa.select(known.c.oid).where(known.c.datname == name)).scalar_one()
                return f"{self.url.host or 'local'} {name} (oid {oid})"

        return self._persistently(once)

    def _ends(self, connection: Connection, dataset: str) -> Ends:
        known: dict[Any, Line] = {}

        def last(*where: Any) -> Line | None:
            found = connection.execute(
                sa.select(*_LINE).where(*where).order_by(_lines.c.number.desc()).limit(1)
            ).first()
            if found is None:
                return None
            row = tuple(found)
            return known.setdefault(row, known.get(row) or _read(row))

        return Ends(last(), last(_lines.c.dataset == dataset), last(_lines.c.dataset == ""))

    def _create(self) -> None:
        def once() -> None:
            with self._transaction(writes=True) as connection:
                if sa.inspect(connection).has_table(_about.name):
                    raise LedgerError(f"there is a ledger at {self.shown} already. It is not replaced.")
                _tables.create_all(connection)
                connection.execute(sa.insert(_about).values(version=VERSION, identity=secrets.token_hex(16)))

        self._persistently(once)

    def _identity(self) -> str:
        def once() -> Any:
            with self._transaction(writes=False) as connection:
                if not sa.inspect(connection).has_table(_about.name):
                    raise LedgerError(_nowhere(self.shown))
                return connection.execute(sa.select(_about)).all()

        rows = self._persistently(once, seconds=_SECONDS_TO_OPEN)
        if len(rows) != 1:
            raise VerificationError(
                f"the ledger at {self.shown} says {len(rows)} times which one it is. It was changed by hand."
            )
        if rows[0].version > VERSION:
            raise LedgerError(
                f"the ledger at {self.shown} is of version {rows[0].version}, and this sfumato knows {VERSION}. Update sfumato."
            )
        return str(rows[0].identity)

    @contextlib.contextmanager
    def _transaction(self, *, writes: bool) -> Iterator[Connection]:
        with self._engine.connect().execution_options(writes=writes) as connection, connection.begin():
            yield connection

    def _persistently(self, once: Callable[[], T], *, seconds: float = _SECONDS) -> T:
        """Try again where somebody else was first, or a connection was lost."""
        end = time.monotonic() + seconds
        while True:
            try:
                return once()
            except exc.DBAPIError as error:
                why = _reason(error)
                if why is not None:
                    raise LedgerError(f"the ledger at {self.shown} {why}. Nothing was charged.") from None
                # Where SQLite says that it is locked, others are at work: that is worth a longer wait than silence.
                if time.monotonic() > end + ("locked" in str(error.orig)) * 9 * seconds:
                    raise LedgerError(f"the ledger at {self.shown} cannot be reached. No row was read.") from None
            time.sleep(random.uniform(0.001, 0.03))  # by chance, so that all who wait have the same chance


def _nowhere(shown: str) -> str:
    return f"there is no ledger at {shown}. Make one: sfumato ledger init {shown}"


def _columns(line: Line) -> dict[str, Any]:
    return {name: getattr(line, name) for name in ("number", "dataset", "attempt", "body", "digest", "signature")}


def _read(row: Any) -> Line:
    try:
        return Line.read(*row)
    except VerificationError as error:
        raise LedgerError(f"the ledger was changed by hand: {error} See sfumato ledger verify.") from None


def _checked_url(text: str) -> URL:
    try:
        url = make_url(text)
    except exc.ArgumentError:
        raise LedgerError(
            "the ledger's address is no URL. Write sqlite:///ledger.db, or postgresql://host/database."
        ) from None
    backend = url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or not url.database or url.database == ":memory:":
        raise LedgerError(f"a ledger is kept in sqlite:///FILE or in postgresql://..., not in {backend}.")
    return url


def _engine_of(url: URL) -> Engine:
    try:
        engine = sa.create_engine(url, poolclass=NullPool)
    except ModuleNotFoundError:
        raise MissingLibraryError(
            "a ledger in PostgreSQL needs psycopg: pip install 'sfumato[ledger-postgres]'"
        ) from None
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _settle_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _settle_sqlite(raw: Any, record: Any) -> None:
    raw.isolation_level = None  # transactions are begun below, not by Python
    # Waiting is done in `_persistently`. SQLite's own way lets those who came last go first: of 32 processes some never came.
    raw.execute("PRAGMA busy_timeout=500")
    raw.execute("PRAGMA synchronous=FULL")  # a commit is on the disk when it returns


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that will write waits at its beginning for all others, so that it reads what they have written.
    if not connection.get_execution_options().get("writes"):
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql("BEGIN IMMEDIATE")
    connection.exec_driver_sql(
        f"PRAGMA busy_timeout={int(_SECONDS * 1000)}"
    )  # its turn has come: readers will be gone soon


#: What SQLite says, and what a person should hear. All else is tried again.
_LASTING = {
    "readonly": "cannot be written: the file is read-only",
    "disk is full": "cannot be written: the disk is full",
    "disk i/o error": "cannot be written: the disk reports an error",
    "unable to open": "cannot be opened: there is no such folder, or it may not be read",
    "not a database": "is no database: the file holds something else",
    "malformed": "is damaged. Restore it from a backup, and say so: sfumato ledger moved",
    "no such table": "holds no lines",
    "permission denied": "may not be used by this account",
    "password authentication": "does not accept the password",
    "does not exist": "is not there",
}


def _reason(error: exc.DBAPIError) -> str | None:
    """Why it is of no use to try again; None where it may be of use."""
    said = str(error.orig).lower()
    return next((reason for words, reason in _LASTING.items() if words in said), None)
