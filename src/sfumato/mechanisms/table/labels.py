"""Labels drawn by scores, at the rates that the classes should have, of rows that are alike as many as expected."""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.labels import expected_labels, score_order, systematic_labels
from sfumato.mechanisms.table.balance import balanced_walk

#: Parts of the rows in the order of their scores.
_STRETCHES = 64


def draw_labels(
    scores: NDArray[np.float64],
    rates: NDArray[np.float64],
    rng: np.random.Generator,
    *,
    alike: NDArray[np.int32],
    same: NDArray[np.int64],
) -> NDArray[np.int64]:
    """A label for each row by its scores, with intercepts that keep the rates of the classes.

    Rows that are alike share the chance: of those with one category, of one stretch of a number, of one stretch of scores, about
    as many have a label as should. That leaves a learner less chance to mistake for a rule, above all in large categories. Where the
    rarest class has fewer rows than there are categories and stretches, it is dealt out among coarser parts of them; where it has not
    even two rows for each column, rows with like scores alone share the chance.

    Args:
        scores: By row and class; a single score is that of the second of two classes.
        rates: Of the classes.
        rng: Of the labels.
        alike: By row and column, a code: rows are alike in a column where they share it.
        same: The kind of each row: rows of a kind share everything.
    """
    p = expected_labels(scores, rates)
    rarest, n_columns = len(p) * float(p.mean(axis=0).min()), alike.shape[1]
    if not 0 < 2 * n_columns <= rarest:
        return systematic_labels(p, rng)
    place = np.empty(len(p), dtype=np.int64)
    place[score_order(p)] = np.arange(len(p))
    if sum(np.count_nonzero(np.bincount(codes)) for codes in alike.T) < rarest:
        stretch = place * _STRETCHES // len(p)
    else:
        weight = (p / np.maximum(p.mean(axis=0), 1e-12)).sum(axis=1)  # every class counts alike, however rare it is
        alike = np.column_stack([_parts(codes, weight, int(rarest / n_columns)) for codes in alike.T])
        stretch = _parts(place, weight, min(_STRETCHES, int(rarest)))
    return balanced_walk(p, np.column_stack([alike, same, stretch]), rng)


def _parts(codes: NDArray[np.integer], weight: NDArray[np.float64], most: int) -> NDArray[np.int64]:
    """The part of each row, at most so many: neighbouring codes together, with about the same weight in each part."""
    mass = np.bincount(codes, weights=weight)
    middle = np.cumsum(mass) - mass / 2
    return np.asarray(np.minimum(middle / mass.sum() * most, most - 1).astype(np.int64)[codes])
