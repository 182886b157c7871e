"""A line of the ledger: it holds the digest of the line before it and, where there is a key, a signature."""

import datetime
from dataclasses import dataclass
from typing import Any, get_args

from sfumato.errors import LedgerError, SfumatoError, VerificationError
from sfumato.folder.signing import SigningKey, vouches
from sfumato.ledger.rules import Kind, State, digest_of
from sfumato.public.certificate.statement import canonical
from sfumato.public.strict_json import parse_json, read_fields

FORMAT = "sfumato-ledger/1"
NO_LINE = "0" * 64
#: A clock may be wrong by so many seconds; a line is never older than the one before it.
CLOCK_SLACK = 600
_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("format", "ledger", "previous", "at", "kind", "dataset", "attempt"), str),
    **{"number": int, "key": str | None, "content": dict, "state": dict | None},
}


@dataclass(frozen=True)
class Line:
    """What is stored: a text, its digest, and who vouches for it."""

    body: str
    digest: str
    signature: str | None
    number: int
    at: str
    kind: Kind
    dataset: str
    attempt: str
    key: str | None
    ledger: str
    previous: str
    content: dict[str, Any]
    state: State | None

    @property
    def stored(self) -> dict[str, Any]:
        """As it lies in the database."""
        return {"body": self.body, "digest": self.digest, "signature": self.signature}

    @property
    def told(self) -> dict[str, Any]:
        """For a person who reads the history."""
        facts = {key: getattr(self, key) for key in ("number", "at", "kind", "dataset", "digest")}
        return {**facts, "signed": self.signature is not None, "what": self._in_words()}

    def _in_words(self) -> str:
        match self.kind:
            case "charge":
                asked = self.content["request"]
                whom = "".join(f", {key} {asked[key]}" for key in ("recipient", "purpose") if asked[key])
                return f"{asked['mechanism']}, epsilon {asked['epsilon']:g}, delta {asked['delta']:g}{whom}"
            case "added" | "policy":
                policy = self.content["policy"]
                return f"total epsilon {policy['epsilon']:g}, delta {policy['delta']:g}"
            case "released":
                return f"the certificate of line {self.content['line']}"
            case "request" | "approval":
                return str(self.content["digest"])
            case "non_private":
                return f"{self.content['method']}: not private"
        return ""

    @staticmethod
    def read(body: str, digest: str, signature: str | None) -> "Line":
        """A line as it lies in the database, refused where it is not what it says: by itself, without its neighbours."""
        fields = read_fields(parse_json(body, what="the line"), _FIELDS, what="the line")
        if fields.pop("format") != FORMAT or fields["kind"] not in get_args(Kind):
            raise VerificationError(f"the line is not of the format {FORMAT}.")
        if digest_of({"format": FORMAT, **fields}) != digest or canonical({"format": FORMAT, **fields}) != body:
            raise VerificationError("the line is not the one that its digest was made of.")
        key = fields["key"]
        if (key is None) != (signature is None) or (
            key is not None and signature is not None and not vouches(key, signature, _signed(digest))
        ):
            raise VerificationError("the signature of the line does not fit it.")
        try:
            fields["state"] = None if fields["state"] is None else State.from_json(fields["state"])
        except (SfumatoError, TypeError, AttributeError, ValueError):
            raise VerificationError("the line holds a state that is none.") from None
        return Line(body=body, digest=digest, signature=signature, **fields)


def new_line(
    *,
    ledger: str,
    last: Line | None,
    kind: Kind,
    dataset: str,
    attempt: str,
    at: str,
    content: dict[str, Any],
    state: State | None,
    sign: SigningKey | None,
) -> Line:
    """The line that follows the last one."""
    fields: dict[str, Any] = {
        "ledger": ledger,
        "number": 1 if last is None else last.number + 1,
        "previous": NO_LINE if last is None else last.digest,
        **{"at": at, "kind": kind, "dataset": dataset, "attempt": attempt, "content": content},
        "key": None if sign is None else sign.public_text,
    }
    written = {"format": FORMAT, **fields, "state": None if state is None else state.to_json()}
    digest = digest_of(written)
    signature = None if sign is None else sign.vouch(_signed(digest))
    return Line(body=canonical(written), digest=digest, signature=signature, state=state, **fields)


def time_after(last: Line | None) -> str:
    """Now, in UTC; refused where the clock has gone back behind the last line."""
    now = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    if last is None:
        return now.isoformat()
    before = datetime.datetime.fromisoformat(last.at)
    if now < before - datetime.timedelta(seconds=CLOCK_SLACK):
        raise LedgerError(
            f"the clock says {now.isoformat()}, and the last line of the ledger is of {last.at}. Set the clock: an end date "
            "means nothing by one that goes back."
        )
    return max(now, before).isoformat()


def _signed(digest: str) -> bytes:
    return f"{FORMAT} line {digest}".encode()
