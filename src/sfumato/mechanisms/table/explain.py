"""What 3a-table does for a schema and a budget, and what it leaves out: for the plan, the report and the page on the method.

The stages are those of the blueprint: nothing here decides, it only says why.
"""

from collections.abc import Iterator
from dataclasses import replace

from sfumato.mechanisms.common.precision import ASSUMED_ROWS
from sfumato.mechanisms.table.columns.differences import fewest_rows
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.joint.triples import MOST_COLUMNS
from sfumato.mechanisms.table.plan import MOST_PAIRED, NUMBER_BINS, Blueprint
from sfumato.mechanisms.table.target.classifier import MOST_CLASSES
from sfumato.mechanisms.table.wide_path.method import is_wide
from sfumato.public.budget import Budget
from sfumato.public.plan.outline import LeftOut, Outline
from sfumato.public.schema.schema import Schema

#: What a release lacks without a stage. Stages of one name are asked for together.
_LACKS = {
    "spikes": "Single values that many rows share",
    "moments": "Correlations of columns",
    "pairs": "How two columns hang together beyond their correlation",
    "contrasts": "Interactions of two columns with the target",
    "links": "Columns that determine each other",
    "cubes": "Interactions of three columns with the target",
    "teacher": "A teacher that corrects the labels by private rows (so alpha changes nothing above 0)",
}
_NAMED = 3


def outline_table(schema: Schema, budget: Budget) -> Outline:
    """The path of a table, and what it leaves out."""
    if is_wide(schema):
        return Outline(_wide_path(schema), tuple(_left_out_of_wide(schema)))
    plan = Blueprint(schema, budget)
    return Outline(_path(plan), (*_stages_left_out(plan), *_made_coarser(plan)))


def _path(plan: Blueprint) -> str:
    told = "Columns are counted in cells, and rows are drawn that agree with all noisy tables."
    if plan.schema.rows is None:
        told += f" Rows are not declared: the steps are those for {ASSUMED_ROWS:,}."
    if plan.target is not None and plan.target.cells.column.is_number:
        told += f" The target is a number: it is modelled in up to {plan.n_classes} levels, and keeps its values."
    return told


def _stages_left_out(plan: Blueprint) -> Iterator[LeftOut]:
    for stage, what in _LACKS.items():
        if not plan.has(stage) and _makes_sense(plan, stage):
            yield LeftOut(what, _too_few_rows(plan, stage) if stage in plan.possible else _too_large(plan, stage))
    if plan.comparable and not plan.has("differences"):
        rows = fewest_rows(plan.evidence.mu)
        yield LeftOut(
            "How far columns lie apart that are nearly equal", f"too few rows at this budget; from about {rows:,} on"
        )
    if plan.has("teacher") and plan.n_classes > MOST_CLASSES:
        yield LeftOut(
            "Trees in the rule for the classes", f"they are learned where no more than {MOST_CLASSES} classes are found"
        )
    if plan.has("moments") and not plan.moments_by_class:
        yield LeftOut(
            "Correlations that differ between classes",
            f"{plan.n_classes:,} classes of {plan.k:,} columns are too many products",
        )


def _makes_sense(plan: Blueprint, stage: str) -> bool:
    """Whether a table with more rows and fewer columns would have the stage: it may have no numbers, pairs or classes."""
    if stage == "spikes":
        return bool(plan.spiky)
    columns = {"cubes": 3, "teacher": 1}.get(stage, 2)
    needs_classes = stage in ("contrasts", "cubes", "teacher")
    return plan.k >= columns and (plan.n_classes > 1 or not needs_classes)


def _too_large(plan: Blueprint, stage: str) -> str:
    if stage == "teacher" and plan.target_apart:
        return f"{plan.all_parts:,} values of {plan.k:,} columns are too many to correct a number by"
    if stage == "teacher":
        return f"{plan.n_classes:,} classes of {plan.width:,} values are too many weights to correct"
    if stage == "moments":
        return f"{plan.k:,} columns have too many products"
    return f"{plan.k:,} columns, and they are asked for up to {MOST_COLUMNS if stage == 'cubes' else MOST_PAIRED}"


def _too_few_rows(plan: Blueprint, stage: str) -> str:
    return f"too few rows at this budget; from about {_rows_for(plan, stage):,} on"


def _rows_for(plan: Blueprint, stage: str) -> int:
    """From how many rows on a stage is worth its share, to two digits."""
    low, high = plan.evidence.rows, 1e15
    while high > 1.001 * low:
        middle = (low * high) ** 0.5
        if stage in replace(plan.evidence, rows=middle).shares(has_target=plan.n_classes > 1):
            high = middle
        else:
            low = middle
    return round(float(f"{high:.2g}"))


def _made_coarser(plan: Blueprint) -> Iterator[LeftOut]:
    pooled = [f for f in plan.joined if f.cells.column.is_coded and f.cells.inner > plan.most_bins(f)]
    if pooled:
        most = plan.most_bins(pooled[0])
        names = [f"{_name(f)} ({f.cells.inner:,})" for f in pooled]
        yield LeftOut(
            f"Rare categories of {_listed(names)}",
            f"pooled where columns are looked at together (at most {most} values of a column); each keeps its own noisy "
            + ("share, and its classes as far as noise allows" if plan.has("codes") else "share and nothing else"),
        )
    numbers = [f for f in plan.joined if f.cells.column.is_number]
    if numbers and plan.most_bins(numbers[0]) < NUMBER_BINS:
        yield LeftOut(
            "Fine detail of how numbers hang together",
            f"with {len(plan.joined):,} columns each number is cut into at most {plan.most_bins(numbers[0])} bins",
        )


def _name(feature: Feature) -> str:
    """A column, or a group by its first member and its last."""
    if feature.group is None:
        return feature.cells.column.name
    return f"the group from {feature.group.members[0]} to {feature.group.members[-1]}"


def _wide_path(schema: Schema) -> str:
    numbers = sum(c.is_number for c in schema.features)
    return (
        f"{numbers:,} of {len(schema.features):,} columns are numbers, more than a hundred: rows are taken as points, and "
        "drawn from a Gaussian with the noisy mean and covariance of all of them."
    )


def _left_out_of_wide(schema: Schema) -> Iterator[LeftOut]:
    yield LeftOut(
        "The shapes of single columns",
        "a number comes out as one hump, skewed away from a bound that is near; no spikes, no steps",
    )
    yield LeftOut("Interactions of columns", "means and covariances are all that is measured of so many columns")
    target = schema.target_column
    if target is not None and target.size == 2:
        yield LeftOut(
            "Labels of the generator's own (alpha changes nothing)", "with two classes the teacher's are the only ones"
        )


def _listed(names: list[str]) -> str:
    if len(names) > _NAMED:
        return f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED:,} columns more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
