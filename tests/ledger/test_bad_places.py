"""Full disks, read-only files, other versions, copies, clocks that go back: a sentence each, and nothing is charged."""

import datetime
import os
import shutil
import sqlite3

import dp_accounting as dpa
import pytest
import sqlalchemy as sa
from books import book, charge, new_ledger

from sfumato.errors import LedgerError, VerificationError
from sfumato.ledger import chain
from sfumato.ledger.ledger import Ledger


def file_of(ledger):
    return ledger.shown.removeprefix("sqlite:///")


@pytest.mark.parametrize("url", ["nonsense", "sqlite://", "sqlite:///:memory:", "mysql://host/x"])
def test_addresses_that_are_none(url):
    with pytest.raises(LedgerError, match=r"sqlite:///"):
        Ledger(url)


def test_where_there_is_no_ledger(address, tmp_path, monkeypatch):
    with pytest.raises(LedgerError, match="there is no ledger at"):
        Ledger(address())
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger.create(f"sqlite:///{tmp_path}/no/such/folder/ledger.db")
    (tmp_path / "notes.txt").write_text("these are notes, and no database at all, " * 40)
    with pytest.raises(LedgerError, match="is no database"):
        Ledger(f"sqlite:///{tmp_path}/notes.txt")
    monkeypatch.delenv("SFUMATO_LEDGER", raising=False)
    with pytest.raises(LedgerError, match="no ledger is named"):
        Ledger()


def test_a_ledger_is_not_made_twice(address):
    url = address()
    first = Ledger.create(url)
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(url)
    assert Ledger(url).identity == first.identity


def test_no_file_is_left_where_there_was_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(f"sqlite:///{tmp_path}/ledger.db")
    assert not (tmp_path / "ledger.db").exists()


def test_a_newer_version_is_refused(sqlite):
    ledger = new_ledger(sqlite)
    with sqlite3.connect(file_of(ledger)) as connection:
        connection.execute("UPDATE sfumato_ledger SET version = 2")
    with pytest.raises(LedgerError, match=r"version 2, and this sfumato knows 1\. Update"):
        Ledger(ledger.shown)


def test_two_identities_are_refused(sqlite):
    ledger = new_ledger(sqlite)
    with sqlite3.connect(file_of(ledger)) as connection:
        connection.execute("INSERT INTO sfumato_ledger VALUES (0, 'x')")
    with pytest.raises(VerificationError, match="2 times"):
        Ledger(ledger.shown)


def test_a_disk_that_is_full(sqlite):
    ledger = new_ledger(sqlite)
    store = ledger._book.store

    def tiny(raw, record):
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count={pages}")  # what SQLite then says is what it says of a full disk

    sa.event.listen(store._engine, "connect", tiny)

    def fill():
        for _ in range(20):
            charge(ledger, dpa.GaussianDpEvent(40.0))

    with pytest.raises(LedgerError, match=r"the disk is full\. Nothing was charged"):
        fill()
    sa.event.remove(store._engine, "connect", tiny)
    assert Ledger(ledger.shown).verify().ok


def test_a_read_only_file_can_be_read(sqlite):
    ledger = new_ledger(sqlite)
    booking = book(ledger.dataset("patients"))

    def closed(raw, record):
        raw.execute("PRAGMA query_only=1")

    if os.geteuid():
        os.chmod(file_of(ledger), 0o400)
    else:  # root writes whatever it likes, so SQLite is told not to
        sa.event.listen(ledger._book.store._engine, "connect", closed)
    with pytest.raises(LedgerError, match="read-only"):
        booking()
    assert ledger.show()["patients"]["releases"] == 0


def test_a_copy_is_no_ledger(sqlite, tmp_path):
    ledger = new_ledger(sqlite)
    charge(ledger)
    copy = tmp_path / "copy.db"
    shutil.copy(file_of(ledger), copy)
    twin = Ledger(f"sqlite:///{copy}")
    assert twin.show() == ledger.show()  # it can be read
    with pytest.raises(LedgerError, match="it may be a copy"):
        charge(twin)
    twin.moved()
    told = charge(twin)
    kinds = [line.kind for line in twin.lines()]
    assert kinds == ["created", "added", "charge", "moved", "charge"]
    assert told.digest not in {line.digest for line in ledger.lines()}


def test_a_clock_that_goes_back(sqlite, monkeypatch):
    ledger = new_ledger(sqlite)
    charge(ledger)
    last = [*ledger.lines()][-1].at

    real = datetime.datetime

    class Clock(real):
        behind = datetime.timedelta(0)

        @classmethod
        def now(cls, tz=None):
            return real.now(tz) - cls.behind

    monkeypatch.setattr(chain.datetime, "datetime", Clock)
    Clock.behind = datetime.timedelta(seconds=300)
    charge(ledger)
    assert [*ledger.lines()][-1].at >= last  # a little is put right
    Clock.behind = datetime.timedelta(days=2)
    with pytest.raises(LedgerError, match="Set the clock"):
        charge(ledger)
    assert ledger.state("patients").releases == 2


def test_passwords_are_not_shown(monkeypatch):
    monkeypatch.setattr("sfumato.ledger.store._SECONDS_TO_OPEN", 0.1)
    with pytest.raises(LedgerError) as refused:
        Ledger("postgresql://me:hunter2@/nowhere?host=/no/such/folder&connect_timeout=1")
    assert "hunter2" not in str(refused.value)
