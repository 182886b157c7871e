"""Rows as means and second moments tell them: vectors of the population about the means of their classes, within bounds. No doors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.moments.betas import Betas, fit_betas
from sfumato.mechanisms.moments.points import Frame
from sfumato.mechanisms.moments.population import Population
from sfumato.mechanisms.moments.settings import MomentsSettings


@dataclass(frozen=True, eq=False)
class Generator:
    """Draws a class by its rate and a vector about its mean, if it has one; `numbers` are the entries that are bent into bounds."""

    numbers: Integers
    frame: Frame
    population: Population
    rates: Floats
    means: Floats | None
    settings: MomentsSettings

    def draw(self, n_rows: int, rng: np.random.Generator) -> tuple[Floats, Integers]:
        """Vectors, and the class that each was drawn for."""
        classes = rng.choice(len(self.rates), size=n_rows, p=self.rates)
        vectors = self.population.draw(classes, rng)
        return self._bent(vectors if self.means is None else vectors + self.means[classes]), classes

    def _bent(self, vectors: Floats) -> Floats:
        """Numbers keep the means and variances that they have by the Gaussian, and stay within their bounds."""
        middle, deviations = self._spread
        at, bent = self.numbers, vectors.copy()
        bent[:, at] = self.frame.at(at).inward(self._betas.of((vectors[:, at] - middle) / deviations))
        return bent

    @cached_property
    def _spread(self) -> tuple[Floats, Floats]:
        """The mean and the standard deviation of each number, in units of the frame."""
        at = self.numbers
        of_classes = np.zeros((len(self.rates), len(at))) if self.means is None else self.means[:, at]
        middle = self.rates @ of_classes
        variances = self.population.variances(self.rates)[at] + self.rates @ (of_classes - middle) ** 2
        return middle, np.sqrt(variances)

    @cached_property
    def _betas(self) -> Betas:
        middle, deviations = self._spread
        unit = self.frame.unit
        return fit_betas(self.frame.centre[self.numbers] + middle * unit, (deviations * unit) ** 2, self.settings)
