"""Images drawn from the noisy density: what is released, and what the teacher practises on before it sees a private row."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.augment import PHOTOGRAPHS, STROKES, Variety
from sfumato.learn.oriented import SIDE
from sfumato.mechanisms.common.arrays import Integers, Singles
from sfumato.mechanisms.common.counted_classes import class_rates
from sfumato.mechanisms.common.pictures import waves_of
from sfumato.public.schema.schema import Schema

#: Class counts, cluster means and weights, loadings: what `density.py` measures.
Density = Mapping[str, NDArray[Any]]
#: Images drawn at once: so few that memory holds little besides what is kept of them.
_ROWS_AT_ONCE, _NUMBERS_AT_ONCE = 2048, 1 << 22


def pieces(n_rows: int, schema: Schema) -> Iterator[int]:
    """So many rows in pieces that are drawn at once."""
    at_once = max(1, min(_ROWS_AT_ONCE, _NUMBERS_AT_ONCE // int(np.prod(schema.images[0].shape))))
    yield from (min(at_once, n_rows - start) for start in range(0, max(n_rows, 1), at_once))


def variety_of(density: Density) -> Variety:
    """How images of this density are varied."""
    return PHOTOGRAPHS if "texture" in density else STROKES


def draw_images(
    density: Density, schema: Schema, n_rows: int, *, rng: np.random.Generator, small: bool = False
) -> tuple[Singles, Integers]:
    """Images in the unit box, pale and a little outside of it, with the class that each was drawn for.

    `small`: large images are drawn in the size that features are taken of, at a fraction of the work.
    """
    image = schema.images[0]
    vectors, label = _vectors(density, n_rows, rng)
    if "texture" in density:
        beyond = rng.standard_normal((n_rows, density["texture"].shape[1]), dtype=np.float32)
        vectors = np.concatenate([vectors, beyond * density["texture"][label]], axis=1)
    pixels = waves_of(image).pictures(vectors, side=SIDE if small else None)
    return np.clip(pixels.reshape(n_rows, *pixels.shape[1:3], *image.shape[2:]), -0.5, 1.5), label


def _vectors(density: Density, n_rows: int, rng: np.random.Generator) -> tuple[Singles, Integers]:
    """Cosine coefficients: a class, a cluster within it, and a Gaussian around the cluster's mean."""
    means, centres, loadings = density["means"], density["centres"], density["loadings"]
    label = rng.choice(len(means), size=n_rows, p=class_rates(density["class_counts"]))
    vectors = np.empty((n_rows, means.shape[1]), dtype=np.float32)
    for c in range(len(means)):
        mine = np.flatnonzero(label == c)
        weights = density["weights"][c] / density["weights"][c].sum()
        cluster = rng.choice(len(weights), size=len(mine), p=weights)
        waves = rng.standard_normal((len(mine), means.shape[1]), dtype=np.float32) @ loadings[c].T
        waves += (means[c] + centres[c]).astype(np.float32)[cluster]
        vectors[mine] = waves
    return vectors, label
