"""Rows that are decoded from draws of a latent mixture. No code of a private row is ever decoded."""

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.counted_classes import CountedClasses, class_rates
from sfumato.mechanisms.latent.decoder import Decoder, LinearDecoder
from sfumato.mechanisms.latent.mixture import LatentMixture
from sfumato.mechanisms.latent.rows import LatentRows, PictureRows, Vectors
from sfumato.model import Synthetic, check_row_count
from sfumato.public.plan.doors import Measured

_ROWS_AT_ONCE = 8192
#: Rounds in which groups of pictures are given their means back, and pictures that are drawn of each group for it.
_ROUNDS, _DRAWS = 4, 1000


@dataclass(frozen=True)
class LatentModel(CountedClasses):
    """Noisy rows of each group, the odds of its classes, a mixture of codes, a decoder, and how rows vary besides their codes."""

    rows: LatentRows
    class_counts: Measured = field(repr=False)
    labels: Vectors = field(repr=False)
    mixture: LatentMixture
    decoder: Decoder
    rest: Vectors | None = field(default=None, repr=False)

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """A group by its noisy rate, a code from its mixture, a row from what the decoder says of both, and a class."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        groups = rng.choice(len(self.labels), size=n_rows, p=class_rates(self.class_counts.values))
        labels = (rng.random((n_rows, 1)) >= np.cumsum(self.labels, axis=1)[groups, :-1]).sum(axis=1)
        parts = np.split(groups, range(_ROWS_AT_ONCE, n_rows, _ROWS_AT_ONCE))
        expected = np.concatenate([self.rows.expected(self.scores(part, rng)) for part in parts])
        return self.rows.synthetic(expected, labels, rng)

    def scores(self, groups: NDArray[np.int64], rng: np.random.Generator) -> Vectors:
        """What rows of these groups are drawn from."""
        scores = self.decoder(self.mixture.draw(groups, rng), groups)
        return scores if self.rest is None else scores + rng.normal(size=scores.shape) @ self.rest


def keeping_means(model: LatentModel, *, seed: int) -> LatentModel:
    """The same, with groups whose pictures have the measured means when they are cut off at black and white.

    What is cut off is lost on one side only wherever a group is mostly dark or mostly bright, and its mean moves.
    """
    rows, decoder = model.rows, model.decoder
    if not isinstance(rows, PictureRows) or not isinstance(decoder, LinearDecoder):
        return model
    wanted, groups = decoder.scores, np.repeat(np.arange(len(decoder.scores)), _DRAWS)
    for at in range(_ROUNDS):
        drawn = rows.cut_off(model.scores(groups, np.random.default_rng([seed, at])))
        lost = wanted - drawn.reshape(len(wanted), _DRAWS, -1).mean(axis=1)
        decoder = replace(decoder, scores=decoder.scores + lost)
        model = replace(model, decoder=decoder)
    return model
