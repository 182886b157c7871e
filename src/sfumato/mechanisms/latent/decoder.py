"""Decoders, from a code and a group to the scores of a row's entries, and a linear one that follows from noisy moments.

For that no row is asked again: the likelihood of a logistic regression of bins on codes depends on rows through the mean of
every bin and its mean product with the code. Both are measured already. What else it needs is how codes are spread, and
these are drawn from the mixture.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp

from sfumato.mechanisms.latent.groundwork import Groundwork
from sfumato.mechanisms.latent.mixture import LatentMixture
from sfumato.mechanisms.latent.principal import Principal
from sfumato.mechanisms.latent.rows import LatentRows, TableRows, Vectors

#: Codes that are drawn for each group.
_DRAWS = 3000
#: Slopes are drawn towards 0, or they would grow without end: codes of rows lie in lumps, which a mixture fills up.
_RIDGE = 0.05
_MOST_ROUNDS = 100
#: Then the ridge is taken out of what groups expect: rounds of proportional fitting to their means.
_ROUNDS_OF_MEANS = 15


@dataclass(frozen=True)
class LinearDecoder:
    """The scores of each group, and the code along slopes, those of the group: (group, entry, code)."""

    scores: Vectors = field(repr=False)
    slopes: Vectors = field(repr=False)

    def __call__(self, codes: Vectors, groups: NDArray[np.int64]) -> Vectors:
        """One line of scores for each code."""
        scores: Vectors = self.scores[groups]
        for at in np.unique(groups):
            mine = groups == at
            scores[mine] += codes[mine] @ self.slopes[at].T
        return scores


@dataclass(frozen=True)
class NetworkDecoder:
    """Slopes that groups share, and one hidden layer beside them. Weights as in `network.Network`."""

    scores: Vectors = field(repr=False)
    unit: float
    weights: dict[str, NDArray[np.float64]] = field(repr=False)

    def __call__(self, codes: Vectors, groups: NDArray[np.int64]) -> Vectors:
        """One line of scores for each code."""
        inputs, classes = codes / self.unit, np.eye(len(self.scores))[groups]
        hidden = np.tanh(inputs @ self.weights["inner"] + classes @ self.weights["classes"])
        return np.asarray(self.scores[groups] + np.concatenate([inputs, hidden], axis=1) @ self.weights["outer"])


Decoder = LinearDecoder | NetworkDecoder


def linear_decoder(
    rows: LatentRows, ground: Groundwork, principal: Principal, mixture: LatentMixture, *, seed: int
) -> LinearDecoder:
    """The likeliest one: of pictures it is the transposed encoder, of bins a logistic regression."""
    if not isinstance(rows, TableRows):
        return LinearDecoder(ground.means, _shared(principal.directions, len(ground.means)))
    rng, (n_classes, width) = np.random.default_rng([seed, 1]), ground.means.shape
    codes = mixture.draw(np.repeat(np.arange(n_classes), _DRAWS), rng).reshape(n_classes, _DRAWS, -1) / mixture.size
    cross, first = principal.cross / mixture.size, rows.scores_of(ground.means)

    def unlikeliness(moved: Vectors) -> tuple[float, Vectors]:
        """And its gradient: moments that are expected less those that were measured."""
        scores, slopes = moved[:, :n_classes].T, moved[:, n_classes:]
        value = 0.5 * _RIDGE * float((moved**2).sum()) - float((slopes * cross).sum())
        gradient = _RIDGE * moved
        gradient[:, n_classes:] -= cross
        for label, (rate, mean) in enumerate(zip(ground.rates, ground.means, strict=True)):
            scored = first[label] + scores[label] + codes[label] @ slopes.T
            odds = rows.expected(scored)
            log_sums = sum(logsumexp(part, axis=1) for part in rows.layout.split(scored))
            value += rate * (float(np.mean(log_sums)) - float(scores[label] @ mean))
            gradient[:, label] += rate * (odds.mean(axis=0) - mean)
            gradient[:, n_classes:] += rate * odds.T @ codes[label] / _DRAWS
        return value, gradient

    shape = (width, n_classes + cross.shape[1])

    def flat(values: Vectors) -> tuple[float, Vectors]:
        value, gradient = unlikeliness(values.reshape(shape))
        return value, gradient.ravel()

    optimum = minimize(flat, np.zeros(shape).ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _MOST_ROUNDS})
    moved = optimum.x.reshape(shape)
    scores, slopes = first + moved[:, :n_classes].T, moved[:, n_classes:]
    for _ in range(_ROUNDS_OF_MEANS):
        scored = np.stack(
            [rows.expected(own + at @ slopes.T).mean(axis=0) for own, at in zip(scores, codes, strict=True)]
        )
        scores += first - rows.scores_of(scored)
    return LinearDecoder(scores, _shared(slopes / mixture.size, n_classes))


def _shared(slopes: Vectors, n_groups: int) -> Vectors:
    return np.broadcast_to(slopes, (n_groups, *slopes.shape))
