"""Local reports: what would be left if nobody were trusted with the rows. Proof: docs/proofs/noisy-reports.md."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.learn.dct import cosine_basis
from sfumato.mechanism import register
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.mechanisms.local.reporting import Reporting, reported_columns
from sfumato.mechanisms.local.space import Space
from sfumato.public.accounting import mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema

#: Coefficients of a channel that are reported under any noise, and of a picture that is reported by one direction.
_FEW, _COARSE = 100, 36
#: Of a pixel in its unit range, as most pictures have it: the k-th coefficient has a part of all that falls like 1/k.
_VARIANCE = 1 / 16
#: How much more variance the noise may have than what is told from it.
_MOST_NOISE = 30


@register
@dataclass(frozen=True, kw_only=True)
class LocalReports(Reporting):
    """Report tables column by column, and pictures by the first of their cosine coefficients.

    Args:
        randomiser, label_share, l2_clip, calibrate: See `Reporting`.
        coefficients: How many cosine coefficients are reported of each channel of a picture. None: a hundred, and more where
            little noise would let them be seen.
    """

    name: ClassVar[str] = "local-reports"
    coefficients: int | None = None

    def width(self, schema: Schema, budget: Budget) -> int:
        """Columns as they are; of pictures so many coefficients of each channel."""
        columns = reported_columns(schema)
        if not schema.images:
            return Encoder(columns).width
        (image,) = columns
        height, width = image.shape[:2]
        asked = self._seen(schema, budget) if self.coefficients is None else max(1, self.coefficients)
        return n_channels(image) * min(asked, height * width)

    def space(self, schema: Schema, width: int) -> Space:
        """Columns as they are; of pictures the lowest frequencies."""
        columns = reported_columns(schema)
        if not schema.images:
            return Space(columns, None)
        (image,) = columns
        basis = cosine_basis(image.shape[0], image.shape[1], width // n_channels(image))
        return Space(columns, np.asarray(np.kron(basis, np.eye(n_channels(image))), dtype=np.float64))

    def _seen(self, schema: Schema, budget: Budget) -> int:
        """Coefficients whose spread all reports together can tell from the noise, if pictures are as most are.

        A picture that lacks fine coefficients swings below black where a stroke ends. That is cut off, and what is left
        tells learners of classes in a way that real pictures do not: the less noise there is, the more they trust it.
        """
        if self.randomiser == "privunit":  # one direction out of many: the fewer there are to tell apart, the better
            return _COARSE
        (image,) = schema.images
        pixels = image.shape[0] * image.shape[1]
        mu = mu_of_budget(budget.epsilon, delta=budget.delta) * math.sqrt(self.row_share(schema))
        noise = 2 * (self.l2_clip or math.sqrt(pixels * n_channels(image)) / 2) / mu
        return max(_FEW, int(_MOST_NOISE * _VARIANCE * pixels / math.log(pixels + 1) / noise**2))
