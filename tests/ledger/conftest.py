"""Both databases: every test that asks for `address` is run on SQLite and on PostgreSQL."""

import itertools
import sys
from pathlib import Path

import pytest

from postgres_server import programs, running

sys.path.insert(0, str(Path(__file__).parent))

from books import new_database


@pytest.fixture(scope="session")
def postgres():
    """The address of a server that the tests have started."""
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL is not installed, nor pgserver: ledgers on PostgreSQL are skipped")
    with running(bin) as (url, _):
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request, tmp_path):
    """Gives an address of a new place for a ledger whenever it is called."""
    if request.param == "sqlite":
        numbers = itertools.count()
        return lambda: f"sqlite:///{tmp_path}/ledger-{next(numbers)}.db"
    server = request.getfixturevalue("postgres")
    return lambda: new_database(server)


@pytest.fixture
def sqlite(tmp_path):
    """The same for SQLite alone."""
    numbers = itertools.count()
    return lambda: f"sqlite:///{tmp_path}/ledger-{next(numbers)}.db"
