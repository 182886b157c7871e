"""Adapt: move points so that a classifier trained on them does well on rows that are known by their sums alone.

Kernel inducing points (Nguyen, Chen and Lee, "Dataset meta-learning from kernel ridge-regression", 2020) with a kernel
k(x, x') = f(x) . f(x') of public features f. The squared error of kernel ridge regression on all rows is then

    1/2 sum |y - W^T f(x)|^2 = 1/2 tr(W^T G W) - tr(W^T A) + 1/2 sum |y|^2,   G = sum f f^T,  A = sum f y^T,

with W = (F^T F + r I)^-1 F^T Y from the points' features F and labels Y. So two sums say all about the rows: where they
are noisy, any number of steps, restarts and settings is post-processing.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize

from sfumato.mechanisms.common.arrays import Floats, Values

#: The entry that every row's features end with, next to features of norm at most 1.
BIAS = 0.3
_MOST_STEPS = 60


def with_bias(points: Values) -> Floats:
    """Features with the constant entry, of norm at most 1."""
    inputs: Floats = np.column_stack([points, np.full(len(points), BIAS)])
    inputs /= np.maximum(np.linalg.norm(inputs, axis=1, keepdims=True), 1.0)
    return inputs


@dataclass(frozen=True)
class KernelSums:
    """What is known of the rows: G, A, how many rows, and the ridge that drowns the noise of G."""

    gram: Floats
    cross: Floats
    total: float
    ridge: float


def cleaned_sums(gram: Floats, cross: Floats, *, total: float, stddev: float) -> KernelSums:
    """Noisy sums as sums could be: symmetric, no negative direction, and a ridge as large as noise alone could reach.

    Symmetric noise of deviation s has eigenvalues up to 2 s sqrt(m) (Wigner's semicircle); averaging G with its
    transpose takes a factor sqrt(2) off.
    """
    values, directions = np.linalg.eigh((gram + gram.T) / 2)
    ridge = max(np.sqrt(2.0) * stddev * np.sqrt(len(gram)), 1e-3 * total / len(gram), 1e-9)
    return KernelSums((directions * np.maximum(values, 0.0)) @ directions.T, cross, max(total, 1.0), float(ridge))


def rule_of(points: Floats, labels: Floats, weights: Floats, *, ridge: float) -> Floats:
    """Kernel ridge regression on points that count as many rows each: one column of weights for a class."""
    root = np.sqrt(weights)[:, None]
    features, wanted = _features(points) * root, labels * root
    hessian = features.T @ features + ridge * np.eye(features.shape[1])
    return np.asarray(linalg.solve(hessian, features.T @ wanted, assume_a="pos"))


def adapted(points: Floats, labels: Floats, weights: Floats, known: KernelSums, *, firmness: float) -> Floats:
    """Points between where they are (firmness = 1) and where the classifier wants them (firmness = 0).

    Minimises firmness |X - X0|^2 / |X0|^2 + (1 - firmness) (mean squared error on the rows) by L-BFGS from the points X0.
    It is what the paper calls alpha. `weights`: how many rows each point stands for.
    """
    if firmness == 1:
        return points
    size = max(float((points**2).sum()), 1e-12)
    root = np.sqrt(np.maximum(weights, 1e-9))[:, None]
    wanted = labels * root
    gram = known.gram + known.ridge * np.eye(len(known.gram))

    def loss(flat: Floats) -> tuple[float, Floats]:
        moved = flat.reshape(points.shape)
        features = _features(moved) * root
        factored = linalg.cho_factor(features.T @ features + known.ridge * np.eye(features.shape[1]))
        rule = linalg.cho_solve(factored, features.T @ wanted)
        slope = gram @ rule - known.cross
        error = (0.5 * float((rule * (gram @ rule)).sum()) - float((rule * known.cross).sum())) / known.total + 0.5
        back = linalg.cho_solve(factored, slope)
        by_features = ((wanted - features @ rule) @ back.T - features @ back @ rule.T) * root / known.total
        gradient = 2 * firmness * (moved - points) / size + (1 - firmness) * by_features[:, :-1]
        return firmness * float(((moved - points) ** 2).sum()) / size + (1 - firmness) * error, gradient.ravel()

    best = optimize.minimize(loss, points.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _MOST_STEPS})
    return np.asarray(best.x, dtype=np.float64).reshape(points.shape)


def _features(points: Floats) -> Floats:
    """Points are means of rows' features: they have the constant entry, and need no clip."""
    return np.column_stack([points, np.full(len(points), BIAS)])
