"""Labels by scores, at the rates that the classes should have."""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.logistic import probabilities


def expected_labels(scores: Floats, rates: Floats, *, rounds: int = 200) -> Floats:
    """The chance of every class for each row, the rates of the classes kept; a single score is that of the second of two."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    return probabilities(scores + class_shift(scores, rates, rounds=rounds))


def class_shift(scores: Floats, rates: Floats, *, rounds: int = 200) -> Floats:
    """What to add to each class's score so that classes come out at the given rates on average."""
    shift, wanted = np.zeros(scores.shape[1]), np.maximum(rates, 1e-9)
    for _ in range(rounds):
        reached = probabilities(scores + shift).mean(axis=0)
        shift += np.log(wanted / np.maximum(reached, 1e-12))
        if np.abs(reached - wanted).max() < 1e-7:
            break
    return np.asarray(shift - shift[0])


def score_order(p: Floats) -> Integers:
    """Rows in the order in which they lie along the direction in which their chances differ most.

    Which of its two ends comes first is for us to say: another processor may find the opposite direction.
    """
    spread = p - p.mean(axis=0)
    direction = np.linalg.eigh(spread.T @ spread)[1][:, -1]
    largest = int(np.argmax(np.round(np.abs(direction), 6)))
    return np.argsort(spread @ direction * np.sign(direction[largest]), kind="stable")


def systematic_labels(p: Floats, rng: np.random.Generator) -> Integers:
    """A label for each row with the given chances: of any stretch of rows with like chances, as many as expected."""
    order = score_order(p)
    p = p[order]
    labels = np.full(len(p), p.shape[1] - 1, dtype=np.int64)
    left, free = np.ones(len(p)), np.arange(len(p))
    for c in range(p.shape[1] - 1):
        chance = np.clip(p[free, c] / np.maximum(left[free], 1e-12), 0.0, 1.0)
        upto = np.cumsum(chance) + rng.random()
        chosen = np.floor(upto) > np.floor(upto - chance)
        labels[free[chosen]] = c
        left[free] -= p[free, c]
        free = free[~chosen]
    by_row = np.empty(len(p), dtype=np.int64)
    by_row[order] = labels
    return by_row
