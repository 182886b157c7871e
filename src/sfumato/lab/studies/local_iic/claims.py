"""What the post claims of its noise, what is true of it, and what invariant information clustering finds in noisy pictures."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.learn.iic import Clustering, clustering_error, find_clusters
from sfumato.public.accounting import epsilon_of_mu, mu_of_budget

PIXELS = 784
CLAIMED = (150, 2_000, 3_000, 5_000, 200_000)
DELTA = 1 / PIXELS**2
#: Between two pictures without negative pixels, each of length 1: as far as pictures that share no pixel.
DIAMETER = math.sqrt(2)


def used_noise(claimed: float) -> float:
    """The noise on each pixel by the classic formula of the Gaussian mechanism, with a sensitivity of 1.

    >>> round(used_noise(150), 4)
    0.0347
    """
    return math.sqrt(2 * math.log(1.25 / DELTA)) / claimed


def honest_epsilon(claimed: float, *, diameter: float = DIAMETER) -> float:
    """Of that noise: the formula holds for an epsilon of at most 1, and the sensitivity is not 1.

    >>> round(honest_epsilon(150))
    1019
    """
    return epsilon_of_mu(diameter / used_noise(claimed), delta=DELTA)


def needed_noise(claimed: float) -> float:
    """The noise that the claim needs.

    >>> round(needed_noise(150), 3)
    0.106
    """
    return DIAMETER / mu_of_budget(claimed, delta=DELTA)


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
