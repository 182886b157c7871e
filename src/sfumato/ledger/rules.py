"""The filter: what a line does to the state of a dataset, or why it may not be written. A function of public facts alone.

The ledger asks it before it writes a line, and `verify` asks it again for every line that it reads.
"""

import hashlib
import math
import re
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.ledger.policy import Policy
from sfumato.public.accounting import epsilon_of_mu
from sfumato.public.accounting.spend import FAILURE_UNITS, NOTHING, Spend
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.certificate.statement import canonical, check_name
from sfumato.public.strict_json import read_fields, types_of

Kind = Literal[
    "created", "moved", "added", "policy", "request", "approval", "charge", "non_private", "released", "closed"
]
#: The one block of a dataset that is not counted by periods.
WHOLE = ""
_PERIODS = {"month": r"\d{4}-(0[1-9]|1[0-2])", "quarter": r"\d{4}-Q[1-4]", "year": r"\d{4}"}


@dataclass(frozen=True)
class State:
    """A dataset after a line: its unit, its policy, and the sums by block and by limit."""

    unit: PrivacyUnit
    policy: Policy
    version: int = 1
    releases: int = 0
    non_private: int = 0
    closed: bool = False
    spent: dict[str, dict[str, Spend]] = field(default_factory=dict)
    #: What waits for signatures, by its digest, with the keys that have signed.
    pending: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def sums(self, block: str) -> dict[str, Spend]:
        """All sums of a block."""
        return self.spent.get(block, {})

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "unit": self.unit.to_json(),
            "policy": self.policy.to_json(),
            **{key: getattr(self, key) for key in ("version", "releases", "non_private", "closed")},
            "spent": {b: {scope: s.to_json() for scope, s in sums.items()} for b, sums in self.spent.items()},
            "pending": {digest: list(keys) for digest, keys in self.pending.items()},
        }

    @staticmethod
    def from_json(body: Any) -> "State":
        """Read what `to_json` wrote."""
        fields = read_fields(
            body, {**types_of(State), "policy": dict, "spent": dict, "pending": dict}, what="a line's state"
        )
        fields["policy"] = Policy.from_json(fields["policy"])
        fields["spent"] = {b: {k: Spend(*v) for k, v in sums.items()} for b, sums in fields["spent"].items()}
        fields["pending"] = {digest: tuple(keys) for digest, keys in fields["pending"].items()}
        return State(**fields)


@dataclass(frozen=True, kw_only=True)
class Request:
    """A release that is to be charged: what it will do, for whom, and what it claims. Nothing of the rows.

    `apart` is what is done with units that are in no other step, where some are set apart for a score: its cost and that of `event`
    are paid by different units, and the larger one is charged.
    """

    event: dict[str, Any]
    unit: PrivacyUnit
    epsilon: float
    delta: float
    mechanism: str
    recipient: str | None = None
    purpose: str | None = None
    periods: tuple[str, ...] = ()
    apart: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            object.__setattr__(self, name, float(getattr(self, name)))
        Budget(epsilon=self.epsilon, delta=self.delta)
        for named in (self.recipient, self.purpose, *self.periods):
            if named is not None:
                check_name(named, what="the name of a recipient, a purpose or a period")

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        body = {**vars(self), "unit": self.unit.to_json(), "periods": list(self.periods)}
        if self.apart is None:
            del body["apart"]  # as it was before there were any
        return body

    @staticmethod
    def from_json(body: Any) -> "Request":
        """Read what `to_json` wrote."""
        wanted = {key: kind for key, kind in types_of(Request).items() if key != "apart" or key in body}
        return Request(**read_fields(body, wanted, what="a charge"))

    @property
    def events(self) -> tuple[dict[str, Any], ...]:
        """What is done, with either part of the units."""
        return (self.event,) if self.apart is None else (self.event, self.apart)


def digest_of(body: Any) -> str:
    """The SHA-256 of plain values in their one text."""
    return hashlib.sha256(canonical(body).encode()).hexdigest()


def advance(state: State | None, kind: Kind, content: dict[str, Any], *, key: str | None, at: str) -> State | None:
    """The state after a line; refused with a sentence where the rules do not allow it. `key` has signed the line."""
    if kind in ("created", "moved"):
        return None
    if kind == "added":
        if state is not None:
            raise LedgerError("the dataset is in the ledger already. Charge it, or change its policy.")
        unit = PrivacyUnit(**read_fields(content["unit"], types_of(PrivacyUnit), what="the unit"))
        rules = Policy.from_json(content["policy"])
        if rules.periods != "none" and unit.relation != "add_or_remove":
            raise LedgerError(
                "what is replaced may come from one period and go to another, so periods cannot be counted apart. Enter the "
                "dataset with add_or_remove."
            )
        return State(unit, rules)
    if state is None:
        raise LedgerError("the dataset is not in the ledger. Enter it: sfumato ledger add DATASET --epsilon E")
    if state.closed and kind != "released":
        raise LedgerError("the dataset is closed: nothing more is released of it.")
    match kind:
        case "policy":
            return _with_policy(state, content, key=key)
        case "request":
            return replace(state, pending={content["digest"]: (), **state.pending})
        case "approval":
            return _approved(state, content["digest"], key=key)
        case "charge":
            request = Request.from_json(content["request"])
            return charged(state, request, Spend(*content["spend"]), key=key, at=at)
        case "non_private":
            return _without_privacy(state, key=key, at=at)
        case "released":
            return state
        case "closed":
            return replace(state, closed=True, pending={})
    raise LedgerError(f"a ledger has no lines of the kind {kind!r}.")


def charged(state: State, request: Request, spend: Spend, *, key: str | None, at: str) -> State:
    """The state after a release, if every rule allows it."""
    policy = state.policy
    _check_who_and_when(policy, key=key, at=at)
    blocks = _blocks(policy, request.periods)
    if policy.largest is not None and spend.mu_squared > policy.single(policy.largest):
        raise BudgetExceeded(
            f"the release costs mu {spend.mu:.4g}, more than the largest that the policy allows: epsilon {policy.largest:g}.",
            fits=policy.largest,
        )
    spent = {block: dict(sums) for block, sums in state.spent.items()}
    limits = policy.limits(recipient=request.recipient, purpose=request.purpose)
    for block in blocks:
        for scope, limit in limits.items():
            before = spent.setdefault(block, {}).get(scope, NOTHING)
            if not (before + spend).fits(limit):
                raise _exceeded(before.left_of(limit), spend, request, where=_where(block, scope))
            spent[block][scope] = before + spend
    pending = dict(state.pending)
    if policy.approve_above is not None and spend.mu_squared > policy.single(policy.approve_above):
        digest = digest_of(request.to_json())
        signed = {*pending.pop(digest, ()), *({key} & {*policy.approvers})}
        if len(signed & {*policy.approvers}) < policy.approvals:
            raise ApprovalNeeded(
                digest, needed=policy.approvals - len(signed & {*policy.approvers}), what="the release"
            )
    return replace(state, releases=state.releases + 1, spent=spent, pending=pending)


class ApprovalNeeded(LedgerError):
    """Others have to sign first."""

    def __init__(self, digest: str, *, needed: int, what: str) -> None:
        super().__init__(
            f"{what} needs {needed} more signature{'s' * (needed > 1)} by the policy. It was entered as a request: "
            f"sfumato ledger approve DATASET {digest} --sign KEY, and then ask again."
        )
        self.digest = digest


def _with_policy(state: State, content: dict[str, Any], *, key: str | None) -> State:
    old, new = state.policy, Policy.from_json(content["policy"])
    loosened = old.loosened_by(new)
    pending = dict(state.pending)
    if loosened and old.changes:
        digest = digest_of(new.to_json())
        signed = ({*pending.pop(digest, ())} | {key}) & {*old.changers}
        if len(signed) < old.changes:
            what = f"loosening the policy ({', '.join(loosened)})"
            raise ApprovalNeeded(digest, needed=old.changes - len(signed), what=what)
    # What was signed under the old rules was signed for them.
    return replace(state, policy=new, version=state.version + 1, pending={})


def _approved(state: State, digest: str, *, key: str | None) -> State:
    if digest not in state.pending:
        raise LedgerError(
            f"nothing with the digest {digest} waits for signatures. sfumato ledger show lists what does."
        )
    if key is None or key not in (*state.policy.approvers, *state.policy.changers):
        raise LedgerError("the key is none of those that may approve by the policy. Sign with one of them: --sign KEY.")
    signed = state.pending[digest]
    return replace(state, pending={**state.pending, digest: tuple(sorted({*signed, key}))})


def _without_privacy(state: State, *, key: str | None, at: str) -> State:
    _check_who_and_when(state.policy, key=key, at=at)
    if not state.policy.non_private:
        raise LedgerError("the policy allows no outputs without privacy: non_private = false.")
    return replace(state, non_private=state.non_private + 1)


def _check_who_and_when(policy: Policy, *, key: str | None, at: str) -> None:
    if policy.releasers and key not in policy.releasers:
        who = "nobody signs" if key is None else "the key that signs is none of those"
        raise LedgerError(f"the policy names who may release, and {who}. Sign with one of its keys: --sign KEY.")
    if policy.until is not None and at[:10] > policy.until:
        raise LedgerError(f"the policy ends on {policy.until}: nothing is released after that day.")


def _blocks(policy: Policy, periods: tuple[str, ...]) -> tuple[str, ...]:
    if policy.periods == "none":
        if periods:
            raise LedgerError("the dataset is not counted by periods. Leave out --period.")
        return (WHOLE,)
    for period in periods:
        if not re.fullmatch(_PERIODS[policy.periods], period, flags=re.ASCII):
            raise LedgerError(f"the dataset is counted by the {policy.periods}, and {period!r} is none.")
    if not periods or len(set(periods)) != len(periods):
        raise LedgerError(f"name every {policy.periods} whose rows are read, each once: --period ...")
    return tuple(sorted(periods))


def _where(block: str, scope: str) -> str:
    return (scope if scope == "total" else f"{scope!r}") + (f" of {block}" if block else "")


def _exceeded(left: Spend, spend: Spend, request: Request, *, where: str) -> BudgetExceeded:
    """A refusal that says what would fit."""
    fits = fitting_epsilon(left, delta=request.delta)
    if spend.failure > left.failure:
        return BudgetExceeded(
            f"the release may fail with probability {spend.failure / FAILURE_UNITS:.3g}, and {left.failure / FAILURE_UNITS:.3g} is "
            f"left for failures ({where}). Declare categories instead of discovering them, or do not sample.",
            fits=fits,
        )
    return BudgetExceeded(
        f"the release costs mu {spend.mu:.4g}, and mu {left.mu:.4g} is left ({where}). "
        + (f"At delta {request.delta:g} an epsilon of {fits:g} would fit." if fits > 0 else "Nothing fits any more."),
        fits=fits,
    )


def fitting_epsilon(left: Spend, *, delta: float) -> float:
    """The largest epsilon, to three digits and rounded down, of a release of plain sums that fits into what is left."""
    if left.mu_squared < 2:
        return 0.0
    epsilon = epsilon_of_mu(left.mu * (1 - 1e-6), delta=delta)
    if epsilon == 0:
        return 0.0
    digits = 2 - math.floor(math.log10(epsilon))
    return math.floor(Fraction(epsilon) * Fraction(10) ** digits) / 10.0**digits
