"""Rows that are decoded from draws of a latent mixture. No code of a private row is ever decoded."""

from dataclasses import dataclass, field

import numpy as np

from sfumato.mechanisms.common.counted_classes import CountedClasses, class_rates
from sfumato.mechanisms.latent.decoder import Decoder
from sfumato.mechanisms.latent.mixture import LatentMixture
from sfumato.mechanisms.latent.rows import LatentRows
from sfumato.model import Synthetic, check_row_count
from sfumato.public.plan.doors import Measured

_ROWS_AT_ONCE = 8192


@dataclass(frozen=True)
class LatentModel(CountedClasses):
    """Noisy rows of each class, a mixture of codes, and a decoder."""

    rows: LatentRows
    class_counts: Measured = field(repr=False)
    mixture: LatentMixture
    decoder: Decoder

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """A class by its noisy rate, a code from its mixture, and a row from what the decoder says of both."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        labels = rng.choice(len(self.class_counts.values), size=n_rows, p=class_rates(self.class_counts.values))
        parts = np.split(labels, range(_ROWS_AT_ONCE, n_rows, _ROWS_AT_ONCE))
        expected = [self.rows.expected(self.decoder(self.mixture.draw(part, rng), part)) for part in parts]
        return self.rows.synthetic(np.concatenate(expected), labels, rng)
