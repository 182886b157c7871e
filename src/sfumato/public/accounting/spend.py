"""What was spent and what may be, in integers: whole numbers that are added and compared, and never rounded again."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from sfumato.errors import AccountingError
from sfumato.public.accounting.dominating import GaussianCost
from sfumato.public.accounting.gdp import epsilon_of_mu, mu_of_budget

#: The squares of mu are counted in 2^-40, failures in 2^-60: either fits a signed number of 64 bits.
MU_SQUARED_UNITS, FAILURE_UNITS = 2**40, 2**60
_LARGEST = 2**62


@dataclass(frozen=True)
class Spend:
    """The square of a mu and a probability of failure, each a whole number of its unit.

    >>> Spend(3, 1) + Spend(4, 0)
    Spend(mu_squared=7, failure=1)
    """

    mu_squared: int
    failure: int

    def __post_init__(self) -> None:
        for name, value in (("mu_squared", self.mu_squared), ("failure", self.failure)):
            if type(value) is not int or not 0 <= value <= _LARGEST:
                raise AccountingError(f"{name} = {value!r} must be a whole number from 0 to 2^62.")

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(self.mu_squared + other.mu_squared, self.failure + other.failure)

    def or_else(self, other: "Spend") -> "Spend":
        """What covers either of two, where every unit is in one of them only: parallel composition."""
        return Spend(max(self.mu_squared, other.mu_squared), max(self.failure, other.failure))

    def fits(self, limit: "Spend") -> bool:
        """Whether both numbers are within both limits: a filter may not make up for one with the other."""
        return self.mu_squared <= limit.mu_squared and self.failure <= limit.failure

    def left_of(self, limit: "Spend") -> "Spend":
        """What may still be spent."""
        return Spend(max(0, limit.mu_squared - self.mu_squared), max(0, limit.failure - self.failure))

    @property
    def mu(self) -> float:
        """The mu, for reading."""
        return math.sqrt(self.mu_squared / MU_SQUARED_UNITS)

    def epsilon(self, delta: float) -> float:
        """The epsilon that this amounts to with that delta, failures included, rounded up; infinity where they use it up."""
        left = delta - self.failure / FAILURE_UNITS * (1 + 1e-12)
        if left <= 0:
            return math.inf
        return epsilon_of_mu(self.mu * (1 + 1e-12), delta=left) * (1 + 1e-12)

    def to_json(self) -> list[int]:
        """Two numbers."""
        return [self.mu_squared, self.failure]


NOTHING = Spend(0, 0)


def spend_of(cost: GaussianCost, *, factor: int = 1) -> Spend:
    """A cost in whole units, rounded up, never nothing. `factor` steps of the release lead from one neighbour to the other."""
    if factor > 1 and cost.failure:
        raise AccountingError("a release that may fail cannot be charged for another unit than its own.")
    mu_squared = max(1, math.ceil(cost.mu_squared * factor**2 * MU_SQUARED_UNITS))
    if mu_squared > _LARGEST:
        raise AccountingError("the release has so little noise that no budget covers it. Use a smaller epsilon.")
    return Spend(mu_squared, math.ceil(cost.failure * FAILURE_UNITS))


@lru_cache(maxsize=256)
def limit_of(epsilon: float, *, delta: float, failures: float) -> Spend:
    """The largest sums that keep (epsilon, delta) where all failures together are at most `failures`, rounded down."""
    if not 0 <= failures < delta:
        raise AccountingError(f"failures = {failures!r} must lie from 0 to below delta = {delta!r}.")
    mu = Fraction(mu_of_budget(epsilon, delta=delta - failures))
    mu_squared = min(_LARGEST, math.floor(mu**2 * MU_SQUARED_UNITS))
    return Spend(mu_squared, math.floor(Fraction(failures) * FAILURE_UNITS))
