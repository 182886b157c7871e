"""The two generators of the thesis, as its appendices have them. NOT private as claimed: see `claims`.

Facts of the thesis (Appendices A.1 and B.1), written anew: rows are read without doors, noise is that of numpy.
"""

import numpy as np
from numpy.typing import NDArray

from sfumato.lab.studies.common.digits import Digits
from sfumato.public.schema.encoding import one_hot

Vectors = NDArray[np.float32]


def random_mixtures(
    digits: Digits, *, mixtures: int, degree: int, noise_stddev: float, n_classes: int, rng: np.random.Generator
) -> tuple[Vectors, Vectors]:
    """Appendix A.1: a fresh random subset for every mixture; pixels and one-hot labels are averaged, with noise on both.

    Returns:
        Pictures and soft labels. Negative entries are set to 0, as published: post-processing.
    """
    rows, labels = digits.rows, one_hot(digits.labels, size=n_classes).astype(np.float32)
    features = np.empty((mixtures, rows.shape[1]), dtype=np.float32)
    soft = np.empty((mixtures, n_classes), dtype=np.float32)
    for at in range(mixtures):
        chosen = rng.choice(len(rows), degree, replace=False, shuffle=False)
        features[at], soft[at] = rows[chosen].mean(axis=0), labels[chosen].mean(axis=0)
    features += noise_stddev * rng.standard_normal(features.shape, dtype=np.float32)
    soft += noise_stddev * rng.standard_normal(soft.shape, dtype=np.float32)
    return np.maximum(features, 0).reshape(-1, *digits.images.shape[1:]), np.maximum(soft, 0)


def noised_class_means(
    digits: Digits, *, copies: int, degree: int, noise_stddev: float, n_classes: int, rng: np.random.Generator
) -> tuple[Vectors, NDArray[np.int64]]:
    """Appendix B.1: for each class ONE random subset, whose mean gets noise again and again.

    The subset is drawn outside of the loop over samples. Whoever averages the copies of a class has its mean with hardly any
    noise: that is what the published account overlooks.

    Returns:
        Pictures, and the classes that are the largest entries of the noisy labels.
    """
    subsets = class_subsets(digits, degree=degree, n_classes=n_classes, rng=rng)
    return noised_copies(digits, subsets, copies=copies, noise_stddev=noise_stddev, rng=rng)


def class_subsets(digits: Digits, *, degree: int, n_classes: int, rng: np.random.Generator) -> list[NDArray[np.int64]]:
    """The digits of each class that are averaged."""
    return [rng.choice(np.flatnonzero(digits.labels == c), degree, replace=False) for c in range(n_classes)]


def noised_copies(
    digits: Digits, subsets: list[NDArray[np.int64]], *, copies: int, noise_stddev: float, rng: np.random.Generator
) -> tuple[Vectors, NDArray[np.int64]]:
    """The mean of each subset, again and again, with noise on pixels and on labels."""
    n_classes = len(subsets)
    means = [digits.rows[chosen].mean(axis=0) for chosen in subsets]
    features = np.repeat(np.stack(means), copies, axis=0)
    features += noise_stddev * rng.standard_normal(features.shape, dtype=np.float32)
    labels = np.repeat(np.eye(n_classes, dtype=np.float32), copies, axis=0)
    labels += noise_stddev * rng.standard_normal(labels.shape, dtype=np.float32)
    return np.maximum(features, 0).reshape(-1, *digits.images.shape[1:]), labels.argmax(axis=1)
