"""Bounds, categories and the number of rows, found privately by the doors and charged like everything else."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.private.doors.discovery import frequent_texts
from sfumato.private.engines.engine import Engine
from sfumato.private.engines.here import HERE
from sfumato.private.intake.sensitive import Sensitive, with_schema
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.budget import Budget
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.discovery import (
    BOUNDS,
    ROWS,
    DiscoveryPlan,
    cell_of,
    discovered_bounds,
    plan_discovery,
    with_categories,
)
from sfumato.public.schema.schema import Schema, n_rows_of


@dataclass(frozen=True)
class Discovered:
    """A complete schema, the data read by it, what finding it cost, and the noisy integers behind it."""

    schema: Schema
    data: Sensitive
    plan: DiscoveryPlan
    answers: Answers


def discover(
    data: Sensitive,
    *,
    budget: Budget,
    primitives: Primitives,
    on_step: Callable[[str], None] = lambda name: None,
    engine: Engine = HERE,
) -> Discovered:
    """Fill in what the schema leaves open, with a tenth of the budget."""
    schema = data.schema
    planned = plan_discovery(schema, schema.unknown, budget=budget)
    view = View(data, plan=planned.plan, primitives=primitives, schema=schema, on_step=on_step, engine=engine)
    try:
        view.noisy_sum(ROWS, lambda batch: {"rows": np.zeros((n_rows_of(batch), 1), dtype=np.int64)})
        if planned.numbers:
            view.noisy_sum(BOUNDS, lambda batch: {c.name: cell_of(batch[c.name])[:, None] for c in planned.numbers})
        found = discovered_bounds(planned, view.answers)
        if planned.texts:
            on_step("categories")
            private_counts = view.private_texts([column.name for column in planned.texts])
            found |= with_categories(planned, frequent_texts(private_counts, planned, primitives=primitives))
    finally:
        view.close()
    complete = schema.with_columns(found)
    return Discovered(complete, with_schema(data, complete), planned, view.answers)
