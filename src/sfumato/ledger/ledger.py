"""`sfumato.Ledger`: what all releases of a dataset cost together, in one place that is asked before any row is read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError, VerificationError
from sfumato.folder.signing import load_signing_key
from sfumato.ledger.accounts import Account
from sfumato.ledger.book import Book, Signer
from sfumato.ledger.chain import Line
from sfumato.ledger.checking import Checked, check_ledger
from sfumato.ledger.environment import default_url
from sfumato.ledger.policy import FAILURES_SHARE, Policy
from sfumato.ledger.rules import State
from sfumato.ledger.store import Store
from sfumato.public.accounting.spend import FAILURE_UNITS, NOTHING
from sfumato.public.budget import PrivacyUnit
from sfumato.public.certificate.statement import check_name, counted_in_words


class Ledger:
    """A ledger in a database. Lines are only ever added to it.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> ledger = Ledger.create(f"sqlite:///{folder}/ledger.db")
    >>> ledger.add("patients", epsilon=2.0, delta=1e-6)
    >>> ledger.state("patients").releases
    0
    """

    def __init__(self, url: str | None = None) -> None:
        """Open the ledger at an address, or at that of the variable SFUMATO_LEDGER."""
        named = url or default_url()
        if named is None:
            raise LedgerError("no ledger is named. Give its address, or set SFUMATO_LEDGER.")
        self._book = Book(Store(named))

    @classmethod
    def create(cls, url: str, *, sign: Signer = None) -> "Ledger":
        """Make a new ledger at an address where there is none."""
        Book(Store(url, create=True)).move(sign=sign)
        return cls(url)

    def __repr__(self) -> str:
        return f"<Ledger: {self._book.store.shown}, {self.identity[:8]}>"

    @property
    def shown(self) -> str:
        """Its address, without a password."""
        return self._book.store.shown

    @property
    def identity(self) -> str:
        """A random number that it was given when it was made."""
        return self._book.store.identity

    # ---------------------------------------------------------------------------------------- datasets and their rules

    def add(
        self,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float = 1e-6,
        unit: PrivacyUnit | None = None,
        policy: Policy | str | Path | None = None,
        sign: Signer = None,
    ) -> None:
        """Enter a dataset with its total, or with a whole policy. `unit` is what its releases protect: one row by default."""
        check_name(dataset, what="the name of a dataset")
        if (epsilon is None) == (policy is None):
            raise LedgerError("a dataset needs a total: give an epsilon, or a policy that has one.")
        if epsilon is not None:
            rules = Policy(epsilon=epsilon, delta=delta, failures=delta * FAILURES_SHARE)
        else:
            rules = policy if isinstance(policy, Policy) else Policy.load(policy or "")
        counted = unit or PrivacyUnit()
        content = {"unit": counted.to_json(), "policy": rules.to_json()}
        self._book.append("added", dataset, lambda state: content, sign=sign)

    def change_policy(self, dataset: str, policy: Policy | str | Path, *, sign: Signer = None) -> None:
        """Tighten the policy at once, or loosen it with the signatures that it names."""
        rules = policy if isinstance(policy, Policy) else Policy.load(policy)
        self._book.append("policy", dataset, lambda state: {"policy": rules.to_json()}, sign=sign)

    def approve(self, dataset: str, digest: str, *, sign: Signer) -> None:
        """Sign a request that waits."""
        self._book.append("approval", dataset, lambda state: {"digest": digest}, sign=sign)

    def close(self, dataset: str, *, sign: Signer = None) -> None:
        """No more releases of this dataset."""
        self._book.append("closed", dataset, lambda state: {}, sign=sign)

    def moved(self, *, sign: Signer = None) -> None:
        """Say that this is the ledger itself, at another place, and that the other one is gone."""
        self._book.move(sign=sign)

    # ------------------------------------------------------------------------------------------------------- releases

    def dataset(
        self,
        name: str,
        *,
        recipient: str | None = None,
        purpose: str | None = None,
        periods: Sequence[str] = (),
        sign: Signer = None,
    ) -> Account:
        """An account that `fit`, `synthesize` and `train` charge: `ledger=sf.Ledger().dataset("patients")`."""
        key = load_signing_key(sign) if isinstance(sign, str | Path) else sign
        self.state(name)
        return Account(self._book, name, recipient=recipient, purpose=purpose, periods=tuple(periods), sign=key)

    def state(self, dataset: str) -> State:
        """A dataset as it is now."""
        return self._book.state(dataset)

    # -------------------------------------------------------------------------------------------------------- history

    def lines(self) -> Iterator[Line]:
        """All lines in their order."""
        for _, _, _, *row in self._book.store.lines():
            try:
                yield Line.read(*row)
            except VerificationError as error:
                raise LedgerError(f"the ledger was changed by hand: {error} See sfumato ledger verify.") from None

    def datasets(self) -> dict[str, State]:
        """Every dataset as it is now."""
        found: dict[str, State] = {}
        for line in self.lines():
            if line.state is not None:
                found[line.dataset] = line.state
        return found

    def verify(self, *, releases: Sequence[str | Path] = ()) -> Checked:
        """Recompute every cost, sum, digest and signature, and look for the statements of release folders in the history."""
        return check_ledger(self._book.store, releases=releases)

    def show(self) -> dict[str, dict[str, Any]]:
        """For each dataset its total, what is spent, and what waits for signatures, as plain values."""
        return {name: shown_state(state) for name, state in self.datasets().items()}


def shown_state(state: State) -> dict[str, Any]:
    """A dataset as plain values, with epsilons for people."""
    policy, limit = state.policy, state.policy.limit
    blocks = {}
    for block in sorted(state.spent) or [""]:
        spent = state.sums(block).get("total", NOTHING)
        blocks[block or "all"] = {
            "mu_spent": spent.mu,
            "mu_limit": limit.mu,
            "part_spent": spent.mu_squared / limit.mu_squared if limit.mu_squared else 1.0,
            "epsilon_so_far": spent.epsilon(policy.delta) if spent.mu_squared else 0.0,
            "failures_spent": spent.failure / FAILURE_UNITS,
            "failures_limit": policy.failures,
            "by": {scope: sums.mu for scope, sums in state.sums(block).items() if scope != "total"},
        }
    return {
        "epsilon": policy.epsilon,
        "delta": policy.delta,
        "unit": counted_in_words(state.unit),
        "policy_version": state.version,
        "releases": state.releases,
        "non_private": state.non_private,
        "closed": state.closed,
        "spent": blocks,
        "pending": {digest: len(keys) for digest, keys in state.pending.items()},
    }
