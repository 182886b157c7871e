"""EM for a mixture of round Gaussians around private centres: noisy sums of responsibilities.

A row gives each cluster of its class its responsibility, r_1 + r_2 + ... = 1 with r >= 0, so the counts have norm |r| <= 1
and the sums, r times the row's vector, norm |r| |v| <= the clip: a soft assignment costs no more than a hard one.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.clusters import Labels, Vectors, set_aside
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.shrink import shrunk_means
from sfumato.public.machine.exact_arithmetic import squared_distances
from sfumato.public.plan.block import Block, Dense, Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.schema.schema import Batch


def soft_counts_and_sums(groups: int, width: int) -> tuple[Block, ...]:
    """The blocks of `counts_and_sums` for rows that are in several groups at once."""
    sums = Outer(name="sums", shape=(groups, width), l2_bound=1.0, share=0.8)
    return (Dense(name="counts", width=groups, l2_bound=1.0, nonnegative=True, share=0.2), sums)


def responsibilities(
    vectors: NDArray[np.generic], label: NDArray[np.int64], centres: Vectors, weights: Vectors, variance: Vectors
) -> Vectors:
    """How much each cluster of its own class answers for a row: (row, class * cluster), each row adding up to 1.

    Args:
        vectors: One a row.
        label: The class of each.
        centres: As (class, cluster, entry).
        weights: As (class, cluster).
        variance: Of an entry, for each class.
    """
    classes, clusters, _ = centres.shape
    out = np.zeros((len(vectors), classes, clusters))
    for c in np.unique(label):
        mine = np.flatnonzero(label == c)
        square = squared_distances(vectors[mine], centres[c])
        score = np.log(np.maximum(weights[c], 1e-9)) - square / (2 * variance[c])
        power = np.exp(score - score.max(axis=1, keepdims=True))
        out[mine, c] = power / power.sum(axis=1, keepdims=True)
    return out.reshape(len(vectors), -1)


def em(
    view: Doors,
    step: str,
    start: Vectors,
    *,
    labels: Labels,
    vector: str,
    spread: float,
    energy: float,
    rounds: int,
    used: NDArray[np.bool_],
) -> tuple[Vectors, Vectors]:
    """Rounds of EM with noisy sums: centres and weights, each as (class, cluster, ...).

    Args:
        view: The doors.
        step: A step with the blocks of `soft_counts_and_sums`, planned for as many uses as rounds.
        start: Where the centres begin, a public place.
        labels: The class of each row.
        vector: The prepared column that is clustered.
        spread: The length that vectors are clipped to.
        energy: The mean squared length of the vectors, by an earlier noisy answer.
        rounds: How many rounds.
        used: Which centres are in use.
    """
    classes, clusters, width = start.shape
    centres, weights = set_aside(start, used), np.where(used, 1.0, 0.0)
    variance = _variance(start, weights, energy)
    for _ in range(rounds):

        def shared(
            batch: Batch, centres: Vectors = centres, weights: Vectors = weights, variance: Vectors = variance
        ) -> dict[str, NDArray[np.generic]]:
            r = responsibilities(batch[vector], labels(batch), centres, weights, variance)
            return {"counts": r, "sums": np.concatenate([r, batch[vector] / spread], axis=1)}

        noisy = view.noisy_sum(step, shared)
        counts, sums = noisy["counts"].values, scaled(noisy["sums"], spread, -1, width)
        means = shrunk_means(sums.values, counts, stddev=sums.stddev).reshape(start.shape)
        weights = np.where(used, np.maximum(counts, 1.0).reshape(classes, clusters), 0.0)
        variance = _variance(means, weights, energy)
        centres = set_aside(means, used)
    return centres, weights


def _variance(centres: Vectors, weights: Vectors, energy: float) -> Vectors:
    """What is left of the mean squared length when the centres are taken off, for each entry; never near nothing."""
    part = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    between = (part * (centres**2).sum(axis=2)).sum(axis=1)
    left: Vectors = np.maximum(energy - between, 0.1 * energy) / centres.shape[2]
    return np.maximum(left, 1e-9)
