"""Softmax regression on synthetic images, without privacy: where the teacher begins."""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Floats, Integers, Singles
from sfumato.public.machine.threads import in_threads
from sfumato.public.schema.encoding import one_hot

_STEPS, _RATE, _MOMENTUM = 100, 60.0, 0.9
_DECAY = 1e-5
_ROWS_AT_ONCE = 512  # so few that the processor's cache keeps them for their second product


def softmax(scores: NDArray[np.floating]) -> Floats:
    """Probabilities of each row."""
    powers: Floats = np.subtract(scores, scores.max(axis=1, keepdims=True), dtype=np.float64)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=1, keepdims=True)
    return powers


def fitted_rule(inputs: Singles, label: Integers, *, classes: int) -> Floats:
    """Weights of each class, by gradient steps with momentum on the mean cross-entropy."""
    truth = one_hot(label, size=classes).astype(np.float32)
    rule = np.zeros((classes, inputs.shape[1]), dtype=np.float32)
    speed = np.zeros_like(rule)

    def gradient_of_some(start: int) -> Singles:
        some = inputs[start : start + _ROWS_AT_ONCE]
        errors = softmax(some @ rule.T).astype(np.float32) - truth[start : start + _ROWS_AT_ONCE]
        return np.asarray(errors.T @ some)

    for _ in range(_STEPS):
        gradient = np.zeros_like(rule)
        for part in in_threads(gradient_of_some, range(0, len(inputs), _ROWS_AT_ONCE)):
            gradient += part  # in their order, whoever is first: other orders are other bits
        speed = _MOMENTUM * speed + gradient / len(inputs) + _DECAY * rule
        rule = rule - _RATE * speed
    return rule.astype(np.float64)
