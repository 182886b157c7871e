"""What a release would do, worked out from the schema alone: the plan, what is to be discovered, how long it takes, and advice."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.errors import PlanError, SchemaError
from sfumato.mechanism import Learner, Mechanism, Named
from sfumato.outlook.method_list import figures_of
from sfumato.public.budget import Budget
from sfumato.public.machine.hardware import OnGpu
from sfumato.public.plan.block import Block, Hot
from sfumato.public.plan.discovery import BUDGET_SHARE, DELTA_SHARE, plan_discovery, refuse_in_vain
from sfumato.public.plan.plan import Plan, make_plan
from sfumato.public.plan.reading import column_noise, readings_of
from sfumato.public.plan.step import Poisson, Step, WithoutReplacement
from sfumato.public.schema.schema import Schema, sketch

#: Mechanisms whose rows are encoded mixtures.
_ENCODED = ("dpmix", "kip", "dp-kip")


def keys_without_effect(mechanism: Mechanism, schema: Schema) -> list[str]:
    """A sentence for each key that has no effect, because no rows of the table are released."""
    keys = {
        "decimals": [column.name for column in schema.columns if column.decimals is not None],
        "depends_on": [column.name for column in schema.columns if column.depends_on],
        "rules": ["the schema"] if schema.rules else [],
        "special": [column.name for column in schema.columns if column.special_as is not None],
    }
    if mechanism.name not in _ENCODED and not isinstance(mechanism, Learner):
        return []
    gives = "a model" if isinstance(mechanism, Learner) else "encoded mixtures"
    return [
        f"{mechanism.name} releases {gives} and no rows of the table: {key} of {names[0]!r}"
        f"{f' and {len(names) - 1} more' if len(names) > 1 else ''} has no effect on what is released."
        for key, names in keys.items()
        if names
    ]


_NO_GPU = "A GPU makes no difference to it."


@dataclass(frozen=True)
class Duration:
    """Seconds and memory of one release elsewhere, if one was measured; and what a GPU would do."""

    measured: dict[str, Any] | None
    on_gpu: str

    @property
    def sentences(self) -> list[str]:
        """For a person."""
        found = self.measured
        if found is None:
            return ["It was not timed in the benchmark.", self.on_gpu]
        took = f"{found['seconds']:.0f} s of one processor"
        took += f" and {found['memory_mb']:,.0f} MB" if found["memory_mb"] else ""
        rows = f"{found['rows']:,} rows of {found['columns']:,} columns"
        return [f"On {found['dataset']} ({rows}) a release took {took}.", self.on_gpu]


def duration_of(mechanism: Mechanism, schema: Schema) -> Duration:
    """By the dataset of the same kind that is nearest in rows and columns."""
    is_image = bool(schema.images)
    timed = [
        {"dataset": dataset, **{key: figure.get(key) for key in ("rows", "columns", "seconds", "memory_mb")}}
        for dataset, figure in figures_of(mechanism.name).items()
        if figure.get("seconds") and bool(figure.get("image")) == is_image
    ]
    size = math.log(max(schema.rows or 10_000, 1)), math.log(max(len(schema.columns), 1))

    def away(figure: dict[str, Any]) -> float:
        return math.dist(size, (math.log(figure["rows"]), math.log(figure["columns"])))

    gpu = mechanism.on_gpu if isinstance(mechanism, OnGpu) else _NO_GPU
    return Duration(min(timed, key=away) if timed else None, gpu)


#: Columns of fewer categories than this are not spoken of by them.
_MANY_CATEGORIES = 20


def plan_if_known(mechanism: Mechanism, *, schema: Schema, budget: Budget) -> Plan | None:
    """The plan, or None where a discovery comes first. Refuses now what would be refused after reading rows."""
    if not schema.unknown:
        return make_plan(mechanism.steps(schema, budget), budget=budget, unit=schema.unit, rows=schema.rows)
    budget.check_against(schema.rows)
    if schema.unit.relation != "add_or_remove":
        raise SchemaError(
            'discovery is proved for relation = "add_or_remove" only. Declare bounds and categories, or change it.'
        )
    if any(step.is_sampled for step in mechanism.steps(sketch(schema), budget)):
        names = ", ".join(column.name for column in schema.unknown)
        raise PlanError(
            f"{mechanism.name} samples rows, and that cannot follow a discovery. "
            f"Declare bounds or categories of {names} in the schema, or use another mechanism."
        )
    refuse_in_vain(schema, budget=budget)
    return None


def discovery_of(schema: Schema, budget: Budget) -> dict[str, Any] | None:
    """What is to be discovered, with how much of the budget, and how many rows a category must have to be found."""
    if not schema.unknown:
        return None
    found = plan_discovery(schema, schema.unknown, budget=budget)
    return {
        "columns": [{"name": c.name, "what": "bounds" if c.is_number else "categories"} for c in schema.unknown],
        "budget_share": BUDGET_SHARE,
        "delta_share": DELTA_SHARE if any(not c.is_number for c in schema.unknown) else 0.0,
        "rows_of_a_category": found.rows_of_a_category if found.texts else None,
    }


def noise_of(mechanism: Named, *, schema: Schema, planned: Plan) -> list[dict[str, Any]]:
    """The noise in the units of each column."""
    return column_noise(planned, readings_of(mechanism, schema, planned.steps), rows=schema.rows)


def advice(planned: Plan | None, *, schema: Schema, budget: Budget) -> list[str]:
    """What a careful colleague would say about this plan."""
    said = []
    if budget.epsilon > 10:
        said.append(f"epsilon = {budget.epsilon:g} is a weak promise. Values up to about 3 are usual, 10 is the most.")
    if schema.rows is None:
        said.append("rows is not declared, so delta cannot be judged. Set rows = N under [dataset] if that is public.")
    elif budget.delta > schema.rows**-1.1:
        said.append(
            f"delta = {budget.delta:g} is weak for about {schema.rows} rows. Use at most {schema.rows**-1.1:.1g}."
        )
    if planned is not None and schema.rows is not None:
        for step in planned.steps:
            for block in step.blocks:
                said += _noise_advice(step, block, stddev=planned.noise_stddev(step.name, block.name), rows=schema.rows)
    return said


def rare_categories(noise: Sequence[Mapping[str, Any]], schema: Schema) -> str | None:
    """A sentence on columns of so many categories that an average one has fewer rows than the noise on its count."""
    if schema.rows is None:
        return None
    counts = {entry["column"]: entry["noise"] for entry in noise if entry["unit"] == "rows"}
    sizes = {c.name: schema.rows / c.size for c in schema.features if c.is_coded and c.size >= _MANY_CATEGORIES}
    lost = [name for name, rows in sizes.items() if rows < counts.get(name, 0.0)]
    if not lost:
        return None
    name = lost[0]
    others = f", and so for {len(lost) - 1} columns more" if len(lost) > 1 else ""
    return (
        f"{name!r} has {schema[name].size:,} categories of {sizes[name]:,.0f} rows on average, and the noise on a count is "
        f"±{counts[name]:,.0f}{others}: what single categories tell of other columns drowns. Merge them, or leave them out."
    )


def _noise_advice(step: Step, block: Block, *, stddev: float, rows: int) -> list[str]:
    at = f"{step.name}/{block.name}"
    if step.mixtures == 1 and isinstance(block, Hot):
        rows_per_count = rows * block.n_hot / block.width
        if stddev > rows_per_count / 10:
            return [
                f"{at}: the noise on a count ({stddev:.3g}) is more than a tenth of an average count "
                f"({rows_per_count:.3g}). Use fewer cells, a larger epsilon, or more rows."
            ]
    elif step.is_reported:
        return []  # that each report drowns in its noise is what the local model is
    elif step.mixtures > 1 and not isinstance(block, Hot):
        in_range = 2 * _rows_in_a_sum(step, rows) * block.l2_bound / math.sqrt(block.width)
        if stddev > in_range:
            return [
                f"{at}: the noise on an entry ({stddev:.3g}) is larger than all that the rows in it can make up "
                f"({in_range:.3g}). Use a larger degree, fewer mixtures, or a larger epsilon."
            ]
    return []


def _rows_in_a_sum(step: Step, rows: int) -> float:
    match step.sampling:
        case Poisson(rate):
            return rate * rows / step.groups
        case WithoutReplacement(degree, _):
            return float(degree)
    return rows / (step.mixtures * step.groups)
