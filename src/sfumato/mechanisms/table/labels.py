"""Labels drawn by scores, at the rates that the classes should have."""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.logistic import probabilities

_ROUNDS = 200


def balanced_intercepts(scores: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to add to each class's score so that classes come out at the given rates on average."""
    shift = np.zeros(scores.shape[1])
    wanted = np.maximum(rates, 1e-9)
    for _ in range(_ROUNDS):
        reached = probabilities(scores + shift).mean(axis=0)
        shift += np.log(wanted / np.maximum(reached, 1e-12))
        if np.abs(reached - wanted).max() < 1e-7:
            break
    return np.asarray(shift - shift[0])


def draw_labels(scores: NDArray[np.float64], rates: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A label for each row by its scores, with intercepts that keep the rates of the classes.

    Rows with like scores share the chance: of any stretch of them about as many have a label as should, which leaves a
    learner less chance to mistake for a rule.
    """
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    p = probabilities(scores + balanced_intercepts(scores, rates))
    order = np.argsort(_along(p - p.mean(axis=0)), kind="stable")
    labels = np.empty(len(p), dtype=np.int64)
    labels[order] = _spread_evenly(p[order], rng)
    return labels


def _along(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Where each row lies along the direction in which rows differ most.

    Which of its two ends comes first is for us to say: another processor may find the opposite direction.
    """
    direction = np.linalg.eigh(spread.T @ spread)[1][:, -1]
    largest = int(np.argmax(np.round(np.abs(direction), 6)))
    return np.asarray(spread @ direction * np.sign(direction[largest]))


def _spread_evenly(p: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A label for each row with the given probabilities, of any stretch of rows as many as expected (systematic sampling)."""
    labels = np.full(len(p), p.shape[1] - 1, dtype=np.int64)
    left, free = np.ones(len(p)), np.arange(len(p))
    for c in range(p.shape[1] - 1):
        chance = np.clip(p[free, c] / np.maximum(left[free], 1e-12), 0.0, 1.0)
        upto = np.cumsum(chance) + rng.random()
        chosen = np.floor(upto) > np.floor(upto - chance)
        labels[free[chosen]] = c
        left[free] -= p[free, c]
        free = free[~chosen]
    return labels
