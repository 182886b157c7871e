"""A Gaussian bent to measured slices, with labels from the teacher."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from sfumato.mechanism import Measurements
from sfumato.mechanisms.parts.frame import Frame
from sfumato.mechanisms.parts.gauss import Gauss
from sfumato.mechanisms.parts.scores import Scores
from sfumato.mechanisms.parts.table_model import several_rows
from sfumato.mechanisms.parts.teacher import draw_labels
from sfumato.model import Synthetic, check_row_count
from sfumato.public.encoding import Encoder
from sfumato.public.schema import Column, Schema

_CHUNK = 8_192


@dataclass(frozen=True)
class WideModel:
    """Slices of the score (or classes), the mean of each, and the Gaussian around them."""

    schema: Schema
    frame: Frame
    gauss: Gauss
    scores: Scores | None
    rates: NDArray[np.float64]
    means: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None
    chance: NDArray[np.float64]
    alpha: float

    @property
    def default_rows(self) -> int:
        """Several rows for each private one where these are few: the labels are drawn, and drawing averages out."""
        return several_rows(self.gauss.total)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows; the same seed gives the same rows."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        parts = [self._rows(min(_CHUNK, n_rows - at), rng) for at in range(0, n_rows, _CHUNK)]
        points = np.concatenate([p for p, _ in parts])
        batch = _decode(self.frame.outward(points), self.schema.features)
        if self.schema.target is not None:
            batch[self.schema.target] = self._labels(points, np.concatenate([c for _, c in parts]), rng)
        return Synthetic(table=self.schema.decode(batch))

    def _rows(self, n_rows: int, rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rows = self.gauss.draw(n_rows, rng)
        classes = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        if self.weights is None or self.means is None:
            return rows, classes
        if self.scores is None:
            return rows + self.means[classes], classes
        # Along the score, replace the Gaussian's straight line by the measured scores and means.
        w = self.weights[0, :-1]
        along = self.gauss.times(w)
        drawn = rows @ w
        score = self.scores.spread(drawn)
        knots = self.scores.middles(len(self.means))
        bent = np.stack([np.interp(score, knots, m) for m in self.means.T], axis=1)
        line = _line(self.means, knots, w, along)
        bent += np.outer(score - bent @ w, line)  # a row has the score that was drawn for it
        return rows - np.outer(drawn, along / max(float(w @ along), 1e-12)) + bent, classes

    def _labels(
        self, points: NDArray[np.float64], classes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        if self.weights is None or (self.alpha == 0 and len(self.rates) > 2):
            return classes
        scores = points @ self.weights[:, :-1].T
        if self.scores is not None:  # the measured chance of the second class at this score
            knots = self.scores.middles(len(self.chance))
            scores = np.interp(scores, knots, np.log(self.chance / (1 - self.chance)))
        return draw_labels(scores, self.rates, rng)


def _line(
    means: NDArray[np.float64], knots: NDArray[np.float64], w: NDArray[np.float64], along: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a row gains with each unit of its score: by the slices or, where these say nothing, by the Gaussian."""
    by_slices = means.T @ (knots - knots.mean())
    gained = float(w @ by_slices)
    usual = along / max(float(w @ along), 1e-12)
    return by_slices / gained if gained > 1e-3 * float(np.sum((knots - knots.mean()) ** 2)) else usual


def make_wide_model(
    schema: Schema,
    frame: Frame,
    gauss: Gauss,
    scores: Scores | None,
    found: Measurements,
    *,
    noise: dict[str, float],
    alpha: float,
) -> WideModel:
    """Clean the slices' means: a few common directions, as far as they stand above the noise."""
    counts = np.maximum(found["classes"], 0.0)
    rates = counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))
    if "slices" not in found:
        return WideModel(schema, frame, gauss, None, rates, None, None, np.zeros(0), alpha)
    hits = np.asarray(found["hits"]).reshape(-1, len(rates))
    sizes = np.maximum(hits.sum(axis=1), 0.05 * gauss.total / len(hits))
    sums = np.asarray(found["slices"]).reshape(len(sizes), -1)
    # In these units every entry has the same noise.
    scaled = sums / np.sqrt(sizes)[:, None]
    u, s, v = np.linalg.svd(scaled, full_matrices=False)
    per_entry = noise["slices"] / np.sqrt(sizes.mean())
    edge = per_entry * (np.sqrt(sums.shape[1]) + np.sqrt(len(sizes)))
    cleaned = np.sqrt(np.maximum(s**2 - edge**2, 0.0))
    means = (u * cleaned) @ v / np.sqrt(sizes)[:, None]
    chance = _rising(hits[:, -1] / sizes, sizes)
    return WideModel(schema, frame, gauss, scores, rates, means, np.asarray(found["teacher"]), chance, alpha)


def _decode(box: NDArray[np.float64], columns: tuple[Column, ...]) -> dict[str, NDArray[np.generic]]:
    """Points of the unit box as encoded rows: the inverse of `Encoder`."""
    batch: dict[str, NDArray[np.generic]] = {}
    start = 0
    for column in columns:
        width = Encoder((column,)).width
        part = box[:, start : start + width]
        start += width
        if column.is_coded:
            batch[column.name] = part.argmax(axis=1)
            continue
        value = column.low + part[:, 0] * (column.high - column.low)
        batch[column.name] = np.where(part[:, 1] > 0.5, np.nan, value) if column.missing else value
    return batch


def _rising(chance: NDArray[np.float64], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Noisy chances made to rise with the score, and kept off 0 and 1."""
    fitted = IsotonicRegression().fit_transform(np.arange(len(chance)), chance, sample_weight=sizes)
    return np.asarray(np.clip(fitted, 0.005, 0.995))
