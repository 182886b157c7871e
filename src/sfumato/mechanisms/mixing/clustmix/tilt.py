"""Histograms bent to a given mean: what is most like a class's histogram among all with the mean of a cluster."""

import numpy as np

from sfumato.mechanisms.common.arrays import Floats

#: Equal cells of a number between its bounds.
CELLS = 32
_STEEPEST = 500.0
_HALVINGS = 50


def middles() -> Floats:
    """The middle of each cell, in units of the range."""
    return (np.arange(CELLS) + 0.5) / CELLS


def tilted(shape: Floats, means: Floats) -> Floats:
    """For each mean, the distribution p(v) proportional to shape(v) exp(t v) that has it: exponential tilting.

    It is the one of least relative entropy to the shape (Csiszar, "I-divergence geometry", 1975). A mean outside of what
    the shape can reach gives the nearest end of it. Means are in units of the range.

    >>> odds = tilted(np.full(CELLS, 1 / CELLS), np.array([0.25, 0.5]))
    >>> np.round(odds @ middles(), 6)
    array([0.25, 0.5 ])
    """
    place = middles()
    log_shape = np.log(np.maximum(shape, 1e-12))
    low, high = np.full(len(means), -_STEEPEST), np.full(len(means), _STEEPEST)
    for _ in range(_HALVINGS):
        slope = (low + high) / 2
        too_low = _odds(log_shape, slope, place) @ place < means
        low, high = np.where(too_low, slope, low), np.where(too_low, high, slope)
    return _odds(log_shape, (low + high) / 2, place)


def _odds(log_shape: Floats, slope: Floats, place: Floats) -> Floats:
    score = log_shape + slope[:, None] * place
    power: Floats = np.exp(score - score.max(axis=1, keepdims=True))
    power /= power.sum(axis=1, keepdims=True)
    return power


def cleaned(noisy_counts: Floats, *, stddev: float, prior: float) -> Floats:
    """Noisy histograms, (class, cell), as probabilities: what is not above its noise is nothing.

    A class is given `prior` rows' worth of the histogram over all classes.
    """
    kept = np.where(noisy_counts > stddev, noisy_counts, 0.0)
    together = np.where(noisy_counts.sum(axis=0) > stddev * np.sqrt(len(kept)), noisy_counts.sum(axis=0), 0.0)
    if together.sum() <= 0:
        together = np.ones(CELLS)
    kept = kept + prior * together / together.sum()
    return np.asarray(kept / kept.sum(axis=1, keepdims=True))
