"""Bounds, categories and the number of rows, found privately and charged like everything else.

Numbers: one noisy histogram on a grid that fits every number, then quantiles of it. Texts: noisy counts of the values
that occur, of which only those above a threshold are let out; a value that a single unit holds stays inside except
with a probability that is part of delta. Proof: docs/proofs/discovery.md.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import dp_accounting as dpa
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.errors import BudgetError, SchemaError
from sfumato.private.kernel.gaussian import rounded_gaussian
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.view import View
from sfumato.private.sensitive import Sensitive, open_batches, with_schema
from sfumato.public.accounting import EpsilonDeltaDpEvent, Spent, mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.grid import NOISE_STDDEV
from sfumato.public.plan import Plan
from sfumato.public.schema import Batch, Column, Schema
from sfumato.public.step import Block, Step

#: The part of the precision, and of delta, that discovery may take.
BUDGET_SHARE = 0.1
DELTA_SHARE = 0.1

# A grid on asinh(x): even near 0, in steps of 5 % far from it, up to 5e12 either way.
_GRID_EDGE = 30.0
_GRID_CELLS = 1200
_QUANTILES = (0.005, 0.995)


@dataclass(frozen=True)
class Discovered:
    """A complete schema, the data read by it, and what finding it cost."""

    schema: Schema
    data: Sensitive
    event: dpa.DpEvent
    noisy_rows: float
    found: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values for the certificate."""
        return {"columns": list(self.found), "noisy_rows": self.noisy_rows}


def run_discovery(
    data: Sensitive, *, budget: Budget, source: NoiseSource, on_step: Callable[[str], None] = lambda name: None
) -> Discovered:
    """Fill in what the schema leaves open, with a tenth of the budget."""
    schema = data.schema
    numbers = tuple(c for c in schema.unknown if c.is_number)
    texts = tuple(c for c in schema.unknown if not c.is_number)
    if schema.unit.relation != "add_or_remove":
        raise SchemaError('discovery is proved for relation = "add_or_remove". Declare bounds and categories instead.')
    mu = math.sqrt(BUDGET_SHARE) * mu_of_budget(budget.epsilon, delta=budget.delta * (1 - DELTA_SHARE))
    failure = budget.delta * DELTA_SHARE
    steps = _steps(numbers)
    # Half the precision for the counts of texts, if there are any: they pass by a door of their own.
    mu_texts = mu / math.sqrt(2) if texts else 0.0
    mu_steps = math.sqrt(mu**2 - mu_texts**2)
    plan = _plan(steps, budget=budget, mu=mu_steps, schema=schema)
    view = View(data, plan=plan, source=source, schema=schema, on_step=on_step)
    noisy_rows = float(view.noisy_sum("rows", _one)["rows"][0])
    found: dict[str, Column] = {}
    if numbers:
        noisy = view.noisy_sum("bounds", lambda batch: {c.name: _cell_of(batch[c.name])[:, None] for c in numbers})
        for column in numbers:
            stddev = plan.noise_stddev("bounds", column.name)
            found[column.name] = _with_bounds(column, noisy[column.name], stddev=stddev)
    if texts:
        on_step("categories")
        found |= _find_categories(data, texts, mu=mu_texts, failure=failure, source=source)
    event = _event(plan, mu_texts=mu_texts, failure=failure if texts else 0.0)
    complete = schema.with_columns(found)
    return Discovered(complete, with_schema(data, complete), event, noisy_rows, tuple(found))


def _steps(numbers: tuple[Column, ...]) -> tuple[Step, ...]:
    rows = Step(name="rows", blocks=(Block(name="rows", width=1, hot=1),), share=1 / (1 + len(numbers)))
    if not numbers:
        return (rows,)
    blocks = tuple(Block(name=c.name, width=_GRID_CELLS, hot=1, share=1 / len(numbers)) for c in numbers)
    return (rows, Step(name="bounds", blocks=blocks, share=1.0))


def _plan(steps: tuple[Step, ...], *, budget: Budget, mu: float, schema: Schema) -> Plan:
    # Plain Gaussian steps: a total mu means a scale of 1 / mu, with no search.
    events = []
    plan = Plan(
        budget=budget, unit=schema.unit, steps=steps, scale=schema.unit.max_rows / mu, event=None, spent=_NOT_YET
    )
    for step in steps:
        events.append(step.event(noise_multiplier=plan.noise_multiplier(step.name), unit=schema.unit))
    return replace(plan, event=dpa.ComposedDpEvent(events))


_NOT_YET = Spent(epsilon=0.0, accountant="composed with the steps that follow", numeric_error=0.0)


def _event(plan: Plan, *, mu_texts: float, failure: float) -> dpa.DpEvent:
    events = [plan.event]
    if mu_texts:
        events += [dpa.GaussianDpEvent(1 / mu_texts), EpsilonDeltaDpEvent(0.0, failure)]
    return dpa.ComposedDpEvent(events)


def _one(batch: Batch) -> dict[str, NDArray[np.int64]]:
    return {"rows": np.zeros(len(next(iter(batch.values()))), dtype=np.int64)}


def _cell_of(values: NDArray[Any]) -> NDArray[np.int64]:
    position = (np.arcsinh(values.astype(np.float64)) / _GRID_EDGE + 1) / 2 * _GRID_CELLS
    cell = np.clip(np.nan_to_num(position), 0, _GRID_CELLS - 1).astype(np.int64)
    return np.where(np.isnan(values), -1, cell)


def _with_bounds(column: Column, noisy_counts: NDArray[np.float64], *, stddev: float) -> Column:
    """The range that holds nearly all of the mass that rises above the noise."""
    kept = np.where(_rises_above_noise(noisy_counts, stddev=stddev), noisy_counts, 0.0)
    if kept.sum() <= 0:
        raise BudgetError(
            f"column {column.name!r}: the budget is too small to find bounds above the noise. "
            "Declare bounds in the schema, or use a larger epsilon."
        )
    mass = np.maximum.accumulate(np.cumsum(kept) / kept.sum())
    first, last = (int(np.searchsorted(mass, q)) for q in _QUANTILES)
    edges = np.sinh((np.arange(_GRID_CELLS + 1) / _GRID_CELLS * 2 - 1) * _GRID_EDGE)
    low, high = float(edges[first]), float(edges[min(last, _GRID_CELLS - 1) + 1])
    if column.kind != "numeric":
        low, high = math.floor(low), math.ceil(high)
    return replace(column, bounds=(low, high), discover=False)


def _rises_above_noise(noisy_counts: NDArray[np.float64], *, stddev: float) -> NDArray[np.bool_]:
    """Cells that hold mass: on their own, or as part of a stretch of 4 or 16 whose sum stands out.

    Thin tails are spread over many cells, none of which shows alone.
    """
    active = np.zeros(_GRID_CELLS, dtype=bool)
    for width in (1, 4, 16):
        stretches = np.add.reduceat(noisy_counts, np.arange(0, _GRID_CELLS, width))
        # One stretch of noise in a thousand discoveries passes for mass.
        largest_noise = stddev * math.sqrt(width) * float(stats.norm.isf(1e-3 / (3 * len(stretches))))
        active |= np.repeat(stretches > largest_noise, width)[:_GRID_CELLS]
    return active


def _find_categories(
    data: Sensitive, columns: tuple[Column, ...], *, mu: float, failure: float, source: NoiseSource
) -> dict[str, Column]:
    """Values whose noisy count passes the threshold.

    A unit adds at most `rows` to the counts of each column, so all counts together move by at most
    rows * sqrt(columns). A value that only one unit holds has a count of at most `rows`, and there are at most
    rows * columns of those.
    """
    rows = data.schema.unit.max_rows
    # Counts are put on the grid of the noise, as in every door: a whole number of units for each row.
    units = math.floor(NOISE_STDDEV * mu / (rows * math.sqrt(len(columns))))
    if units < 1:
        raise BudgetError("the budget is too small to discover categories. Declare them, or use a larger epsilon.")
    quantile = float(stats.norm.isf(failure / (rows * len(columns))))
    threshold = rows * units + math.ceil(NOISE_STDDEV * quantile) + 1
    private_counts: dict[str, Counter[str]] = {c.name: Counter() for c in columns}
    for batch in open_batches(data):
        for column in columns:
            values = batch[column.name]
            private_counts[column.name].update(value for value in values.tolist() if value is not None)
    found = {}
    for column in columns:
        private_values = sorted(private_counts[column.name])
        noise = rounded_gaussian(len(private_values), source=source).tolist()
        passed = [
            value
            for value, drawn in zip(private_values, noise, strict=True)
            if private_counts[column.name][value] * units + drawn > threshold
        ]
        if not passed:
            raise BudgetError(
                f"column {column.name!r}: no category is common enough to be let out at this budget. "
                "Declare categories in the schema, or use a larger epsilon."
            )
        # Whatever did not pass is mapped to "missing", so the column must have a place for it.
        found[column.name] = replace(column, categories=tuple(passed), missing=True, discover=False)
    return found
