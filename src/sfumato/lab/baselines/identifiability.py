"""How near generated rows come to real ones, as ADS-GAN sees it. It is a distance and no guarantee.

Yoon, Drumright and van der Schaar, "Anonymization through data synthesis using generative adversarial networks (ADS-GAN)",
IEEE Journal of Biomedical and Health Informatics 24 (2020).
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.mixed_rows import MixedRows
from sfumato.public.schema.schema import Batch

#: Of a column, in nats: one that hardly varies would otherwise be all that counts.
_LEAST_ENTROPY = 0.1
#: Real rows whose neighbours are looked for.
_ASKED = 1_000


def entropy_weights(rows: MixedRows, batch: Batch) -> NDArray[np.float64]:
    """One over the entropy of each column, for every entry of a row's vector: what few people share counts for more.

    >>> from sfumato.public.schema.schema import Column, Schema
    >>> rows = MixedRows(Schema(columns=(Column(name="ill", kind="boolean"),)))
    >>> entropy_weights(rows, {"ill": np.array([0, 1, 0, 1])}).round(3)
    array([1.443, 1.443])
    """
    columns = [*rows.numbers(batch).T, *rows.codes(batch).T]
    sizes = [1] * rows.n_numbers + list(rows.code_sizes)
    weights = [1 / max(_entropy(values), _LEAST_ENTROPY) for values in columns]
    return np.repeat(weights, sizes)


def _entropy(values: NDArray[np.generic]) -> float:
    rates = np.unique(values, return_counts=True)[1] / len(values)
    return float(-(rates * np.log(rates)).sum())


def identified(real: NDArray[np.floating], generated: NDArray[np.floating], *, seed: int) -> float:
    """The part of real rows that have a generated row nearer than any other real one; of a thousand, drawn by the seed.

    >>> real = np.array([[0.0], [1.0], [5.0]])
    >>> identified(real, np.array([[0.1], [9.5]]), seed=0).__round__(3)  # 5 is nearer to 1 than to 9.5
    0.667
    """
    from sklearn.neighbors import NearestNeighbors

    asked = np.random.default_rng(seed).permutation(len(real))[:_ASKED]
    among_real = NearestNeighbors(n_neighbors=2, algorithm="brute").fit(real).kneighbors(real[asked])[0][:, 1]
    among_generated = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(generated).kneighbors(real[asked])[0][:, 0]
    return float((among_generated < among_real).mean())
