"""What 3a-table does for a schema and a budget, what it leaves out, and what its noisy numbers mean, in sentences.

For the plan, the report and the certificate. Nothing here decides: it only says why.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.common.precision import ASSUMED_ROWS
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.differences import fewest_rows
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.plan import TARGET, TablePlan
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.public.budget import Budget
from sfumato.public.plan.outline import LeftOut, Outline
from sfumato.public.plan.reading import Reading
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


def outline_table(schema: Schema, budget: Budget, settings: TableSettings) -> Outline:
    """The path of a table, and what it leaves out."""
    plan = TablePlan(schema, budget, settings)
    return Outline(_path(plan), (*_stages_left_out(plan), *_made_coarser(plan)))


def _path(plan: TablePlan) -> str:
    path = "Columns are counted in cells, and rows are drawn that agree with all noisy tables."
    if plan.schema.rows is None:
        path += f" Rows are not declared: the steps are those for {ASSUMED_ROWS:,}."
    if plan.whole is not None:
        which = "All columns are" if plan.whole.is_all else "A group of columns with few values is"
        path += f" {which} counted whole, every combination with its class."
    if plan.target is not None and plan.target.cells.column.is_number:
        path += f" The target is a number: it is modelled in up to {plan.n_classes} levels, and keeps its values."
    return path


def _stages_left_out(plan: TablePlan) -> Iterator[LeftOut]:
    for stage, what in _LACKS.items():
        if not plan.has(stage) and _makes_sense(plan, stage):
            few = f"too few rows at this budget; from about {_rows_for(plan, stage):,} on"
            yield LeftOut(what, few if stage in plan.possible else _too_large(plan, stage))
    if plan.comparable and not plan.has("differences"):
        rows = fewest_rows(plan.evidence.mu, plan.sizes, share=plan.settings.budget.differences)
        yield LeftOut(
            "How far columns lie apart that are nearly equal", f"too few rows at this budget; from about {rows:,} on"
        )
    most_classes = plan.settings.target.tree_classes
    if plan.has("teacher") and plan.n_classes > most_classes:
        yield LeftOut(
            "Trees in the rule for the classes", f"they are learned where no more than {most_classes} classes are found"
        )
    if plan.has("moments") and not plan.moments_by_class:
        too_many = f"{plan.n_classes:,} classes of {plan.k:,} columns are too many products"
        yield LeftOut(
            "Correlations that differ between classes",
            "noise would hide how they differ between levels of the target" if plan.number_target else too_many,
        )


def _makes_sense(plan: TablePlan, stage: str) -> bool:
    """Whether a table with more rows and fewer columns would have the stage: it may have no numbers, pairs or classes."""
    if stage == "spikes":
        return bool(plan.spiky)
    if stage in ("contrasts", "cubes") and plan.number_target:  # its corrections ask for pairs
        return False
    columns = {"cubes": 3, "teacher": 1}.get(stage, 2)
    needs_classes = stage in ("contrasts", "cubes", "teacher")
    return plan.k >= columns and (plan.n_classes > 1 or not needs_classes)


def _too_large(plan: TablePlan, stage: str) -> str:
    if stage == "teacher" and plan.number_target:
        return f"{plan.number.all_parts:,} values of {plan.k:,} columns are too many to correct a number by"
    if stage == "teacher":
        return f"{plan.n_classes:,} classes of {plan.width:,} values are too many weights to correct"
    if stage == "moments":
        return f"{plan.k:,} columns have too many products"
    most = plan.sizes.triple_columns if stage == "cubes" else plan.sizes.most_paired
    return f"{plan.k:,} columns, and they are asked for up to {most}"


def _rows_for(plan: TablePlan, stage: str) -> int:
    """From how many rows on a stage is worth its share, to two digits."""
    low, high = plan.evidence.rows, 1e15
    while high > 1.001 * low:
        middle = (low * high) ** 0.5
        if stage in replace(plan.evidence, rows=middle).shares(has_target=plan.n_classes > 1):
            high = middle
        else:
            low = middle
    return round(float(f"{high:.2g}"))


def _made_coarser(plan: TablePlan) -> Iterator[LeftOut]:
    pooled = [f for f in plan.joined if f.cells.column.is_coded and f.cells.inner > plan.most_bins(f)]
    if pooled:
        most = plan.most_bins(pooled[0])
        names = [f"{_plain_name(f)} ({f.cells.inner:,})" for f in pooled]
        yield LeftOut(
            f"Rare categories of {_listed(names)}",
            f"pooled where columns are looked at together (at most {most} values of a column); each keeps its own noisy "
            + ("share, and its classes as far as noise allows" if plan.has("codes") else "share and nothing else"),
        )
    numbers = [f for f in plan.joined if f.cells.column.is_number]
    if numbers and plan.most_bins(numbers[0]) < plan.sizes.number_bins:
        yield LeftOut(
            "Fine detail of how numbers hang together",
            f"with {len(plan.joined):,} columns each number is cut into at most {plan.most_bins(numbers[0])} bins",
        )


def _plain_name(feature: Feature) -> str:
    """A column, or a group by its first member and its last."""
    if feature.group is None:
        return feature.cells.column.name
    return f"the group from {feature.group.members[0]} to {feature.group.members[-1]}"


def _listed(names: list[str], *, most: int = 3) -> str:
    if len(names) > most:
        return f"{', '.join(names[:most])} and {len(names) - most:,} columns more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def table_notes(binned: BinnedTable) -> tuple[str, ...]:
    """All that is worth a sentence. Names are quoted as Python does, so that each is one printable line."""
    joined = [
        f"Nearly all rows have exactly one of {_name(f)} set, by a noisy count: so have the synthetic ones, or none."
        for f in binned.features
        if f.group is not None and not f.declared
    ]
    equal = [
        f"Nearly all rows have {_name(f)} close to {f.reference.name!r}, by a noisy count: it was measured by how far it lies from there."
        for f in binned.features
        if f.reference is not None
    ]
    unsure = [
        f"What follows in {name!r} was measured, and by the noise is right in about {known.obeys:.0%} of the rows. If the function "
        "is public, give it (depends_on_map): then all rows obey."
        for name, known in binned.rules.items()
        if known.unsure
    ]
    return (*joined, *equal, *_pooled(binned), *unsure)


def _pooled(binned: BinnedTable, *, most: int = 20) -> Iterator[str]:
    columns = zip(binned.features, binned.binnings, strict=True)
    pools = {
        _name(f): (_n_pooled(b), b.cells.inner, j in binned.codes)
        for j, (f, b) in enumerate(columns)
        if b.cells.column.is_coded and _n_pooled(b)
    }
    for name, (pooled, of_all, by_class) in list(pools.items())[:most]:
        kept = "share, and its classes as far as noise allows" if by_class else "share"
        yield (
            f"Categories of {name}: {pooled:,} of {of_all:,} are pooled as too rare, by noisy counts. Each keeps its own noisy "
            f"{kept}; how it goes with other columns is that of the whole pool."
        )
    if len(pools) > most:
        yield f"Rare categories of {len(pools) - most:,} columns more are pooled likewise."


def _n_pooled(binning: Binning) -> int:
    """Categories that share a bin with others."""
    members = np.bincount(binning.bin_of, minlength=binning.size)
    return int(members[members > 1].sum())


def _name(feature: Feature) -> str:
    """The same, quoted as Python does."""
    if feature.group is None:
        return repr(feature.cells.column.name)
    return f"{feature.group.members[0]!r} to {feature.group.members[-1]!r}"


def table_readings(schema: Schema) -> tuple[Reading, ...]:
    """Fine counts of every column: a count itself, and the mean that follows from all of them, before they are smoothed."""
    readings = []
    for column in schema.columns:
        is_target = column.name == schema.target and column.is_number and len(schema.columns) > 1
        block = TARGET if is_target else "fine"
        readings.append(Reading(column=column.name, what="a count", step="fine", block=block, unit="rows"))
        if column.is_number:
            # An error e of a cell's count moves the mean by e (value - mean) / rows. The mean is private; the middle of the
            # bounds stands for it.
            per_one = float(np.linalg.norm(Cells(column).middles() - column.centre))
            mean = Reading(column=column.name, what="the mean", step="fine", block=block, per_one=per_one, over=1.0)
            readings.append(mean)
    return tuple(readings)
