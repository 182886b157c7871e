"""The organisation's rules for a dataset, as a file: how much in all, for whom, by whom, until when, and who may change that."""

import datetime
import math
import tomllib
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.errors import LedgerError, SfumatoError
from sfumato.folder.signing import key_text, load_public_key
from sfumato.public.accounting.spend import Spend, limit_of
from sfumato.public.budget import Budget
from sfumato.public.certificate.statement import check_name
from sfumato.public.strict_json import read_fields, types_of

Periods = Literal["none", "month", "quarter", "year"]
#: The part of delta that is kept for failures, where the policy does not say.
FAILURES_SHARE = 0.5


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What may be released of a dataset. Budgets are epsilons at the total's delta; None and an empty list mean no limit.

    Attributes:
        epsilon: With delta, the promise for all releases together.
        delta: See epsilon.
        failures: The part of delta for steps that may fail: discoveries of categories, and sampled releases.
        largest: The largest single release.
        recipients: A budget for each recipient. Where there is one, no other recipient is served.
        purposes: The same for purposes.
        releasers: Public keys of those who may release.
        until: The last day of releases.
        non_private: Whether outputs without privacy may be made.
        periods: Whether each month, quarter or year of the rows is a block with a budget of its own.
        approve_above: Releases above this epsilon need signatures.
        approvals: How many, of different keys.
        approvers: Whose.
        changes: How many signatures a change needs that loosens the policy.
        changers: Whose.
    """

    epsilon: float
    delta: float
    failures: float
    largest: float | None = None
    recipients: dict[str, float] = field(default_factory=dict)
    purposes: dict[str, float] = field(default_factory=dict)
    releasers: tuple[str, ...] = ()
    until: str | None = None
    non_private: bool = False
    periods: Periods = "none"
    approve_above: float | None = None
    approvals: int = 0
    approvers: tuple[str, ...] = ()
    changes: int = 0
    changers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "failures"):
            object.__setattr__(self, name, float(getattr(self, name)))
        Budget(epsilon=self.epsilon, delta=self.delta).check_against(None)
        if not 0 <= self.failures < self.delta:
            raise LedgerError(
                f"failures = {self.failures!r} must be a part of delta = {self.delta:g}: from 0 to below it."
            )
        parts = {"largest": self.largest, "above": self.approve_above}
        parts |= {f"recipient {name}": value for name, value in self.recipients.items()}
        parts |= {f"purpose {name}": value for name, value in self.purposes.items()}
        for name, value in parts.items():
            if value is not None and not (math.isfinite(value) and value > 0):
                raise LedgerError(f"policy: {name} = {value!r} must be a finite epsilon above 0.")
        for name in (*self.recipients, *self.purposes):
            check_name(name, what="policy: the name of a recipient or a purpose")
        if self.until is not None:
            _date(self.until)
        for what, needed, keys in (
            ("approval", self.approvals, self.approvers),
            ("change", self.changes, self.changers),
        ):
            if len(set(keys)) != len(keys) or not 0 <= needed <= len(keys):
                raise LedgerError(
                    f"policy: {what} needs {needed} signatures of {len(keys)} keys. Name enough different keys."
                )
        if (self.approve_above is None) != (self.approvals == 0):
            raise LedgerError("policy: approval needs both: above, an epsilon, and signatures, a number of at least 1.")

    @property
    def limit(self) -> Spend:
        """What the total allows."""
        return limit_of(self.epsilon, delta=self.delta, failures=self.failures)

    def limits(self, *, recipient: str | None, purpose: str | None) -> dict[str, Spend]:
        """All sums that a release adds to, each with its limit."""
        found = {"total": self.limit}
        for what, name, budgets in (
            ("recipient", recipient, self.recipients),
            ("purpose", purpose, self.purposes),
        ):
            if budgets and name not in budgets:
                raise LedgerError(
                    f"the policy has budgets by {what}, and none for {name!r}. Give one of {', '.join(map(repr, budgets))}."
                )
            if name is not None:
                epsilon = min(self.epsilon, budgets.get(name, self.epsilon))
                found[f"{what} {name}"] = limit_of(epsilon, delta=self.delta, failures=self.failures)
        return found

    def single(self, epsilon: float) -> int:
        """The square of mu, in units, of one release of this epsilon at the whole delta, rounded up."""
        return math.ceil(limit_of(epsilon, delta=self.delta, failures=0.0).mu_squared * (1 + 1e-9)) + 1

    def loosened_by(self, new: "Policy") -> list[str]:
        """What a new policy would allow that this one does not; empty where it only tightens."""
        found = []
        if new.periods != self.periods:
            raise LedgerError(
                "periods cannot be changed: sums by other periods would start at 0. Enter another dataset."
            )
        if not new.limit.fits(self.limit) or new.epsilon > self.epsilon or new.delta > self.delta:
            found.append("total")
        if (new.largest or math.inf) > (self.largest or math.inf):
            found.append("largest")
        for what in ("recipients", "purposes"):
            old, now = getattr(self, what), getattr(new, what)
            if old and (not now or any(name not in old or value > old[name] for name, value in now.items())):
                found.append(what)
        if self.releasers and (not new.releasers or not set(new.releasers) <= set(self.releasers)):
            found.append("keys")
        if (new.until or "9999-12-31") > (self.until or "9999-12-31"):
            found.append("until")
        if new.non_private and not self.non_private:
            found.append("non_private")
        # Fewer keys are not tighter here: whoever strikes out the others decides alone.
        is_higher = (new.approve_above or math.inf) > (self.approve_above or math.inf)
        has_others = bool(self.approvals) and new.approvers != self.approvers
        if is_higher or has_others or new.approvals < self.approvals:
            found.append("approval")
        if new.changes < self.changes or (self.changes and new.changers != self.changers):
            found.append("change")
        return found

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}

    @staticmethod
    def from_json(body: Any) -> "Policy":
        """Read what `to_json` wrote."""
        return Policy(**read_fields(body, types_of(Policy), what="the policy of a ledger"))

    @staticmethod
    def load(path: str | Path) -> "Policy":
        """Read policy.toml. Keys are files, NAME.pub, found from the folder of the policy."""
        file = Path(path)
        try:
            body = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise LedgerError(f"the policy {file} cannot be read ({error.strerror}).") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError):
            raise LedgerError(f"the policy {file} is not TOML. See docs/guide/many-releases.md.") from None
        try:
            return _from_toml(body, folder=file.parent)
        except SfumatoError as error:
            raise LedgerError(f"{file}: {error}") from None


#: What a policy.toml may hold. Names of recipients and purposes are free.
_SECTIONS: dict[str, set[str]] = {
    "total": {"epsilon", "delta", "failures"},
    "release": {"largest", "keys", "until", "non_private", "periods"},
    "recipients": set(),
    "purposes": set(),
    "approval": {"above", "signatures", "keys"},
    "change": {"signatures", "keys"},
}


def _from_toml(body: dict[str, Any], *, folder: Path) -> Policy:
    for name, section in body.items():
        if name not in _SECTIONS or not isinstance(section, dict):
            raise LedgerError(f"there is no section [{name}]. Known: {', '.join(_SECTIONS)}.")
        known = _SECTIONS[name] or {*section}
        for key in section:
            if key not in known:
                raise LedgerError(f"[{name}] has no key {key!r}. Known: {', '.join(sorted(known))}.")
    total, release, approval, change = (body.get(name, {}) for name in ("total", "release", "approval", "change"))
    epsilon, delta = (_number(total.get(key), f"[total] {key}") for key in ("epsilon", "delta"))
    until = release.get("until")
    if until is not None and not isinstance(until, datetime.date):
        raise LedgerError(f"[release] until = {until!r} must be a date, such as 2027-12-31 without quotes.")
    if release.get("periods", "none") not in get_args(Periods):
        raise LedgerError(f"[release] periods must be one of {', '.join(get_args(Periods))}.")
    if type(release.get("non_private", False)) is not bool:
        raise LedgerError("[release] non_private must be true or false.")
    return Policy(
        epsilon=epsilon,
        delta=delta,
        failures=_number(total.get("failures", delta * FAILURES_SHARE), "[total] failures"),
        largest=_perhaps(release.get("largest"), "[release] largest"),
        recipients={k: _number(v, f"[recipients] {k}") for k, v in body.get("recipients", {}).items()},
        purposes={k: _number(v, f"[purposes] {k}") for k, v in body.get("purposes", {}).items()},
        releasers=_keys(release, folder),
        until=None if until is None else until.isoformat()[:10],
        non_private=release.get("non_private", False),
        periods=release.get("periods", "none"),
        approve_above=_perhaps(approval.get("above"), "[approval] above"),
        approvals=_count(approval.get("signatures", 0), "[approval] signatures"),
        approvers=_keys(approval, folder),
        changes=_count(change.get("signatures", 0), "[change] signatures"),
        changers=_keys(change, folder),
    )


def _keys(section: dict[str, Any], folder: Path) -> tuple[str, ...]:
    files = section.get("keys", [])
    if not isinstance(files, list) or not all(isinstance(file, str) for file in files):
        raise LedgerError("keys must be a list of files: keys = ['office.pub'].")
    return tuple(sorted(key_text(load_public_key(folder / file)) for file in files))


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise LedgerError(f"{what} = {value!r} must be a number.")
    return float(value)


def _perhaps(value: Any, what: str) -> float | None:
    return None if value is None else _number(value, what)


def _count(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise LedgerError(f"{what} = {value!r} must be a whole number of at least 0.")
    return value


def _date(text: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise LedgerError(f"policy: until = {text!r} must be a date, such as 2027-12-31.") from None
