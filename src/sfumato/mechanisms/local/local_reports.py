"""Local reports: what would be left if nobody were trusted with the rows. Proof: docs/proofs/noisy-reports.md."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.learn.dct import cosine_basis
from sfumato.mechanism import register
from sfumato.mechanisms.common.pictures import n_channels
from sfumato.mechanisms.local.reporting import Reporting, reported_columns
from sfumato.mechanisms.local.space import Space
from sfumato.public.schema import Schema


@register
@dataclass(frozen=True, kw_only=True)
class LocalReports(Reporting):
    """Report tables column by column, and pictures by the first of their cosine coefficients.

    Args:
        randomiser: See `Reporting`.
        label_share: See `Reporting`.
        l2_clip: See `Reporting`.
        calibrate: See `Reporting`.
        coefficients: How many cosine coefficients are reported of each channel of a picture.
    """

    name: ClassVar[str] = "local-reports"
    coefficients: int = 36

    def space(self, schema: Schema) -> Space:
        """Columns as they are; of pictures the lowest frequencies."""
        columns = reported_columns(schema)
        if not schema.images:
            return Space(columns, None)
        (image,) = columns
        height, width = image.shape[:2]
        basis = cosine_basis(height, width, max(1, min(self.coefficients, height * width)))
        return Space(columns, np.asarray(np.kron(basis, np.eye(n_channels(image))), dtype=np.float64))
