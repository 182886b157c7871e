"""A teacher: logistic regression on binned columns from a few noisy gradients of all rows.

The curvature is known without asking: it is computed on rows of the fitted field. So each noisy gradient is a noisy
linear equation for the weights, and the answer is the most likely weights given all equations and the field's own
weights as a prior (a Wiener filter). Where the noise says nothing, the teacher stays with the field.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

#: How many gradients are asked for. The noise of all together does not depend on it.
GRADIENTS = 8

#: What is believed beforehand, on the log-odds scale: how large weights are, and how far apart two neighbours.
_SPREAD = 1.0
_SMOOTH = 0.3

#: The spread of the weights is learned once so many of them are settled, and stays within this range of the prior's.
_SETTLED = 5.0
LEARNED = (0.1, 2.0)
KNOWN = (1.0, 1.0)

#: How wrong the curvature may be, relative to itself, and how far the generator's rule may be from the private one's.
_CURVATURE_DOUBT = 0.3
_FORM_DOUBT = 0.05

_CURVATURE_ROWS = 10_000
_NEWTON = 6

#: Asks for the sum over private rows of `errors` at each of a row's codes, given the weights.
Ask = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Class probabilities of scores: a sigmoid for one column of them, a softmax for several."""
    if scores.shape[1] == 1:
        return np.asarray(1 / (1 + np.exp(-np.clip(scores, -40, 40))))
    weight = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weight / weight.sum(axis=1, keepdims=True))


def errors(p: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """How wrong each row's p is: 0 on average where p is right, of norm at most 1, or sqrt(2) for several classes.

    For two classes (p - y) / max(p, 1 - p): plain errors p - y, clipped, would be wrong on average; unclipped, they
    use the bound only where p is near 0 or 1. For several, p - y itself, one entry a class.
    """
    if p.shape[1] == 1:
        return np.asarray((p - (labels == 1)[:, None]) / np.maximum(p, 1 - p))
    return np.asarray(p - (labels[:, None] == np.arange(p.shape[1])))


def error_bound(n_sets: int) -> float:
    """The norm that a row's errors never pass."""
    return 1.0 if n_sets == 1 else math.sqrt(2.0)


def slopes(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """How fast the expected error of each class grows with its own score."""
    return np.minimum(p, 1 - p) if p.shape[1] == 1 else p * (1 - p)


def scores_of(weights: NDArray[np.float64], codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """The sum of the weights at each row's codes, for each row of weights."""
    return np.stack([w[codes].sum(axis=1) for w in weights], axis=1)


class Bends(Protocol):
    """Something that knows how fast the sum of `errors` grows with the weights."""

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """A matrix for each row of weights."""
        ...


@dataclass(frozen=True)
class Curvature:
    """Rows that stand for the private ones where only the curvature is asked for."""

    codes: NDArray[np.int64]
    width: int
    total: float

    def at(self, weights: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """How fast the sum of `errors` grows with the scores, for each row of weights."""
        n_rows, hot = self.codes.shape
        where = np.repeat(np.arange(n_rows), hot), self.codes.ravel()
        one_hot = sparse.csr_matrix((np.ones(n_rows * hot), where), shape=(n_rows, self.width))
        slope = slopes(probabilities(scores_of(weights, self.codes))) * (self.total / max(n_rows, 1))
        return [(one_hot.T @ one_hot.multiply(s[:, None]).tocsr()).toarray() for s in slope.T]


def curvature_rows(codes: NDArray[np.int64], *, width: int, total: float) -> Curvature:
    """As many rows as the curvature needs."""
    return Curvature(codes[:_CURVATURE_ROWS], width, total)


@dataclass(frozen=True)
class Heard:
    """A noisy gradient: what it was, at which weights, and the noise on each entry."""

    gradient: NDArray[np.float64]
    weights: NDArray[np.float64]
    noise: NDArray[np.float64]


def prior_precision(width: int, *, runs: Sequence[tuple[int, int]]) -> NDArray[np.float64]:
    """Weights are of order one, and neighbours along a number (`runs`: where it starts and stops) are alike."""
    precision = np.eye(width) / _SPREAD**2
    for start, stop in runs:
        steps = np.arange(start, stop - 1)
        for left, right, sign in ((0, 0, 1), (1, 1, 1), (0, 1, -1), (1, 0, -1)):
            np.add.at(precision, (steps + left, steps + right), sign / _SMOOTH**2)
    return precision


@dataclass(frozen=True)
class Belief:
    """The most likely weights, and how large weights seem to be, relative to what the prior says."""

    weights: NDArray[np.float64]
    spread: float = 1.0


def most_likely(
    heard: Sequence[Heard],
    before: Belief,
    prior: NDArray[np.float64],
    curvature: Bends,
    *,
    spreads: tuple[float, float] = LEARNED,
) -> Belief:
    """The weights at which, by the curvature here, all gradients would be zero as nearly as their noise allows.

    The curvature is not that of the private rows. So a gradient that was asked far from here counts for less. How large
    weights are is learned on the way: their size against the number of weights that the gradients settle (MacKay,
    "Bayesian interpolation", 1992). Where little can be predicted, small weights keep the noise out.
    """
    now, out, size, settled = before.weights, [], 0.0, 0.0
    for c, bend in enumerate(curvature.at(now)):
        trust, pull = np.zeros(len(bend)), np.zeros(len(bend))
        for one in heard:
            away = bend @ (one.weights[c] - now[c])
            precision = 1 / (one.noise[c] ** 2 + (_CURVATURE_DOUBT * away) ** 2)
            trust += precision
            pull += precision * (bend @ one.weights[c] - one.gradient[c])
        spread = linalg.inv(prior / before.spread**2 + (bend * trust) @ bend)
        out.append(spread @ (bend @ pull))
        size += float(out[-1] @ prior @ out[-1])
        settled += len(bend) - float(np.sum(prior * spread)) / before.spread**2
    found = np.sqrt(size / settled) if settled >= _SETTLED else before.spread
    return Belief(np.stack(out), float(np.clip(found, *spreads)))


def learn(
    prior: NDArray[np.float64],
    codes: NDArray[np.int64],
    labels: NDArray[np.int64],
    curvature: Curvature,
    *,
    n_sets: int,
    noise: float,
) -> Heard:
    """What the rows of the generator say: their gradient is as noisy as the tables behind them, and their form doubtful."""
    scale = curvature.total / max(len(codes), 1)
    belief = Belief(np.zeros((n_sets, curvature.width)))
    for turn in range(_NEWTON + 1):
        weights = belief.weights
        error = errors(probabilities(scores_of(weights, codes)), labels)
        found = [
            np.bincount(codes.ravel(), weights=np.repeat(e, codes.shape[1]), minlength=curvature.width) for e in error.T
        ]
        bend = np.stack([np.diag(b) for b in curvature.at(weights)])
        heard = Heard(
            np.asarray(np.stack(found) * scale, dtype=np.float64),
            weights,
            np.sqrt(noise**2 + (_FORM_DOUBT * bend) ** 2),
        )
        if turn < _NEWTON:
            belief = most_likely([heard], belief, prior, curvature)
    return heard


def teach(
    ask: Ask,
    start: Heard,
    prior: NDArray[np.float64],
    curvature: Bends,
    *,
    noise: float,
    spreads: tuple[float, float] = LEARNED,
) -> NDArray[np.float64]:
    """Weights from noisy gradients of the private rows.

    Args:
        ask: Gives a noisy gradient.
        start: What the generator says.
        prior: The precision of what is believed of weights in general.
        curvature: Rows for the second derivative.
        noise: The standard deviation of what `ask` gives.
        spreads: Between which bounds the size of the weights is learned, relative to the prior; or KNOWN.
    """
    heard, belief = [start], Belief(start.weights)
    for _ in range(GRADIENTS):
        heard.append(Heard(ask(belief.weights), belief.weights, np.full(belief.weights.shape, noise)))
        belief = most_likely(heard, belief, prior, curvature, spreads=spreads)
    return most_likely(heard, belief, prior, curvature, spreads=spreads).weights


def balanced_intercepts(scores: NDArray[np.float64], rates: NDArray[np.float64]) -> NDArray[np.float64]:
    """What to add to each class's score so that classes come out at the given rates on average."""
    shift = np.zeros(scores.shape[1])
    wanted = np.maximum(rates, 1e-9)
    for _ in range(200):
        found = probabilities(scores + shift).mean(axis=0)
        shift += np.log(wanted / np.maximum(found, 1e-12))
        if np.abs(found - wanted).max() < 1e-7:
            break
    return np.asarray(shift - shift[0])


def draw_labels(scores: NDArray[np.float64], rates: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """A label for each row by its scores, with intercepts that keep the rates of the classes."""
    if scores.shape[1] == 1:
        scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
    p = probabilities(scores + balanced_intercepts(scores, rates))
    drawn = (np.cumsum(p, axis=1) < rng.random(len(p))[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, p.shape[1] - 1), dtype=np.int64)
