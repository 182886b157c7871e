"""How a line is added: the rules are asked inside of the transaction that writes it."""

import hashlib
import itertools
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sfumato.errors import LedgerError
from sfumato.folder.signing import SigningKey, load_signing_key
from sfumato.ledger.chain import Line, new_line, time_after
from sfumato.ledger.rules import ApprovalNeeded, Kind, State, advance
from sfumato.ledger.store import Ends, Store

#: A private key, or the file of one without a passphrase.
Signer = str | Path | SigningKey | None
#: What a line holds, given the state of its dataset.
Content = Callable[[State | None], dict[str, Any]]
_attempts = itertools.count()


class Book:
    """A store that is written by the rules alone."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._place = store.place()

    def state(self, dataset: str) -> State:
        """A dataset as it is now."""
        line = self.store.ends(dataset).of_dataset
        if line is None or line.state is None:
            raise LedgerError(
                f"the ledger has no dataset {dataset!r}. Enter it: sfumato ledger add {dataset} --epsilon E"
            )
        return line.state

    def append(self, kind: Kind, dataset: str, content: Content, *, sign: Signer) -> Line:
        """Add a line, if the rules allow it. Where they ask for signatures, a request is added in its place and told of."""
        key = load_signing_key(sign) if isinstance(sign, str | Path) else sign
        attempt = new_attempt()
        lacking: list[ApprovalNeeded] = []

        def make(ends: Ends) -> Line:
            if kind not in ("created", "moved"):
                self._refuse_copy(ends)
            before = None if ends.of_dataset is None else ends.of_dataset.state
            at, asked = time_after(ends.last), content(before)
            written: Kind = kind
            try:
                state = advance(before, kind, asked, key=None if key is None else key.public_text, at=at)
            except ApprovalNeeded as needed:
                if before is None or needed.digest in before.pending:
                    raise
                lacking[:] = [needed]
                written, asked = "request", {"digest": needed.digest, "asks": asked}
                state = advance(before, written, asked, key=None, at=at)
            return new_line(
                ledger=self.store.identity,
                last=ends.last,
                kind=written,
                dataset=dataset,
                attempt=attempt,
                at=at,
                content=asked,
                state=state,
                sign=key,
            )

        line = self.store.append(attempt, dataset, make)
        if line.kind != kind:
            raise lacking[0]
        return line

    def move(self, *, sign: Signer) -> None:
        """Say where the ledger lies from now on."""
        kind: Kind = "created" if self.store.ends("").last is None else "moved"
        self.append(kind, "", lambda state: {"place": self._place}, sign=sign)

    def _refuse_copy(self, ends: Ends) -> None:
        known = None if ends.of_place is None else ends.of_place.content.get("place")
        if known != self._place:
            raise LedgerError(
                f"the ledger belongs at {known}, and lies at {self._place}: it may be a copy, and what is charged to a copy is not "
                "in the ledger. If it was moved and the other one is gone, say so: sfumato ledger moved"
            )


def new_attempt() -> str:
    """A key that no other attempt has, even where a source of randomness is broken, or copied with its process."""
    place = f"{os.getpid()} {time.time_ns()} {time.monotonic_ns()} {next(_attempts)}".encode()
    return hashlib.sha256(os.urandom(32) + place).hexdigest()[:32]
