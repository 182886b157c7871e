"""Moments for wide tables of numbers: points, their noisy mean and covariance, and a linear classifier by noisy gradients.

Proof: docs/proofs/moments.md. Why it stands beside 3a-table: docs/adr/0016-moments-for-wide-tables.md.
"""

import math
from dataclasses import dataclass, field
from typing import ClassVar

from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.alpha import check_alpha
from sfumato.mechanisms.moments.measuring import measure_moments
from sfumato.mechanisms.moments.model import MomentsModel
from sfumato.mechanisms.moments.outline import moments_readings, outline_moments
from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.budget import Budget
from sfumato.public.plan.doors import Doors, Measured
from sfumato.public.plan.outline import Outline
from sfumato.public.plan.reading import Reading
from sfumato.public.plan.row_counts import Recommended
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema


@register
@dataclass(frozen=True, kw_only=True)
class Moments:
    """The default for wide tables: more than a hundred columns, nearly all of them numbers.

    Args:
        alpha: Where labels come from, from faithful (0: the class that a row was drawn for) to predictive (1: the
            classifier's). With two classes they are always the classifier's.
        settings: Every number that the method is tuned by.
    """

    name: ClassVar[str] = "moments"
    alpha: float = 1.0
    settings: MomentsSettings = field(default_factory=MomentsSettings)

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Which sums are asked for: chosen from the schema alone."""
        schema.require_one_table(self.name)
        check_alpha(self.alpha)
        return MomentsPlan(schema, self.settings).steps()

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Ask the doors, each step with what the steps before it have shown."""
        return measure_moments(MomentsPlan(schema, self.settings), view)

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> MomentsModel:
        """The generator, the shapes of columns and the classifier's labels: no row is read."""
        classes: Measured = measurements["classes"]
        return MomentsModel(
            schema=schema,
            generator=measurements["generator"],
            margins=measurements["margins"],
            weights=measurements["weights"],
            discriminant=measurements["discriminant"],
            alpha=self.alpha,
            noisy_rows=measurements["n_rows"],
            noisy_rows_stddev=classes.stddev * math.sqrt(len(classes.values)),
        )

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """What the noise means for each column."""
        return tuple(moments_readings(MomentsPlan(schema, self.settings)))

    def recommended_rows(self, schema: Schema, n_rows: int) -> Recommended:
        """Several for each private row where these are few: labels are drawn by chance, and more rows average it out."""
        rows = max(n_rows, min(self.settings.rows_each * n_rows, self.settings.most_rows))
        return Recommended(rows, "labels are drawn by chance, which averages out.")

    def outline(self, schema: Schema, budget: Budget) -> Outline:
        """What the rows will have, and what is left out."""
        return outline_moments(schema)
