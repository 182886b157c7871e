"""An account: one dataset of a ledger, for one recipient and purpose, as a release charges it before it reads a row."""

import contextlib
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import Any

import dp_accounting as dpa

from sfumato.errors import LedgerError
from sfumato.folder.signing import SigningKey
from sfumato.ledger.book import Book
from sfumato.ledger.chain import Line, time_after
from sfumato.ledger.rules import ApprovalNeeded, Request, State, charged, fitting_epsilon
from sfumato.public.accounting import event_from_json
from sfumato.public.accounting.charging import charge_for
from sfumato.public.accounting.spend import NOTHING, Spend
from sfumato.public.budget import PrivacyUnit
from sfumato.public.certificate.statement import Statement, canonical
from sfumato.public.strict_json import parse_json


@dataclass(frozen=True)
class Left:
    """What a release would cost, what would be left after it, and what the rest could still buy."""

    charged: Spend
    left: Spend
    limit: Spend
    again: int
    epsilon: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """For people."""
        part = self.charged.mu_squared / max(1, self.limit.mu_squared)
        return (
            f"This release costs mu {self.charged.mu:.4g}, {part:.1%} of the total in squares of mu.",
            f"Left after it: mu {self.left.mu:.4g}, for {self.again} more of this kind, or for one of epsilon {self.epsilon:g}.",
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        mus = {"mu_charged": self.charged.mu, "mu_left": self.left.mu, "mu_limit": self.limit.mu}
        return {**mus, "more_of_this_kind": self.again, "epsilon_that_fits": self.epsilon}


class Account:
    """One dataset of a ledger. `sfumato.fit` and all that is built on it take it as `ledger`."""

    def __init__(
        self,
        book: Book,
        dataset: str,
        *,
        recipient: str | None,
        purpose: str | None,
        periods: tuple[str, ...],
        sign: SigningKey | None,
    ) -> None:
        self._book, self.name, self._sign = book, dataset, sign
        self._for: dict[str, Any] = {"recipient": recipient, "purpose": purpose, "periods": periods}

    def __repr__(self) -> str:
        return f"<Account: {self.name!r} in {self._book.store.shown}>"

    def check(self, asked: dict[str, Any]) -> None:
        """Refuse what would be refused now. What only lacks signatures passes: the charge enters it as a request.

        What the release costs is computed here, and remembered: nobody waits for that in the transaction of the charge.
        """
        with contextlib.suppress(ApprovalNeeded):
            self.left_after(asked)

    def left_after(self, asked: dict[str, Any]) -> Left:
        """What a release would leave. Nothing is charged."""
        state, request = self._book.state(self.name), self._request(asked)
        spend = known_spend(request, state)
        if state.closed:
            raise LedgerError(f"the dataset {self.name!r} is closed: nothing more is released of it.")
        at = time_after(None)
        after = charged(state, request, spend, key=None if self._sign is None else self._sign.public_text, at=at)
        limits = state.policy.limits(recipient=request.recipient, purpose=request.purpose)
        left = [
            after.sums(block)[scope].left_of(limit)
            for block in (sorted(request.periods) or [""])
            for scope, limit in limits.items()
        ]
        least = Spend(min(one.mu_squared for one in left), min(one.failure for one in left))
        again = least.mu_squared // spend.mu_squared
        if spend.failure:
            again = min(again, least.failure // spend.failure)
        return Left(spend, least, state.policy.limit, again, fitting_epsilon(least, delta=request.delta))

    def charge(self, asked: dict[str, Any]) -> Statement:
        """Add the charge to the ledger: one transaction, which is stored when this returns."""
        request = self._request(asked)

        def content(state: State | None) -> dict[str, Any]:
            if state is None:
                raise LedgerError(f"the ledger has no dataset {self.name!r}.")
            return {"request": request.to_json(), "spend": known_spend(request, state).to_json()}

        return signed_statement(self._book.append("charge", self.name, content, sign=self._sign), self._sign)

    def covers(self, statement: Statement, event: dpa.DpEvent, *, unit: PrivacyUnit) -> bool:
        """Whether what was charged is enough for an event tree."""
        cost = charge_for(
            event, unit=unit, counted=statement.unit, delta=statement.delta, periods=len(statement.periods)
        )
        return cost.fits(Spend(*statement.charged))

    def written(self, statement: Statement, certificate: str) -> None:
        """Keep the certificate beside its charge."""
        kept = {"line": statement.line, "certificate": parse_json(certificate, what="the certificate")}
        self._book.append("released", self.name, lambda state: kept, sign=self._sign)

    def without_privacy(self, method: str) -> None:
        """Enter an output that has no privacy, where the policy allows it: before its rows are read."""
        told = {"method": method, **self._for, "periods": list(self._for["periods"])}
        self._book.append("non_private", self.name, lambda state: told, sign=self._sign)

    def _request(self, asked: dict[str, Any]) -> Request:
        return Request(**asked, **self._for)


def signed_statement(line: Line, sign: SigningKey | None) -> Statement:
    """What the certificate carries of a charge."""
    statement = statement_of(line)
    if sign is None:
        return statement
    keyed = replace(statement, key=sign.public_text, signature="")
    return replace(keyed, signature=sign.vouch(keyed.signed_text()))


def statement_of(line: Line) -> Statement:
    """A charge in the words of a certificate, unsigned: a function of its line."""
    state = line.state
    if state is None or line.kind != "charge":
        raise LedgerError("only a charge has a statement.")
    periods = tuple(line.content["request"]["periods"])
    sums = [state.sums(block).get("total", NOTHING) for block in (periods or ("",))]
    return Statement(
        ledger=line.ledger,
        dataset=line.dataset,
        unit=state.unit,
        epsilon=state.policy.epsilon,
        delta=state.policy.delta,
        failures=state.policy.failures,
        release=state.releases,
        non_private=state.non_private,
        spent=(max(s.mu_squared for s in sums), max(s.failure for s in sums)),
        charged=(line.content["spend"][0], line.content["spend"][1]),
        periods=periods,
        line=line.number,
        digest=line.digest,
    )


def known_spend(request: Request, state: State) -> Spend:
    """What a release costs a dataset: the larger cost, where some units are set apart. docs/proofs/private-score.md.

    Remembered, because those of sampled releases take seconds.
    """
    where = request.unit, state.unit, state.policy.delta, len(request.periods)
    return reduce(Spend.or_else, (_remembered(canonical(event), *where) for event in request.events))


@lru_cache(maxsize=64)
def _remembered(event: str, unit: PrivacyUnit, counted: PrivacyUnit, delta: float, periods: int) -> Spend:
    tree = event_from_json(parse_json(event, what="an event"))
    return charge_for(tree, unit=unit, counted=counted, delta=delta, periods=periods)
