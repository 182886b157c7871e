"""What a certificate says of a private score."""

import math
from dataclasses import dataclass
from typing import Literal

from sfumato.errors import VerificationError

Metric = Literal["AUC", "accuracy", "R2"]
#: Learners that a score may be that of.
LEARNERS = ("LightGBM", "gradient boosting (scikit-learn)")
#: What can be said where noise leaves nothing: anything.
RANGES: dict[Metric, tuple[float, float]] = {"AUC": (0.0, 1.0), "accuracy": (0.0, 1.0), "R2": (-1.0, 1.0)}


@dataclass(frozen=True)
class ScoreRecord:
    """A learner saw `rows` synthetic rows and was tested on a `share` of the private ones, which nothing else has measured.

    `scale` calibrates the noise of the one step. The interval holds the score on the population with a probability of 95 %.
    """

    share: float
    rows: int
    learner: str
    metric: Metric
    value: float
    low: float
    high: float
    scale: float

    @property
    def in_words(self) -> str:
        """Two sentences, made of the numbers. A value that anything might be is not told: people would read it as one."""
        found = (
            f"has an {self.metric} on private rows that cannot be said: too few of them were tested, or they are too much alike, "
            "to stand out of the noise."
            if (self.low, self.high) == RANGES[self.metric]
            else f"has an {self.metric} of {self.value:.3f} on private rows (95 % interval {self.low:.3f} to {self.high:.3f})."
        )
        return (
            f"{self.learner}, trained on {self.rows:,} synthetic rows by the model of this release, {found} These rows, a share of "
            f"{self.share:g} drawn by a secret coin, were measured for nothing else."
        )

    def check(self, *, what: str) -> None:
        """Refuse numbers that no score has."""
        is_known = self.learner in LEARNERS and self.rows >= 1 and 0 < self.share < 1 and self.scale > 0
        numbers = (self.value, self.low, self.high)
        if not is_known or not all(map(math.isfinite, numbers)) or not self.low <= self.value <= self.high:
            raise VerificationError(f"{what}: score holds what no score does. Get the release again.")
