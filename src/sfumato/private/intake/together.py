"""Rows of a person that lie apart are brought together, whatever the size of the data, and without a copy on any disk."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch

#: Rows that are held at once take no more than this. Where it does not suffice, the data is read more than once.
MOST_BYTES = 1 << 30


def brought_together(
    read: Callable[[], Iterator[Batch]], numbers: NDArray[np.int64], *, person: str, rows: int
) -> Iterator[Batch]:
    """All rows in the order of their persons' numbers; the rows of a person stay in the order in which they were.

    Rows that come in that order pass as they are read. Otherwise as many persons are held at once as memory allows, and
    the data is read again for those who follow.

    `read` opens the data. Under the name `person` each batch has the numbers of its rows' persons; `numbers` are those of all.

    >>> apart = {"x": np.array([1, 2, 3, 4]), "who": np.array([0, 1, 0, 2])}
    >>> [b["x"].tolist() for b in brought_together(lambda: iter([apart]), apart["who"], person="who", rows=3)]
    [[1, 3, 2], [4]]
    """
    if not (np.diff(numbers) < 0).any():
        yield from read()
        return
    rows_until = np.append(0, np.cumsum(np.bincount(numbers)))
    done = 0  # so many persons
    while done < len(rows_until) - 1:
        private_held, end = list[Batch](), 0
        for private_batch in read():
            whose = private_batch[person]
            if not end:
                fitting = MOST_BYTES * len(whose) // sum(values.nbytes for values in private_batch.values())
                end = max(done + 1, int(np.searchsorted(rows_until, rows_until[done] + fitting, side="right")) - 1)
            private_held.append(take(private_batch, np.flatnonzero((whose >= done) & (whose < end))))
        if not private_held:  # the file is gone
            return
        private_rows = {name: np.concatenate([batch[name] for batch in private_held]) for name in private_held[0]}
        order = np.argsort(private_rows[person], kind="stable")
        for start in range(0, len(order), rows):
            yield take(private_rows, order[start : start + rows])
        done = end
