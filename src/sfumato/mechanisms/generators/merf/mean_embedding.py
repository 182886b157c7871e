"""What is measured for DP-MERF: the noisy mean embedding of every class, and how far a generator is from it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.mechanisms.generators.merf.waves import Waves
from sfumato.public.plan.block import Block, Hot, Outer
from sfumato.public.plan.doors import Measured, Noisy
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.schema import Batch

Vectors = NDArray[np.float64]

#: What the number of rows and the counts of single codes get of the precision; waves get the rest.
_COUNTS, _CODES = 0.04, 0.3
#: A class is taken for no smaller than so many standard deviations of its count.
_FEWEST = 3.0


def blocks(rows: MixedRows, n_waves: int) -> tuple[Block, ...]:
    """Rows of each class, codes of each column in it, and the sum of its waves, which have length 1."""
    classes, sizes = rows.n_classes, rows.code_sizes
    counts = Hot(name="counts", width=classes, share=_COUNTS)
    if not sizes:
        return counts, Outer(name="waves", shape=(classes, 2 * n_waves), l2_bound=1.0, share=1 - _COUNTS)
    codes = Hot(name="codes", width=classes * sum(sizes), n_hot=len(sizes), share=_CODES)
    return counts, codes, Outer(name="waves", shape=(classes, 2 * n_waves), l2_bound=1.0, share=1 - _COUNTS - _CODES)


def contribution(batch: Batch, rows: MixedRows, waves: Waves) -> dict[str, NDArray[Any]]:
    """What a row gives to the blocks."""
    label = rows.labels(batch)
    given: dict[str, NDArray[Any]] = {
        "counts": label,
        "waves": np.concatenate([one_hot(label, size=rows.n_classes), waves.of_rows(rows, batch)], axis=1),
    }
    if rows.code_sizes:
        given["codes"] = rows.codes(batch) + waves.starts + label[:, None] * sum(rows.code_sizes)
    return given


@dataclass(frozen=True)
class MeanEmbedding:
    """Mean waves and rates of codes of each class, less what is noise in what sets the class apart."""

    waves: Vectors = field(repr=False)
    codes: Vectors = field(repr=False)

    @staticmethod
    def of(noisy: Noisy) -> "MeanEmbedding":
        """Divide by noisy counts, and shrink."""
        counts = noisy["counts"]
        sizes = np.maximum(counts.values, max(_FEWEST * counts.stddev, 1.0))
        none = Measured(np.zeros(0), 0.0)
        return MeanEmbedding(*(_shrunk(noisy.get(name, none), sizes) for name in ("waves", "codes")))


def _shrunk(sums: Measured, sizes: Vectors) -> Vectors:
    """Class means, each drawn towards that of all rows by the part of its distance that is noise.

    James and Stein, "Estimation with quadratic loss" (1961), with the positive part: a class of few rows becomes like all.
    """
    by_class = sums.values.reshape(len(sizes), -1)
    of_all = by_class.sum(axis=0) / sizes.sum()
    offsets = by_class / sizes[:, None] - of_all
    noise = by_class.shape[1] * (sums.stddev / sizes) ** 2
    kept = np.clip(1 - noise / np.maximum((offsets**2).sum(axis=1), 1e-300), 0, 1)
    shrunk: Vectors = of_all + kept[:, None] * offsets
    return shrunk
