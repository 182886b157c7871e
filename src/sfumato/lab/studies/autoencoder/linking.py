"""How many of the "private" rows give away whose they are: each is a function of one raw row."""

import numpy as np

from sfumato.lab.studies.digits import Pixels


def linked_share(raw: Pixels, released: Pixels, expected: Pixels) -> float:
    """The part of released rows whose raw row an adversary picks out of all: the one whose image comes nearest.

    Args:
        raw: Rows that the adversary has; any of them may have been released.
        released: Row i was made of row i.
        expected: What the adversary's own copy of the public network makes of the raw rows.

    >>> rows = np.eye(3, dtype=np.float32)
    >>> linked_share(rows, rows, rows)
    1.0
    """
    apart = (expected**2).sum(axis=1)[None] - 2 * released @ expected.T
    return float((apart.argmin(axis=1) == np.arange(len(raw))).mean())
