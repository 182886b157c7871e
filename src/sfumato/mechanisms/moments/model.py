"""A fitted wide table: rows of a Gaussian, bent so that numbers stay within their bounds, with labels of the classifier."""

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.labels import expected_labels, systematic_labels
from sfumato.mechanisms.moments.evidence import Discriminant
from sfumato.mechanisms.moments.generator import Generator
from sfumato.mechanisms.moments.margins import Margins
from sfumato.mechanisms.moments.points import decode, shortened
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.schema.schema import Schema

#: Rows that are drawn at once.
_CHUNK = 8_192


@dataclass(frozen=True)
class MomentsModel(CountedRows):
    """A generator, the shapes of columns that were found beyond it, and labels of the classifier.

    `weights` are those of the classifier, the intercept last. With two classes they are a part of the discriminant.
    """

    schema: Schema
    generator: Generator
    margins: Margins | None
    weights: Floats | None
    discriminant: Discriminant | None
    alpha: float
    noisy_rows: float
    noisy_rows_stddev: float

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows; the same seed gives the same rows."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        parts = [self._draw(min(_CHUNK, n_rows - at), rng) for at in range(0, n_rows, _CHUNK)]
        vectors = np.concatenate([v for v, _ in parts])
        batch = decode(self.generator.frame.outward(vectors), self.schema)
        if self.schema.target is not None:
            batch[self.schema.target] = self._labels(vectors, np.concatenate([c for _, c in parts]), rng)
        return Synthetic(table=self.schema.decode(batch))

    def _draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
        """Vectors, and the class that each was drawn for."""
        vectors, classes = self.generator.draw(n_rows, rng)
        if self.margins is not None:
            at = self.generator.numbers
            frame = self.generator.frame.at(at)
            vectors[:, at] = frame.inward(self.margins.of(frame.outward(vectors[:, at])))
        return vectors, classes

    def _labels(self, vectors: Floats, classes: Integers, rng: np.random.Generator) -> Integers:
        """The class that a row was drawn for, or, for a part alpha of them, what the classifier says of the row.

        With two classes rows are drawn for none, so the classifier's labels are the only ones there are.
        """
        alpha = 1.0 if self.generator.means is None else self.alpha
        if self.weights is None or alpha == 0:
            return classes
        linear = shortened(vectors) @ self.weights[:, :-1].T
        scores = linear if self.discriminant is None else self.discriminant.scores(vectors)[:, None]
        predicted = systematic_labels(expected_labels(scores, self.generator.rates), rng)
        return predicted if alpha == 1 else np.where(rng.random(len(classes)) < alpha, predicted, classes)
