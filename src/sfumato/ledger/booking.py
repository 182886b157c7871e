"""One attempt at a release: charged when the first row is about to be read, once, and never a second time.

It is light to import: a database is only spoken to where a ledger is asked for.
"""

import threading
from typing import TYPE_CHECKING, Any, Protocol

import dp_accounting as dpa

from sfumato.errors import LedgerError, PlanError
from sfumato.ledger.environment import default_url
from sfumato.public.accounting import event_to_json
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.certificate.statement import Statement
from sfumato.public.plan.discovery import event_to_book
from sfumato.public.schema.schema import sketch
from sfumato.scoring.step import score_plan

if TYPE_CHECKING:
    from sfumato.ledger.accounts import Account, Left
    from sfumato.outlook.planning import PlannedRelease


class Charges(Protocol):
    """What a release needs of an account. Twins have others than `ledger/accounts.py`."""

    def check(self, asked: dict[str, Any]) -> None:
        """Refuse, before anything is done, what would be refused now."""

    def charge(self, asked: dict[str, Any]) -> Statement:
        """Store the charge. When this returns, rows may be read."""

    def covers(self, statement: Statement, event: dpa.DpEvent, *, unit: PrivacyUnit) -> bool:
        """Whether what was charged is enough for what is released."""

    def written(self, statement: Statement, certificate: str) -> None:
        """Keep the certificate of what was released."""


class Booking:
    """What is asked of an account for one release, and the statement once it is charged."""

    def __init__(
        self,
        account: Charges,
        *,
        event: dpa.DpEvent,
        unit: PrivacyUnit,
        budget: Budget,
        mechanism: str,
        apart: dpa.DpEvent | None = None,
    ) -> None:
        """Refuses what would be refused, and charges nothing."""
        self._account, self._unit = account, unit
        self._asked = asked_of(event, unit=unit, budget=budget, mechanism=mechanism, apart=apart)
        self._lock = threading.Lock()
        self._statement: Statement | None = None
        account.check(self._asked)

    def __call__(self) -> None:
        """Charge, unless that is done: whoever opens rows calls this first."""
        with self._lock:
            if self._statement is None:
                self._statement = self._account.charge(self._asked)

    def statement(self, event: dpa.DpEvent) -> Statement:
        """The ledger's word on what was released. A release that has cost more than its charge is not handed out."""
        self()
        if self._statement is None or not self._account.covers(self._statement, event, unit=self._unit):
            raise PlanError("the release has cost more than the ledger was charged, so it is not handed out.")
        return self._statement

    def written(self, certificate: str) -> None:
        """Keep the certificate in the ledger."""
        if self._statement is not None:
            self._account.written(self._statement, certificate)


def asked_of(
    event: dpa.DpEvent, *, unit: PrivacyUnit, budget: Budget, mechanism: str, apart: dpa.DpEvent | None = None
) -> dict[str, Any]:
    """What an account is asked: what will be done, and what is claimed for it. Nothing of the rows.

    `apart`: what is done with units that are set apart, and in no other step.
    """
    promise = {"epsilon": budget.epsilon, "delta": budget.delta}
    asked = {"event": event_to_json(event), "unit": unit, "mechanism": mechanism, **promise}
    return asked if apart is None else {**asked, "apart": event_to_json(apart)}


def account_of(ledger: Any, dataset: str | None) -> Charges | None:
    """The account that is meant: of an address or a `Ledger` and a dataset's name, or one that is opened already.

    Where SFUMATO_LEDGER is set, nothing is released past it: a dataset has to be named.
    """
    if ledger is None and default_url() is None:
        if dataset is not None:
            raise LedgerError(f"dataset {dataset!r} is named, and no ledger. Give one, or set SFUMATO_LEDGER.")
        return None
    if hasattr(ledger, "charge"):
        if dataset is not None:
            raise LedgerError("the account is of a dataset already. Leave out its name.")
        account: Charges = ledger
        return account
    if dataset is None:
        where = "a ledger is given" if ledger is not None else "SFUMATO_LEDGER is set"
        raise LedgerError(f"{where}, and no dataset of it. Say whose rows these are: dataset=... (--dataset).")
    from sfumato.ledger.ledger import Ledger

    opened = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    return opened.dataset(dataset)


def left_after(planned: "PlannedRelease", account: "Account | None", *, score: bool = False) -> "Left | None":
    """What a planned release, with a private score or without, would leave of its dataset. Nothing is charged."""
    if account is None:
        return None
    schema, budget = planned.schema, planned.budget
    event = event_to_book(planned.plan, schema, budget)
    apart = score_plan(sketch(schema), budget).event if score else None
    return account.left_after(
        asked_of(event, unit=schema.unit, budget=budget, mechanism=planned.mechanism.name, apart=apart)
    )
