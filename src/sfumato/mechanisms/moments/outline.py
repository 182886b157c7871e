"""What `moments` does for a schema, what it leaves out, and what its noise means: for the plan and the report."""

from collections.abc import Iterator

from sfumato.mechanisms.moments.plan import MomentsPlan
from sfumato.public.plan.outline import LeftOut, Outline
from sfumato.public.plan.reading import Reading
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.wide import has_few_rows_each


def outline_moments(schema: Schema) -> Outline:
    """The path of a table, and what it leaves out."""
    numbers = sum(c.is_number for c in schema.features)
    path = (
        f"{numbers:,} of {len(schema.features):,} columns are numbers: rows are taken as points, and drawn from a Gaussian "
        "with the noisy mean and covariance of all of them, or of each of two classes, at lengths as they were counted. "
        "Columns about as near to a bound have the shape that was measured of all of them together."
    )
    return Outline(path, tuple(_left_out(schema)))


def _left_out(schema: Schema) -> Iterator[LeftOut]:
    yield LeftOut(
        "The shape of a single column",
        "a number has the shape that is common to its group of columns, between its own bounds, with its own mean and "
        "spread; spikes and steps are smoothed away",
    )
    yield LeftOut("Interactions of columns", "means and covariances are all that is measured of so many columns")
    target = schema.target_column
    if target is None:
        return
    if target.size > 2:
        yield LeftOut(
            "Classes that differ in their spread or in their correlations",
            "with more than two classes rows of all have one covariance, and can be learned as far as their means differ",
        )
    if has_few_rows_each(schema):
        yield LeftOut(
            "Labels of a classifier (alpha changes nothing)",
            "with so few rows in each of so many classes only their means are measured, and rows keep the class they were drawn for",
        )
    if target.size == 2:
        yield LeftOut(
            "Labels of the generator's own (alpha changes nothing)",
            "with two classes the classifier's are the only ones",
        )


def moments_readings(plan: MomentsPlan) -> Iterator[Reading]:
    """Means of the encoded columns, which are clipped about the middle of the box at a length that is measured."""
    for column in plan.schema.features:
        what, unit, scale = (
            ("the mean", "", column.high - column.low) if column.is_number else ("a share", "share", 1.0)
        )
        per_one = plan.longest * scale
        yield Reading(
            column=column.name, what=what, step="mean", block="mean", per_one=per_one, unit=unit, over=1.0, at_most=True
        )
    if plan.schema.target:
        yield Reading(column=plan.schema.target, what="a count", step="lengths", block="classes", unit="rows")
