"""Both attempts of the post on noisy pictures: a network that is told noisy labels, and clusters without any."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.benchmark.learners import cnn_probabilities
from sfumato.lab.studies.common.digits import Codes, Digits, Pixels
from sfumato.learn.iic import Clustering, Training, clustering_error, find_clusters

#: Of how many pictures the error is followed by epoch; at the end it is that of all.
_WATCHED = 10_000


def of_length_one(images: Pixels) -> Pixels:
    """Each picture divided by its own L2 norm."""
    flat = images.reshape(len(images), -1)
    length = np.maximum(np.linalg.norm(flat, axis=1), 1e-9)
    return np.asarray((flat / length[:, None]).reshape(images.shape), dtype=np.float32)


def with_noise(images: Pixels, *, noise_stddev: float, rng: np.random.Generator) -> Pixels:
    """Pictures of length 1 with noise on every pixel."""
    return of_length_one(images) + np.float32(noise_stddev) * rng.standard_normal(images.shape, dtype=np.float32)


def noisy_labels(labels: Codes, *, n_classes: int, noise_stddev: float, rng: np.random.Generator) -> Codes:
    """A label as ten entries, one of them 1, with the same noise on each: the largest entry is the label that is told."""
    told = np.eye(n_classes)[labels] + noise_stddev * rng.standard_normal((len(labels), n_classes))
    return np.asarray(told.argmax(axis=1))


def named_by_cnn(images: Pixels, labels: Codes, test: Digits, *, n_classes: int, seed: int = 0) -> float:
    """How many clean test digits a network names that was trained on pictures and labels as they were told."""
    targets = np.eye(n_classes, dtype=np.float32)[labels]
    known, asked = in_units(images), in_units(of_length_one(test.images))
    named = cnn_probabilities(known, targets, asked, seed=seed).argmax(axis=1)
    return round(float((named == test.labels).mean()), 4)


def clustered(images: Pixels, labels: Codes, *, n_classes: int, training: Training, seed: int = 0) -> dict[str, Any]:
    """Cluster pictures by themselves, and only then compare with their labels: error and both losses by epoch."""
    seen = in_units(images)
    errors: list[float] = []
    losses: list[float] = []
    finer: list[float] = []

    def note(clustering: Clustering) -> None:
        watched = clustering.assign(seen[:_WATCHED])
        errors.append(round(clustering_error(watched, labels[:_WATCHED], n_classes=n_classes), 4))
        losses.append(round(-max(clustering.information), 4))
        finer.append(round(-clustering.finer_information, 4))

    found = find_clusters(seen, n_clusters=n_classes, training=training, seed=seed, on_epoch=note)
    error = round(clustering_error(found.assign(seen), labels, n_classes=n_classes), 4)
    return {"error": error, "loss": losses[-1], "errors": errors, "losses": losses, "finer losses": finer}


def in_units(images: Pixels) -> NDArray[np.float32]:
    """In grey tones of about one unit, which is as networks are made."""
    return np.asarray(images / max(float(images.std()), 1e-9), dtype=np.float32)
