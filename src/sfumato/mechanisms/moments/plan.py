"""Which sums `moments` asks for, and what each is to have of the precision: public facts alone."""

import math
from dataclasses import dataclass

from sfumato.errors import SchemaError
from sfumato.mechanisms.common.logistic import error_bound
from sfumato.mechanisms.moments.margins import number_groups
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.public.plan.block import Block, Dense, Hot, Outer
from sfumato.public.plan.step import Step
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.wide import MOST_ENTRIES, has_few_rows_each


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

    @property
    def has_teacher(self) -> bool:
        """Whether a classifier is learned: not of classes with a few rows each, whose gradients would be noise."""
        return self.n_classes > 1 and not has_few_rows_each(self.schema)

    @property
    def by_class(self) -> str | None:
        """The target, where lengths and second moments are measured of each class: where there are two."""
        return self.schema.target if self.n_classes == 2 else None

    @property
    def n_groups(self) -> int:
        """Of how many groups of rows lengths and second moments are measured."""
        return 1 if self.by_class is None else self.n_classes

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
        self.refuse()
        s, d = self.settings, self.width

        def step(name: str, share: float, *blocks: Block, uses: int = 1) -> Step:
            return Step(name=name, blocks=blocks, share=share, uses=uses)

        lengths = Hot(name="lengths", width=s.cells, share=1 - s.classes_share)
        classes = Hot(name="classes", width=self.n_classes, share=s.classes_share)
        squares = Dense(
            name="squares", width=d * self.n_groups, l2_bound=s.squares_norm / math.sqrt(d), nonnegative=True
        )
        moments = Outer(name="moments", shape=(d, d), groups=self.n_groups, l2_bound=1.0)
        steps = [
            step("lengths", s.lengths_share, lengths, classes),
            step("mean", s.mean_share, Dense(name="mean", width=d, l2_bound=1.0)),
            step("spreads", s.spreads_share, Hot(name="spreads", width=s.cells * self.n_groups)),
            step("squares", s.squares_share, squares),
            step("moments", s.moments_share if self.n_classes > 1 else s.moments_share_without_target, moments),
        ]
        if self.has_teacher:
            bound = error_bound(self.n_weights) * math.sqrt(1 + s.intercept**2)
            gradient = Outer(name="gradient", shape=(self.n_weights, d + 1), l2_bound=bound)
            steps.append(step("teacher", s.gradients_share, gradient, uses=s.gradients))
        if self.by_class is not None:
            evidence = Outer(name="evidence", shape=(4, 4), groups=self.n_groups, l2_bound=1.0)
            steps.append(step("evidence", s.evidence_share, evidence))
        if self.n_classes > 2:
            means = Outer(name="means", shape=(1, d), groups=self.n_classes, l2_bound=1.0)
            steps.append(step("means", s.class_means_share + (0 if self.has_teacher else s.gradients_share), means))
        if n_groups := number_groups(sum(column.is_number for column in self.schema.features), s):
            margins = Dense(name="margins", width=n_groups * s.cosines, l2_bound=1.0)
            steps.append(step("margins", s.margins_share, margins))
        return tuple(steps)
