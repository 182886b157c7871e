"""How much noise the paper asks for: three readings of one proof, and the epsilon of each for clusters that are fixed.

Theorem 2 says that one row moves a mean by at most 1/l. That is true of one feature. Its proof goes on to sqrt(D)/l, over all D
features, and to sqrt(CD)/l, since Adapt lets a row reach the points of all C classes: the last is Eq. 7. With fixed clusters a row
that is replaced by another of its class moves one mean, by at most sqrt(D)/l.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from sfumato.public.accounting import epsilon_of_mu, mu_of_budget

Reading = Literal["sqrt(CD)/l", "sqrt(D)/l", "1/l"]
READINGS: tuple[Reading, ...] = get_args(Reading)
#: The one that Algorithm 2 names.
EQUATION_7: Reading = "sqrt(CD)/l"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """What is promised of rows in the unit box with D features and C classes."""

    epsilon: float
    delta: float
    features: int
    classes: int

    def noise(self, reading: Reading, rows: float) -> float:
        """The standard deviation on every feature of the mean of so many rows.

        >>> mnist = Claim(epsilon=1.0, delta=1e-5, features=784, classes=10)
        >>> [round(mnist.noise(reading, 118), 3) for reading in READINGS]
        [2.799, 0.885, 0.032]
        """
        return self.move(reading) / (rows * mu_of_budget(self.epsilon, delta=self.delta))

    def honest_epsilon(self, reading: Reading) -> float:
        """What is true of that noise where clusters do not depend on rows; as published they do, and nothing is true of it.

        >>> mnist = Claim(epsilon=1.0, delta=1e-5, features=784, classes=10)
        >>> [round(mnist.honest_epsilon(reading), 1) for reading in READINGS]
        [0.3, 1.0, 59.4]
        """
        mu = mu_of_budget(self.epsilon, delta=self.delta) * math.sqrt(self.features) / self.move(reading)
        return epsilon_of_mu(mu, delta=self.delta)

    def move(self, reading: Reading) -> float:
        """How far a row moves the sum of its cluster, as the reading has it."""
        moves = {"sqrt(CD)/l": self.classes * self.features, "sqrt(D)/l": self.features, "1/l": 1}
        return math.sqrt(moves[reading])
