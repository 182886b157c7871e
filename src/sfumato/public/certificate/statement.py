"""What a ledger says of a release: which one it is, and what all releases of the dataset that it holds cost together."""

import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from sfumato.errors import SfumatoError, VerificationError
from sfumato.public.accounting.spend import Spend, limit_of
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.certificate.claim import exact_text
from sfumato.public.strict_json import read_fields, types_of

FORMAT = "sfumato-ledger-statement/1"
_HEX = re.compile(r"[0-9a-f]{32}(?:[0-9a-f]{32})?")
_LONGEST_NAME = 200


def canonical(body: Any) -> str:
    """One text for one tree of plain values: what digests and signatures are made of."""
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The total is the promise for everything that the ledger holds of the dataset; the rest says how far it is used.

    `spent` and `charged` are squares of mu and failures in whole units: after this release, and for it. Where the dataset is
    counted by periods, `spent` is that of the fullest one. `line` and `digest` name the line of the ledger.
    """

    ledger: str
    dataset: str
    unit: PrivacyUnit
    epsilon: float
    delta: float
    failures: float
    release: int
    non_private: int
    spent: tuple[int, int]
    charged: tuple[int, int]
    periods: tuple[str, ...]
    line: int
    digest: str
    key: str | None = None
    signature: str | None = None

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "failures"):
            object.__setattr__(self, name, float(getattr(self, name)))  # one way of writing each number
        Budget(epsilon=self.epsilon, delta=self.delta)
        Spend(*self.spent), Spend(*self.charged)
        if not (_HEX.fullmatch(self.ledger) and _HEX.fullmatch(self.digest)):
            raise VerificationError("the ledger's statement names no ledger, or no line of it.")
        for name in (self.dataset, *self.periods):
            check_name(name, what="a name in the ledger's statement")
        if min(self.release, self.line) < 1 or self.non_private < 0 or (self.key is None) != (self.signature is None):
            raise VerificationError("the ledger's statement counts what cannot be counted, or is half signed.")

    @property
    def limit(self) -> Spend:
        """What the total allows."""
        return limit_of(self.epsilon, delta=self.delta, failures=self.failures)

    @property
    def in_words(self) -> str:
        """The statement as sentences, made of its numbers."""
        so_far = Spend(*self.spent).epsilon(self.delta)
        where = f" in its fullest period of {', '.join(self.periods)}" if self.periods else ""
        told = (
            f"release {self.release} of the dataset {self.dataset!r}. All releases in its ledger, now and later, are together "
            f"({exact_text(self.epsilon)}, {exact_text(self.delta)})-differentially private for {self.counted}. The sums so "
            f"far{where} amount to epsilon {so_far:.4g}, which holds by itself if no budget was chosen by what was seen."
        )
        if self.non_private:
            return f"{told} Besides, {self.non_private} output(s) were made that are not private at all: nothing holds for those."
        return told

    @property
    def counted(self) -> str:
        """Whom the total protects."""
        return counted_in_words(self.unit) + (" (of one period)" if self.periods else "")

    def signed_text(self) -> bytes:
        """What the signature is over: everything but itself."""
        return canonical({"format": FORMAT, **self._plain(), "signature": None}).encode()

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the sentences for people who read the file."""
        body = json.loads(json.dumps(self._plain()))  # lists for tuples
        return {"format": FORMAT, **body, "in_words": self.in_words}

    def _plain(self) -> dict[str, Any]:
        return {**asdict(self), "unit": self.unit.to_json()}

    @staticmethod
    def from_json(body: Any) -> "Statement":
        """Read what `to_json` wrote, refusing anything else."""
        try:
            fields = read_fields(
                body, {"format": str, **types_of(Statement), "in_words": str}, what="the ledger's statement"
            )
            form, in_words = fields.pop("format"), fields.pop("in_words")
            statement = Statement(**fields)
        except VerificationError:
            raise
        except SfumatoError as error:
            raise VerificationError(f"the ledger's statement is none: {error}") from None
        if form != FORMAT or in_words != statement.in_words:
            raise VerificationError(
                f"the ledger's statement is not of the format {FORMAT}, or its words are not its numbers'."
            )
        return statement


def counted_in_words(unit: PrivacyUnit) -> str:
    """Whom a dataset's total protects. Of a person that is all rows, however many a release makes use of."""
    who = "any one row" if unit.person is None else f"all rows of one person (column {unit.person!r})"
    return f"{who}, {'added or removed' if unit.relation == 'add_or_remove' else 'replaced by any other'}"


def check_name(name: Any, *, what: str) -> str:
    """A name that can be printed: one line, not empty."""
    if not (isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME and name.isprintable() and name == name.strip()):
        raise VerificationError(f"{what} must be one printable line of at most {_LONGEST_NAME} characters.")
    return name
