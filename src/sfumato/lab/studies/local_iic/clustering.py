"""Pictures with noise of their own, as the post makes them, and what invariant information clustering finds in them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.iic import Clustering, clustering_error, find_clusters

#: Pixels that are cut off at each side: digits lie in the middle.
_MARGIN = 4
_LEAST_SIDE = 20

Images = NDArray[np.float32]


def of_length_one(images: Images) -> Images:
    """Each picture divided by its own L2 norm."""
    flat = images.reshape(len(images), -1)
    length = np.maximum(np.linalg.norm(flat, axis=1), 1e-9)
    return np.asarray((flat / length[:, None]).reshape(images.shape), dtype=np.float32)


def with_noise(images: Images, *, noise_stddev: float, rng: np.random.Generator) -> Images:
    """Pictures of length 1 with noise on every pixel."""
    return of_length_one(images) + np.float32(noise_stddev) * rng.standard_normal(images.shape, dtype=np.float32)


def clustered(
    images: Images, labels: NDArray[np.int64], *, n_classes: int, epochs: int, batch: int, seed: int = 0
) -> dict[str, Any]:
    """Cluster pictures by themselves, and compare with their labels: error and loss (information, negative) by epoch."""
    seen = _middle(images)
    errors: list[float] = []
    losses: list[float] = []

    def note(clustering: Clustering) -> None:
        errors.append(round(clustering_error(clustering.assign(seen), labels, n_classes=n_classes), 4))
        losses.append(round(-clustering.information, 4))

    find_clusters(seen, n_clusters=n_classes, epochs=epochs, batch=batch, seed=seed, on_epoch=note)
    return {"error": errors[-1], "errors": errors, "losses": losses}


def _middle(images: Images) -> Images:
    """Without the margin, in grey tones of about one unit, which is as the network is made."""
    side = images.shape[1]
    inner = images[:, _MARGIN:-_MARGIN, _MARGIN:-_MARGIN] if side - 2 * _MARGIN >= _LEAST_SIDE else images
    return np.asarray(inner / max(float(inner.std()), 1e-9), dtype=np.float32)
