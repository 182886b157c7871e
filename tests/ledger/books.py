"""Ledgers for tests: in SQLite, in a real PostgreSQL where its programs are installed, and what is charged to them."""

import uuid
from collections.abc import Callable

import dp_accounting as dpa
import psycopg
from sqlalchemy.engine import make_url

from sfumato.ledger.booking import Booking
from sfumato.ledger.ledger import Ledger
from sfumato.public.budget import Budget, PrivacyUnit

ROW = PrivacyUnit()
#: Noise whose mu is a quarter: at (2, 1e-6) three of them fit, and no fourth.
QUARTER = dpa.GaussianDpEvent(4.0)


def new_ledger(address: Callable[[], str], *, epsilon: float = 2.0, **options) -> Ledger:
    ledger = Ledger.create(address())
    ledger.add("patients", epsilon=epsilon, delta=1e-6, **options)
    return ledger


def book(account, event=QUARTER, *, unit=ROW, epsilon=1.1, delta=1e-6) -> Booking:
    return Booking(account, event=event, unit=unit, budget=Budget(epsilon=epsilon, delta=delta), mechanism="test")


def charge(ledger: Ledger, event=QUARTER, *, dataset="patients", unit=ROW, epsilon=1.1, **whom):
    booking = book(ledger.dataset(dataset, **whom), event, unit=unit, epsilon=epsilon)
    booking()
    return booking.statement(event)


def new_database(server: str) -> str:
    """A database of its own on a server, and its address."""
    name = f"ledger_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return make_url(server).set(database=name).render_as_string(hide_password=False)
