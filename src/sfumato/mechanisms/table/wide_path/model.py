"""A fitted wide table: rows of a Gaussian, bent so that numbers stay within their bounds, with labels from the teacher."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.table.target.labels import draw_labels
from sfumato.mechanisms.table.wide_path.betas import fit_betas
from sfumato.mechanisms.table.wide_path.frame import Frame
from sfumato.mechanisms.table.wide_path.gauss import Gauss
from sfumato.mechanisms.table.wide_path.scores import Scores
from sfumato.model import Synthetic, check_row_count, rows_counted
from sfumato.public.plan.doors import Measured
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema

_CHUNK = 8_192

#: Rows of the Gaussian to rows that can be.
Bend = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True)
class WideModel:
    """A Gaussian, about the mean of each class where there are more than two, and labels from the teacher."""

    schema: Schema
    frame: Frame
    gauss: Gauss
    scores: Scores | None
    rates: NDArray[np.float64]
    means: NDArray[np.float64] | None
    weights: NDArray[np.float64] | None
    alpha: float
    noisy_rows_stddev: float

    @property
    def noisy_rows(self) -> float:
        """The noisy number of private rows."""
        return self.gauss.total

    @property
    def default_rows(self) -> int:
        """As many as there seem to be."""
        return rows_counted(self.noisy_rows, stddev=self.noisy_rows_stddev)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows; the same seed gives the same rows."""
        check_row_count(n_rows)
        rng, bend = np.random.default_rng(seed), self._bend()
        parts = [self._rows(min(_CHUNK, n_rows - at), rng, bend) for at in range(0, n_rows, _CHUNK)]
        points = np.concatenate([p for p, _ in parts])
        batch = _decode(self.frame.outward(points), self.schema)
        if self.schema.target is not None:
            batch[self.schema.target] = self._labels(points, np.concatenate([c for _, c in parts]), rng)
        return Synthetic(table=self.schema.decode(batch))

    def _rows(self, n_rows: int, rng: np.random.Generator, bend: Bend) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        rows = self.gauss.draw(n_rows, rng)
        classes = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        return bend(rows if self.means is None else rows + self.means[classes]), classes

    def _bend(self) -> Bend:
        """Numbers keep the means and variances that they have by the Gaussian, and stay within their bounds."""
        at = _numbers(self.schema)
        of_classes = np.zeros((len(self.rates), len(at))) if self.means is None else self.means[:, at]
        means = self.rates @ of_classes
        deviations = np.sqrt(self.gauss.variances[at] + self.rates @ (of_classes - means) ** 2)
        centre, unit = self.frame.centre[at], self.frame.unit
        betas = fit_betas(centre + means * unit, (deviations * unit) ** 2)

        def bend(rows: NDArray[np.float64]) -> NDArray[np.float64]:
            bent = rows.copy()
            bent[:, at] = (betas.of((rows[:, at] - means) / deviations) - centre) / unit
            return bent

        return bend

    def _labels(
        self, points: NDArray[np.float64], classes: NDArray[np.int64], rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """The class that a row was drawn for, or, for a part alpha of them, what the teacher says of the row.

        With two classes rows are drawn for none, so the teacher's labels are the only ones there are.
        """
        alpha = 1.0 if self.means is None else self.alpha
        if self.weights is None or alpha == 0:
            return classes
        scores = points @ self.weights[:, :-1].T
        scores = scores if self.scores is None else self.scores.spread(scores)
        unlike = np.zeros((len(scores), 0), dtype=np.int32)
        taught = draw_labels(scores, self.rates, rng, alike=unlike, same=np.arange(len(scores)))
        return taught if alpha == 1 else np.where(rng.random(len(classes)) < alpha, taught, classes)


def class_means(sums: Measured, counts: NDArray[np.float64], *, total: float) -> NDArray[np.float64]:
    """The classes' means without most of the noise: a few common directions, as far as they stand above it.

    Args:
        sums: Of the rows of each class.
        counts: Rows of each class.
        total: Rows of all.
    """
    sizes = np.maximum(counts, 0.05 * total / len(counts))
    # In these units every entry has the same noise.
    u, s, v = np.linalg.svd(sums.values / np.sqrt(sizes)[:, None], full_matrices=False)
    edge = sums.stddev / np.sqrt(sizes.mean()) * (np.sqrt(sums.values.shape[1]) + np.sqrt(len(sizes)))
    means: NDArray[np.float64] = (u * np.sqrt(np.maximum(s**2 - edge**2, 0.0))) @ v / np.sqrt(sizes)[:, None]
    return means


def _numbers(schema: Schema) -> NDArray[np.int64]:
    """Which entries of a row are values of numbers: not codes, and not whether a number is missing."""
    starts = np.cumsum([0, *(Encoder((column,)).width for column in schema.features)])
    return np.array([at for at, column in zip(starts, schema.features, strict=False) if column.is_number])


def _decode(box: NDArray[np.float64], schema: Schema) -> dict[str, NDArray[np.generic]]:
    """Points of the unit box as encoded rows: the inverse of `Encoder`. Of a declared group the likeliest member is set."""
    batch: dict[str, NDArray[np.generic]] = {}
    leaning: dict[str, NDArray[np.float64]] = {}
    start = 0
    for column in schema.features:
        width = Encoder((column,)).width
        part = box[:, start : start + width]
        start += width
        leaning[column.name] = part[:, -1] - (part[:, 0] if column.is_coded else 0.5)
        if column.is_coded:
            batch[column.name] = part.argmax(axis=1)
            continue
        value = column.low + part[:, 0] * (column.high - column.low)
        batch[column.name] = np.where(part[:, 1] > 0.5, np.nan, value) if column.missing else value
    for group in schema.groups:
        towards = np.stack([leaning[name] for name in group.members], axis=1)
        none = (towards.max(axis=1) <= 0) & group.or_none
        batch |= group.spelled(np.where(none, len(group.members), towards.argmax(axis=1)))
    return batch
