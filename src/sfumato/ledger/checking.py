"""The history again, from its first line to its last: every digest, signature, cost and sum, and the first line that is wrong."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from sfumato.errors import SfumatoError, VerificationError
from sfumato.folder import contents
from sfumato.ledger.accounts import known_spend, statement_of
from sfumato.ledger.chain import NO_LINE, Line
from sfumato.ledger.rules import Request, State, advance
from sfumato.ledger.store import Store
from sfumato.public.accounting.charging import charge_for, unit_factor
from sfumato.public.accounting.spend import FAILURE_UNITS, Spend
from sfumato.public.certificate.certificate import NAME, Certificate
from sfumato.public.certificate.statement import canonical
from sfumato.public.strict_json import parse_json
from sfumato.scoring.step import events_of
from sfumato.verification.replay import replay_epsilon

#: How far the second accountant's epsilon may lie above that of the mu that was charged: its own grid, and no more.
_REPLAYED = 5e-5


@dataclass(frozen=True)
class Checked:
    """What was found. `problem` names the first line that is wrong; None: there is none."""

    lines: int
    signed: int
    last_digest: str
    problem: str | None

    @property
    def ok(self) -> bool:
        """Whether every line is borne out."""
        return self.problem is None

    def raise_if_bad(self) -> None:
        """Raise with the problem, if there is one."""
        if self.problem is not None:
            raise VerificationError(self.problem)


class _History:
    """What has been read so far."""

    def __init__(self, identity: str) -> None:
        self.identity = identity
        self.last: Line | None = None
        self.states: dict[str, State | None] = {}
        self.charges: dict[int, Line] = {}
        self.signed = 0

    def add(self, row: tuple[Any, ...]) -> None:
        """Check one row against all before it."""
        number, dataset, attempt, *stored = row
        line = Line.read(*stored)
        expected = (1, NO_LINE) if self.last is None else (self.last.number + 1, self.last.digest)
        if (line.number, line.previous) != expected:
            raise VerificationError(
                "the line does not follow the one before it: a line was changed, taken out or put in."
            )
        if (number, dataset, attempt) != (line.number, line.dataset, line.attempt):
            raise VerificationError("the line is filed under another number, dataset or attempt than its own.")
        if line.ledger != self.identity or (self.last is None) != (line.kind == "created"):
            raise VerificationError("the line is of another ledger.")
        if self.last is not None and line.at < self.last.at:
            raise VerificationError("the line is older than the one before it.")
        before = self.states.get(line.dataset)
        if line.kind == "charge" and before is not None:
            _check_cost(line, before)
        if line.kind == "released":
            self._check_certificate(line)
        if advance(before, line.kind, line.content, key=line.key, at=line.at) != line.state:
            raise VerificationError(
                "the sums, the policy or the state of the line are not those that the lines before it give."
            )
        self.states[line.dataset], self.last = line.state, line
        self.signed += line.signature is not None
        if line.kind == "charge":
            self.charges[line.number] = line

    def _check_certificate(self, line: Line) -> None:
        charge = self.charges.get(line.content.get("line", 0))
        certificate = Certificate.from_json(line.content.get("certificate"))
        if charge is None or charge.state is None or charge.dataset != line.dataset or certificate.ledger is None:
            raise VerificationError("the certificate that is kept names no charge of its dataset.")
        _check_statement(certificate, charge)
        for event in events_of(certificate):
            cost = charge_for(
                event,
                unit=certificate.claim.unit,
                counted=charge.state.unit,
                delta=charge.state.policy.delta,
                periods=len(certificate.ledger.periods),
            )
            if not cost.fits(Spend(*charge.content["spend"])):
                raise VerificationError("the release has cost more than its charge, by the events of its certificate.")


def check_ledger(store: Store, *, releases: Sequence[str | Path] = ()) -> Checked:
    """Read the whole history, and look for what release folders say of it."""
    history = _History(store.identity)
    problem: str | None = None
    count = 0
    for row in store.lines():
        try:
            history.add(row)
        except (SfumatoError, LookupError, TypeError, ValueError, AttributeError) as error:
            why = str(error) if isinstance(error, SfumatoError) else "it holds what no line does."
            problem = f"line {row[0]}: {why}"
            break
        count += 1
    if problem is None and count == 0:
        problem = "line 1: it is missing, and the ledger holds no line at all."
    for folder in releases if problem is None else ():
        problem = problem or _check_folder(Path(folder), history)
    return Checked(count, history.signed, "" if history.last is None else history.last.digest, problem)


def _check_folder(folder: Path, history: _History) -> str | None:
    """Whether the history still holds what a release was told; a sentence where it does not."""
    try:
        certificate = Certificate.from_text(contents.read_plain(folder / NAME).decode())
        if certificate.ledger is None:
            return f"{folder} carries no statement of a ledger."
        charge = history.charges.get(certificate.ledger.line)
        if charge is None:
            raise VerificationError("the ledger has no such charge")
        _check_statement(certificate, charge)
    except (SfumatoError, UnicodeDecodeError) as error:
        return f"{folder} was told of another history than this one: {error}. A line was taken out, or the ledger is a copy."
    return None


def _check_statement(certificate: Certificate, charge: Line) -> None:
    told = certificate.ledger
    unsigned = None if told is None else {**told.to_json(), "key": None, "signature": None}
    if unsigned != statement_of(charge).to_json():
        raise VerificationError("the statement of the certificate is not the one of its charge.")


def _check_cost(line: Line, state: State) -> None:
    """Recompute a charge: by the accountant that made it, and by one that shares nothing with it."""
    request, stored = Request.from_json(line.content["request"]), Spend(*line.content["spend"])
    if known_spend(request, state) != stored:
        raise VerificationError("the charge is not what its events cost.")
    for event in map(canonical, request.events):
        _replay_cost(event, request, state, stored)


def _replay_cost(event: str, request: Request, state: State, stored: Spend) -> None:
    """Ask the second accountant what the events of either part of the units cost."""
    claimed = _replayed(event, request.delta, request.delta, request.unit.relation)
    if not claimed <= request.epsilon * (1 + _REPLAYED):
        raise VerificationError("the claim of the charge is smaller than what its events cost.")
    if unit_factor(request.unit, counted=state.unit, periods=len(request.periods)) == 1:
        delta = state.policy.delta
        left = delta - stored.failure / FAILURE_UNITS
        replayed = _replayed(event, left, delta, request.unit.relation)
        if left > 0 and not replayed <= stored.epsilon(delta) * (1 + _REPLAYED):
            raise VerificationError("the second accountant finds that the events cost more than the charge.")


@lru_cache(maxsize=256)
def _replayed(event: str, left: float, delta: float, relation: str) -> float:
    """The epsilon of an event tree at a delta, by the independent accountant."""
    if left <= 0:
        return math.inf
    return replay_epsilon(parse_json(event, what="an event"), delta=delta, relation=relation)
