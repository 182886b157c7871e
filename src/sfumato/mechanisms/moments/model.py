"""A fitted wide table: rows of a Gaussian, bent so that numbers stay within their bounds, with labels of the classifier."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.labels import expected_labels, systematic_labels
from sfumato.mechanisms.moments.betas import fit_betas
from sfumato.mechanisms.moments.evidence import Discriminant
from sfumato.mechanisms.moments.points import Frame, decode, number_entries, shortened
from sfumato.mechanisms.moments.population import Population
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.schema.schema import Schema

#: Rows that are drawn at once.
_CHUNK = 8_192

#: Vectors of the Gaussian to vectors whose points lie within the bounds.
Bend = Callable[[Floats], Floats]


@dataclass(frozen=True)
class MomentsModel(CountedRows):
    """A population, about the mean of each class where there are more than two, and labels of the classifier.

    `rates` and `means` are those of the classes, `weights` those of the classifier, the intercept last. With two
    classes they are a part of the discriminant.
    """

    schema: Schema
    settings: MomentsSettings
    frame: Frame
    population: Population
    rates: Floats
    means: Floats | None
    weights: Floats | None
    discriminant: Discriminant | None
    alpha: float
    noisy_rows: float
    noisy_rows_stddev: float

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows; the same seed gives the same rows."""
        check_row_count(n_rows)
        rng, bend = np.random.default_rng(seed), self._bend()
        parts = [self._draw(min(_CHUNK, n_rows - at), rng, bend) for at in range(0, n_rows, _CHUNK)]
        vectors = np.concatenate([v for v, _ in parts])
        batch = decode(self.frame.outward(vectors), self.schema)
        if self.schema.target is not None:
            batch[self.schema.target] = self._labels(vectors, np.concatenate([c for _, c in parts]), rng)
        return Synthetic(table=self.schema.decode(batch))

    def _draw(self, n_rows: int, rng: np.random.Generator, bend: Bend) -> tuple[Floats, Integers]:
        """Vectors, and the class that each was drawn for."""
        classes = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        vectors = self.population.draw(classes, rng)
        return bend(vectors if self.means is None else vectors + self.means[classes]), classes

    def _bend(self) -> Bend:
        """Numbers keep the means and variances that they have by the Gaussian, and stay within their bounds."""
        at = number_entries(self.schema)
        of_classes = np.zeros((len(self.rates), len(at))) if self.means is None else self.means[:, at]
        means = self.rates @ of_classes
        deviations = np.sqrt(self.population.variances(self.rates)[at] + self.rates @ (of_classes - means) ** 2)
        centre, unit = self.frame.centre[at], self.frame.unit
        betas = fit_betas(centre + means * unit, (deviations * unit) ** 2, self.settings)

        def bend(vectors: Floats) -> Floats:
            bent = vectors.copy()
            bent[:, at] = (betas.of((vectors[:, at] - means) / deviations) - centre) / unit
            return bent

        return bend

    def _labels(self, vectors: Floats, classes: Integers, rng: np.random.Generator) -> Integers:
        """The class that a row was drawn for, or, for a part alpha of them, what the classifier says of the row.

        With two classes rows are drawn for none, so the classifier's labels are the only ones there are.
        """
        alpha = 1.0 if self.means is None else self.alpha
        if self.weights is None or alpha == 0:
            return classes
        linear = shortened(vectors) @ self.weights[:, :-1].T
        scores = linear if self.discriminant is None else self.discriminant.scores(vectors)[:, None]
        predicted = systematic_labels(expected_labels(scores, self.rates), rng)
        return predicted if alpha == 1 else np.where(rng.random(len(classes)) < alpha, predicted, classes)
