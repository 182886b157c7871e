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
    """A label for each row by its scores, with intercepts that keep the rates of the classes."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    p = probabilities(scores + balanced_intercepts(scores, rates))
    drawn = (np.cumsum(p, axis=1) < rng.random(len(p))[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, p.shape[1] - 1), dtype=np.int64)
