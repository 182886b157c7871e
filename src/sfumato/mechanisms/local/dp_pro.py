"""DPPro: rows under a public random projection, with noise (Xu, Ren, Zhang, Qin and Ren 2017), accounted as what it is.

A projected row with noise is a report of that row, so this is the local model; rows are clipped after the projection, which may
lengthen them. Proof: docs/proofs/noisy-reports.md.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanism import register
from sfumato.mechanisms.local.reporting import Reporting, reported_columns
from sfumato.mechanisms.local.space import Space
from sfumato.public.budget import Budget
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema


@register
@dataclass(frozen=True, kw_only=True)
class DPPro(Reporting):
    """Report rows under a random matrix, and undo it by the pseudo-inverse.

    Args:
        randomiser, label_share, l2_clip, calibrate: See `Reporting`.
        dimensions: How many numbers a report holds; no more than a row has.
        matrix_seed: The public seed of the matrix.
    """

    name: ClassVar[str] = "dp-pro"
    dimensions: int = 32
    matrix_seed: int = 0

    def width(self, schema: Schema, budget: Budget) -> int:
        """The same at every budget."""
        if self.dimensions < 1:
            raise PlanError(f"dimensions = {self.dimensions} must be at least 1.")
        return min(self.dimensions, Encoder(reported_columns(schema)).width)

    def space(self, schema: Schema, width: int) -> Space:
        """Orthogonal columns in random directions, so scaled that a row keeps its length on average.

        Independent Gaussian entries, as published, have the same directions, but some that the pseudo-inverse blows up.
        """
        columns = reported_columns(schema)
        entries = Encoder(columns).width
        directions, _ = np.linalg.qr(np.random.default_rng(self.matrix_seed).normal(size=(entries, width)))
        return Space(columns, np.asarray(directions * np.sqrt(entries / width)))
