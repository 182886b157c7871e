"""Which sums `moments` asks for, and what each is to have of the precision: public facts alone."""

import math
from dataclasses import dataclass

from sfumato.errors import SchemaError
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.mechanisms.table.logistic import error_bound
from sfumato.public.plan.block import Dense, Hot, Outer
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.wide import MOST_ENTRIES


@dataclass(frozen=True)
class MomentsPlan:
    """All that is public about a table and how it is measured."""

    schema: Schema
    settings: MomentsSettings

    @property
    def encoder(self) -> Encoder:
        """Rows as points of the unit box."""
        return Encoder(self.schema.features)

    @property
    def width(self) -> int:
        """Entries of a point."""
        return self.encoder.width

    @property
    def longest(self) -> float:
        """No point is farther than this from the middle of the box."""
        return math.sqrt(self.width) / 2

    @property
    def n_classes(self) -> int:
        """Classes of the target; one where there is none."""
        target = self.schema.target_column
        return 1 if target is None else target.size

    @property
    def n_weights(self) -> int:
        """Sets of weights of the classifier."""
        return 1 if self.n_classes <= 2 else self.n_classes

    def refuse(self) -> None:
        """Refuse a schema that has no such plan, before any row is read."""
        target, remedy = self.schema.target_column, "Use the mechanism 3a-table."
        if self.schema.images:
            raise SchemaError("moments is for tables. Use the mechanism 3a-image for images.")
        if not self.schema.features:
            raise SchemaError(f"moments needs columns besides the target, and there are none. {remedy}")
        if target is not None and not target.is_coded:
            raise SchemaError(f"moments predicts classes, and the target {target.name!r} is a number. {remedy}")
        if self.width > MOST_ENTRIES:
            raise SchemaError(
                f"moments measures the products of at most {MOST_ENTRIES:,} entries of a row, and these rows have "
                f"{self.width:,}. {remedy}"
            )

    def steps(self) -> tuple[Step, ...]:
        """All sums, in the order in which they are asked for."""
        s, d = self.settings, self.width
        lengths = Hot(name="lengths", width=s.cells, share=1 - s.classes_share)
        classes = Hot(name="classes", width=self.n_classes, share=s.classes_share)
        squares = Dense(name="squares", width=d, l2_bound=s.squares_norm / math.sqrt(d), nonnegative=True)
        moments_share = s.moments_share if self.n_classes > 1 else s.moments_share_without_target
        steps = [
            Step(name="lengths", blocks=(lengths, classes), share=s.lengths_share),
            Step(name="mean", blocks=(Dense(name="mean", width=d, l2_bound=1.0),), share=s.mean_share),
            Step(name="spreads", blocks=(Hot(name="spreads", width=s.cells),), share=s.spreads_share),
            Step(name="squares", blocks=(squares,), share=s.squares_share),
            Step(name="moments", blocks=(Outer(name="moments", shape=(d, d), l2_bound=1.0),), share=moments_share),
        ]
        if self.n_classes > 1:
            bound = error_bound(self.n_weights) * math.sqrt(1 + s.intercept**2)
            gradient = Outer(name="gradient", shape=(self.n_weights, d + 1), l2_bound=bound)
            steps.append(Step(name="teacher", blocks=(gradient,), share=s.gradients_share, uses=s.gradients))
        if self.n_classes == 2:
            scores = Hot(name="scores", width=s.cells)
            steps.append(Step(name="scores", blocks=(scores,), share=s.scores_share))
        if self.n_classes > 2:
            means = Outer(name="means", shape=(1, d), groups=self.n_classes, l2_bound=1.0)
            steps.append(Step(name="means", blocks=(means,), share=s.class_means_share))
        return tuple(steps)
