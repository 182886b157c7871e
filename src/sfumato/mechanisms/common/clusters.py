"""Clusters around private centres: rounds of Lloyd or of EM by noisy stacked sums, and what they need.

Given centres that are noisy already, the nearest one is a function of a row alone, so a row counts in one block of the
stacked counts and sums: they cost as much as a single count and a single sum, however many clusters there are. In EM a row
gives each cluster of its class its responsibility, r_1 + r_2 + ... = 1 with r >= 0, so the counts have norm |r| <= 1 and the
sums, r times the row's vector, norm |r| |v| <= the clip: a soft assignment costs no more than a hard one.
"""

import math
from collections.abc import Callable

import numpy as np

from sfumato.mechanisms.common.arrays import Flags, Floats, Integers, Values
from sfumato.mechanisms.common.measured import scaled
from sfumato.mechanisms.common.shrink import shrunk_means
from sfumato.public.machine.exact_arithmetic import squared_distances
from sfumato.public.plan.block import Block, Dense, Hot, Outer
from sfumato.public.plan.doors import Doors
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch

Labels = Callable[[Batch], Integers]

LENGTH_CELLS = 64
_CLIP_QUANTILE = 0.95
#: A cell of lengths stands out from so many standard deviations on; at most 2 to this power of them are merged.
_CLEAR, _MOST_MERGED = 3.5, 2
_FAR = 1e6  # where a centre that is not in use stands: no row is near it


def counts_and_sums(groups: int, width: int, *, soft: bool = False) -> tuple[Block, ...]:
    """How many rows are in each group, and the sum of their vectors, which have norm at most 1; `soft`: in several at once."""
    sums = Outer(name="sums", shape=(groups, width), l2_bound=1.0, share=0.8)
    if soft:
        return (Dense(name="counts", width=groups, l2_bound=1.0, nonnegative=True, share=0.2), sums)
    return (Hot(name="counts", width=groups, share=0.2), sums)


def in_group(group: Integers, vectors: Values, groups: int) -> dict[str, Values]:
    """What a row gives to `counts_and_sums`."""
    return {"counts": group, "sums": np.concatenate([one_hot(group, size=groups), vectors], axis=1)}


def clipped(vectors: Values, bound: float) -> Floats:
    """Vectors no longer than the bound."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    shorter: Floats = vectors * np.minimum(1.0, bound / np.maximum(lengths, 1e-12))
    return shorter


def nearest_centre(vectors: Values, label: Integers, centres: Floats) -> Integers:
    """The nearest centre of the row's own class; `centres` holds (class, cluster, entry)."""
    nearest = np.zeros(len(vectors), dtype=np.int64)
    for c in np.unique(label):
        mine = np.flatnonzero(label == c)
        nearest[mine] = squared_distances(vectors[mine], centres[c]).argmin(axis=1)
    return nearest


def about_nearest(vectors: Floats, label: Integers, centres: Floats) -> Floats:
    """What is left of vectors when the nearest centre is taken off."""
    left: Floats = vectors - centres[label, nearest_centre(vectors, label, centres)]
    return left


def public_start(classes: int, clusters: int, width: int, *, spread: float) -> Floats:
    """Public random places along the first entries, where rows of a class differ most."""
    low = min(25, width)
    centres = np.zeros((classes, clusters, width))
    drawn = np.random.default_rng(3).normal(size=(classes, clusters, low))
    centres[:, :, :low] = drawn * 0.5 * spread / np.sqrt(low)
    return centres


def set_aside(centres: Floats, used: Flags) -> Floats:
    """Centres with those that are not in use out of every row's reach."""
    return np.where(used[:, :, None], centres, _FAR)


def responsibilities(vectors: Values, label: Integers, centres: Floats, weights: Floats, variance: Floats) -> Floats:
    """How much each cluster of its own class answers for a row: (row, class * cluster), each row adding up to 1.

    `centres` are (class, cluster, entry), `weights` (class, cluster), and the `variance` is that of an entry, for each class.
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


def find_centres(
    view: Doors,
    step: str,
    start: Floats,
    *,
    labels: Labels,
    vector: str,
    spread: float,
    rounds: int,
    used: Flags | None = None,
    energy: float | None = None,
) -> tuple[Floats, Floats]:
    """Rounds of clustering with noisy sums: centres and weights, each as (class, cluster, ...).

    The step has the blocks of `counts_and_sums`, and is planned for as many uses as rounds. It clusters the prepared
    column `vector`, clipped to the length `spread`. Centres that are not `used` stay empty, and their blocks hold
    noise. With the mean squared length of the vectors, the `energy`, clusters are a mixture of round Gaussians (EM);
    without it every row is in one of them (Lloyd).
    """
    classes, clusters, width = start.shape
    used = np.ones((classes, clusters), dtype=bool) if used is None else used
    centres, weights = set_aside(start, used), np.where(used, 1.0, 0.0)
    variance = _variance(start, weights, energy or 0.0)
    for _ in range(rounds):

        def assigned(
            batch: Batch, centres: Floats = centres, weights: Floats = weights, variance: Floats = variance
        ) -> dict[str, Values]:
            label, vectors = labels(batch), batch[vector]
            if energy is None:
                nearest = label * clusters + nearest_centre(vectors, label, centres)
                return in_group(nearest, vectors / spread, classes * clusters)
            r = responsibilities(vectors, label, centres, weights, variance)
            return {"counts": r, "sums": np.concatenate([r, vectors / spread], axis=1)}

        noisy = view.noisy_sum(step, assigned)
        counts, sums = noisy["counts"].values, scaled(noisy["sums"], spread, -1, width)
        means = shrunk_means(sums.values, counts, stddev=sums.stddev).reshape(start.shape)
        weights = np.where(used, np.maximum(counts, 1.0).reshape(classes, clusters), 0.0)
        variance = _variance(means, weights, energy or 0.0)
        centres = set_aside(means, used)
    return centres, weights


def _variance(centres: Floats, weights: Floats, energy: float) -> Floats:
    """What is left of the mean squared length when the centres are taken off, for each entry; never near nothing."""
    part = weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-9)
    between = (part * (centres**2).sum(axis=2)).sum(axis=1)
    left: Floats = np.maximum(energy - between, 0.1 * energy) / centres.shape[2]
    return np.maximum(left, 1e-9)


def length_block(name: str = "length") -> Hot:
    """Which of 64 equal cells a row's length lies in."""
    return Hot(name=name, width=LENGTH_CELLS)


def length_cell(vectors: Values, longest: float) -> Floats:
    """The cell of each vector's length."""
    cells: Floats = np.linalg.norm(vectors, axis=1) / longest * LENGTH_CELLS
    return cells


def typical_length(noisy_counts: Floats, *, stddev: float, longest: float) -> float:
    """Where nearly all lengths end, by a noisy histogram on a public scale.

    Cells are merged where the noise is large for so many rows. A cell counts that stands out clearly, and what stands out a
    little beside one: noise far out would move the end by much.
    """
    rows = max(float(noisy_counts.sum()), stddev)
    merged = 2 ** min(math.ceil(max(math.log2(_CLEAR * LENGTH_CELLS * stddev / rows), 0.0)), _MOST_MERGED)
    counts, noise = noisy_counts.reshape(-1, merged).sum(axis=1), stddev * merged**0.5
    clear = counts > _CLEAR * noise
    beside = np.append(clear[1:], False) | np.append(False, clear[:-1])
    kept = np.where(clear | (beside & (counts > noise)), counts, 0.0)
    if kept.sum() <= 0:
        return longest / 2  # nothing rises above the noise
    upto = np.cumsum(kept) / kept.sum()
    return longest * float(np.searchsorted(upto, _CLIP_QUANTILE) + 1) / len(counts)


def mean_square(noisy_counts: Floats, typical: float, *, longest: float) -> float:
    """The mean squared length by a noisy histogram; at least a little of the typical one, which stands at its end."""
    kept = np.maximum(noisy_counts, 0.0)
    length = longest * (np.arange(LENGTH_CELLS) + 0.5) / LENGTH_CELLS
    return float(max((kept * length**2).sum() / max(kept.sum(), 1.0), 0.05 * typical**2))


def large_enough(noisy_sizes: Floats, used: Flags, least: int) -> Flags:
    """Clusters whose noisy size reaches the least one, and the largest of each class.

    The rows of the others are not lost: without its centre, they are nearest to another one.
    """
    sizes = np.where(used, noisy_sizes, -np.inf)
    kept: Flags = sizes >= least
    kept[np.arange(len(sizes)), sizes.argmax(axis=1)] = True
    return kept
