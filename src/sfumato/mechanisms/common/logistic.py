"""Logistic regression: probabilities of scores, and errors of bounded length."""

import math
from functools import reduce

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers

#: From so many columns on numpy adds up rows in another order; below, it does the same as column by column, many times slower.
_MANY = 8


def probabilities(scores: Floats) -> Floats:
    """Class probabilities of scores: a sigmoid for one column of them, a softmax for several."""
    if scores.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-np.clip(scores, -40, 40))))
    if scores.shape[1] >= _MANY:
        weight = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(weight / weight.sum(axis=1, keepdims=True))
    weight = np.exp(scores - reduce(np.maximum, scores.T)[:, None])
    return np.asarray(weight / reduce(np.add, weight.T)[:, None])


def of_all_classes(p: Floats) -> Floats:
    """A column for each class, also where there are two and one of them was given."""
    return p if p.shape[1] > 1 else np.concatenate([1 - p, p], axis=1)


def errors(p: Floats, labels: Integers) -> Floats:
    """How wrong each row's p is: 0 on average where p is right, of norm at most 1, or sqrt(2) for several classes.

    Plain errors p - y, clipped, would be wrong on average; unclipped, they use the bound only where p is sure of a class. So
    they are divided by the longest that any class could make of them: with the right p that is still 0 on average.
    """
    if p.shape[1] == 1:
        return np.asarray((p - (labels == 1)[:, None]) / np.maximum(p, 1 - p))
    return np.asarray((p - (labels[:, None] == np.arange(p.shape[1]))) * _lengthened(p))


def _lengthened(p: Floats) -> Floats:
    """The bound over the longest error that any of several classes could make: that of the least likely one."""
    longest = np.sqrt(1 + (p**2).sum(axis=1) - 2 * p.min(axis=1))
    return np.asarray(math.sqrt(2.0) / longest)[:, None]


def error_bound(n_sets: int) -> float:
    """The norm that a row's errors never pass, for so many sets of weights."""
    return 1.0 if n_sets == 1 else math.sqrt(2.0)


def error_slopes(p: Floats) -> Floats:
    """The derivative of the expected error of each class by its own score."""
    return np.minimum(p, 1 - p) if p.shape[1] == 1 else p * (1 - p) * _lengthened(p)


def losses(p: Floats, labels: Integers, *, most: float) -> Floats:
    """The log-loss of each row, cut at `most`."""
    of_label = of_all_classes(p)[np.arange(len(labels)), labels]
    return np.minimum(-np.log(np.maximum(of_label, 1e-9)), most)
