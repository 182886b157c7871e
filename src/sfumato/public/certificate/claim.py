"""The claim of a release in numbers, and the one sentence that follows from them."""

import math
from dataclasses import dataclass
from typing import Any

from sfumato.errors import SfumatoError, VerificationError
from sfumato.public.budget import Budget, PrivacyUnit
from sfumato.public.plan.plan import Plan
from sfumato.public.strict_json import read_fields, types_of

ACCOUNTANTS = ("gdp", "pld", "rdp")


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is promised (epsilon, delta, to whom), what was spent of it, and by whose account.

    The sentence is never kept: it is made of the numbers whenever somebody reads it.

    >>> claim = Claim(epsilon=1.0, delta=1e-6, unit=PrivacyUnit(), accountant="gdp", spent_epsilon=0.9999, numeric_error=0.0)
    >>> claim.in_words[:63]
    '(1, 1e-06)-differentially private for any one row, added or rem'
    """

    epsilon: float
    delta: float
    unit: PrivacyUnit
    accountant: str
    spent_epsilon: float
    numeric_error: float

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "spent_epsilon", "numeric_error"):
            object.__setattr__(self, name, float(getattr(self, name)))  # one way of writing each number
        Budget(epsilon=self.epsilon, delta=self.delta)
        for name in ("spent_epsilon", "numeric_error"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise VerificationError(f"the claim: {name} = {value} must be a finite number of at least 0.")
        if self.accountant not in ACCOUNTANTS:
            raise VerificationError(
                f"the claim: there is no accountant {self.accountant!r}. Known: {', '.join(ACCOUNTANTS)}."
            )

    @property
    def budget(self) -> Budget:
        """The promise alone."""
        return Budget(epsilon=self.epsilon, delta=self.delta)

    @property
    def in_words(self) -> str:
        """The claim as a sentence, to the last digit."""
        epsilon, delta = exact_text(self.epsilon), exact_text(self.delta)
        return (
            f"({epsilon}, {delta})-differentially private for {self.unit.describe()}: "
            f"its presence changes the odds of any outcome by at most a factor of e^{epsilon}, "
            f"but for an event of probability {delta}."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values, with the sentence for people who read the file."""
        promise = {"epsilon": self.epsilon, "delta": self.delta, "unit": self.unit.to_json(), "in_words": self.in_words}
        spent = {key: getattr(self, key) for key in ("accountant", "spent_epsilon", "numeric_error")}
        return {**promise, **spent}

    @staticmethod
    def from_json(body: Any) -> "Claim":
        """Read what `to_json` wrote. A sentence that is not the one of the numbers is refused."""
        try:
            fields = read_fields(body, {**types_of(Claim), "in_words": str}, what="the claim")
            in_words = fields.pop("in_words")
            claim = Claim(**fields)
        except VerificationError:
            raise
        except SfumatoError as error:
            raise VerificationError(f"the claim is none: {error}") from None
        if in_words != claim.in_words:
            raise VerificationError(
                "the claim in words is not the claim in numbers, which says: "
                f"{claim.in_words} Do not believe either of them."
            )
        return claim


def claim_of(plan: Plan) -> Claim:
    """What a release by this plan will claim."""
    return Claim(
        epsilon=plan.budget.epsilon,
        delta=plan.budget.delta,
        unit=plan.unit,
        accountant=plan.spent.accountant,
        spent_epsilon=plan.spent.epsilon,
        numeric_error=plan.spent.numeric_error,
    )


def exact_text(value: float) -> str:
    """A number as people write it, if that is the same number; else with all of its digits."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
