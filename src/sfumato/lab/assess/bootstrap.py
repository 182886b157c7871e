"""Confidence by drawing the test rows again: what the score would have been on other test rows of the same kind."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.attacks.roc import Interval

_ROUNDS = 100


def interval(
    score: Callable[[NDArray[np.int64]], float], strata: NDArray[np.int64], *, rounds: int = _ROUNDS
) -> Interval:
    """The score of all test rows, and the middle 95 % of its values when rows are drawn with replacement.

    Args:
        score: From places of rows to a score.
        strata: Of each row; rows are drawn within their stratum, so that no class vanishes.
        rounds: How often to draw.

    >>> interval(lambda at: 0.5, np.zeros(10, dtype=np.int64))
    Interval(value=0.5, low=0.5, high=0.5)
    """
    rng = np.random.default_rng(0)
    groups = [np.flatnonzero(strata == kind) for kind in np.unique(strata)]
    drawn = [score(np.concatenate([rng.choice(group, len(group)) for group in groups])) for _ in range(rounds)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    value = score(np.arange(len(strata)))
    return Interval(value, float(low), float(high))
