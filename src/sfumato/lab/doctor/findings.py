"""What a test of the panel says, and when it raises an alarm."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from scipy import stats

#: A test raises an alarm where chance alone would do what was seen less often than this.
ALARM = 1e-3
_DRAWS = 20_000

Verdict = Literal["leak", "clear", "note", "not tested"]


@dataclass(frozen=True)
class Finding:
    """One test of the panel: a `leak`; `clear`, nothing was found; `note`, which takes knowledge of the data to judge; or
    `not tested`, with what it would take.

    `p_value` is how often chance would do the same or worse; none where the test has no null hypothesis.
    """

    check: str
    verdict: Verdict
    sentence: str
    p_value: float | None = None
    figures: dict[str, float] = field(default_factory=dict)


def judged(check: str, p_value: float, sentence: str, **figures: float) -> Finding:
    """A test with a null hypothesis: a leak where its p-value is below the alarm."""
    p = float(min(1.0, p_value))
    return Finding(check, "leak" if p < ALARM else "clear", sentence, p, figures)


def noted(check: str, sentence: str, **figures: float) -> Finding:
    """A fact without a verdict."""
    return Finding(check, "note", sentence, None, figures)


def not_tested(check: str, why: str) -> Finding:
    """A test that could not be made."""
    return Finding(check, "not tested", why)


def more_often_real(found_real: int, found_other: int, *, n_real: int, n_other: int) -> float:
    """How often chance would put so many of those found among the real rows, if real and held-back rows were alike.

    Fisher's exact test: which of the pooled rows are the real ones is a fair draw.

    >>> more_often_real(10, 0, n_real=100, n_other=100) < 0.001
    True
    """
    found = found_real + found_other
    return float(stats.hypergeom.sf(found_real - 1, n_real + n_other, found, n_real))


def more_than_chance(hits: int, *, doubles: int, per_double: float, phantoms: int, per_phantom: float) -> float:
    """How often chance would make so many hits on what only one real row has.

    Two kinds of chance, and any mixture of them, are allowed for. Rows drawn afresh from the same population fall on
    values that were seen once with a mass of two times the number seen twice, over n (Good 1953). Rows drawn broadly,
    from whatever is possible, fall as often on *phantoms*: made-up neighbours that no real row holds. Hits are compared
    with both counts as Poisson counts are: where one of them is all there is, this is the exact conditional test.

    >>> more_than_chance(18, doubles=0, per_double=2.0, phantoms=0, per_phantom=0.0) < ALARM
    True
    >>> more_than_chance(16, doubles=0, per_double=2.0, phantoms=0, per_phantom=0.0) < ALARM
    False
    """
    if not hits:
        return 1.0
    rng = np.random.default_rng(0)
    means = per_double * rng.gamma(doubles + 1, size=_DRAWS) + per_phantom * rng.gamma(phantoms + 1, size=_DRAWS)
    return float(np.mean(stats.poisson.sf(hits - 1, means)))
