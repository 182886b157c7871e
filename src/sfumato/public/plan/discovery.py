"""Bounds and categories that are found privately: what it costs, and what follows from the noisy numbers. All public.

Numbers: one noisy histogram on a grid that fits every number, then quantiles of it. Texts: noisy counts of the values
that occur, of which only those above a threshold are let out. The doors are in `private/doors/discovery.py`; proof:
docs/proofs/discovery.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import dp_accounting as dpa
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.errors import BudgetError, SchemaError
from sfumato.public.accounting import EpsilonDeltaDpEvent, Spent, mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Hot
from sfumato.public.plan.doors import Measured
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Column, Schema

#: The part of the precision, and of delta, that discovery may take.
BUDGET_SHARE = 0.1
DELTA_SHARE = 0.1
ROWS, BOUNDS, TEXTS = "discovered rows", "discovered bounds", "discovered categories"

# A grid on asinh(x): even near 0, in steps of 5 % far from it, up to 5e12 either way.
_GRID_EDGE = 30.0
_GRID_CELLS = 1200
_QUANTILES = (0.005, 0.995)
_NOT_YET = Spent(epsilon=0.0, accountant="composed with the steps that follow", numeric_error=0.0)


@dataclass(frozen=True)
class DiscoveryPlan:
    """Every access of a discovery. `plan` holds the noisy histograms; texts pass by a door of their own, at `mu_texts`."""

    plan: Plan
    numbers: tuple[Column, ...]
    texts: tuple[Column, ...]
    mu_texts: float
    failure: float

    @property
    def event(self) -> dpa.DpEvent:
        """What the accountant is told."""
        events = [self.plan.event]
        if self.texts:
            events += [dpa.GaussianDpEvent(1 / self.mu_texts), EpsilonDeltaDpEvent(0.0, self.failure)]
        return dpa.ComposedDpEvent(events)

    @property
    def units_per_row(self) -> int:
        """Whole grid units that a row adds to the count of its text, so that all counts together move by mu_texts at most.

        A unit of privacy adds at most `max_rows` to the counts of each column.
        """
        return math.floor(NOISE_STDDEV * self.mu_texts / (self.plan.unit.max_rows * math.sqrt(len(self.texts))))

    @property
    def threshold(self) -> int:
        """In grid units. A value that one unit alone holds passes it with a probability that is part of `failure`.

        Such a value has a count of at most `max_rows`, and there are at most max_rows * texts of them.
        """
        rows = self.plan.unit.max_rows
        quantile = float(stats.norm.isf(self.failure / (rows * len(self.texts))))
        return rows * self.units_per_row + math.ceil(NOISE_STDDEV * quantile) + 1

    @property
    def rows_of_a_category(self) -> int:
        """About how many rows must hold a text, for it to be let out as often as not."""
        return math.ceil(self.threshold / self.units_per_row)

    @property
    def published(self) -> dict[str, Any]:
        """What the certificate holds of a discovery: its columns in their order, units for a row, and the threshold."""
        plan = self.plan
        grid = {f"{s.name}/{b.name}": plan.units_per_one(s.name, b.name) for s in plan.steps for b in s.blocks}
        return {
            "numbers": tuple(c.name for c in self.numbers),
            "texts": tuple(c.name for c in self.texts),
            "grid": grid | {f"{TEXTS}/{c.name}": float(self.units_per_row) for c in self.texts},
            "threshold": self.threshold if self.texts else None,
        }


def plan_discovery(schema: Schema, columns: tuple[Column, ...], *, budget: Budget) -> DiscoveryPlan:
    """How the given columns of a schema are discovered with a tenth of the budget."""
    numbers = tuple(c for c in columns if c.is_number)
    texts = tuple(c for c in columns if not c.is_number)
    if schema.unit.relation != "add_or_remove":
        raise SchemaError('discovery is proved for relation = "add_or_remove". Declare bounds and categories instead.')
    mu = math.sqrt(BUDGET_SHARE) * mu_of_budget(budget.epsilon, delta=budget.delta * (1 - DELTA_SHARE))
    mu_texts = mu / math.sqrt(2) if texts else 0.0  # half the precision
    steps = _steps(numbers)
    # Plain Gaussian steps: a total mu means a scale of 1 / mu, with no search.
    scale = schema.unit.max_rows / math.sqrt(mu**2 - mu_texts**2)
    plan = Plan(budget=budget, unit=schema.unit, steps=steps, scale=scale, event=dpa.NoOpDpEvent(), spent=_NOT_YET)
    events = [s.event(noise_multiplier=plan.noise_multiplier(s.name), unit=schema.unit) for s in steps]
    plan = replace(plan, event=dpa.ComposedDpEvent(events))
    found = DiscoveryPlan(plan, numbers, texts, mu_texts, budget.delta * DELTA_SHARE if texts else 0.0)
    if texts and found.units_per_row < 1:
        raise BudgetError("the budget is too small to discover categories. Declare them, or use a larger epsilon.")
    return found


def refuse_in_vain(schema: Schema, *, budget: Budget) -> None:
    """Refuse, before anything is spent, a discovery that needs more rows than the schema declares.

    A text is let out as often as not if this many rows have it, and a number shows if this many rows lie in one cell: what
    is rarer is found seldom even where all rows agree.
    """
    if schema.rows is None:
        return
    found = plan_discovery(schema, schema.unknown, budget=budget)
    needed = {column.name: found.rows_of_a_category for column in found.texts}
    if found.numbers:
        stddev = {c.name: found.plan.noise_stddev(BOUNDS, c.name) for c in found.numbers}
        needed |= {name: math.ceil(_largest_noise(noise, width=1)) for name, noise in stddev.items()}
    lost = [name for name, rows in needed.items() if rows > schema.rows]
    if lost:
        listed = ", ".join(map(repr, lost))
        raise BudgetError(
            f"column{'s' * (len(lost) > 1)} {listed}: to be discovered at this budget, about {max(needed[n] for n in lost):,} rows "
            f"must have one and the same value, and the schema declares rows = {schema.rows:,}. Declare bounds or categories, "
            "leave the columns out, or use a larger epsilon. Nothing was spent."
        )


def event_to_book(planned: Plan | None, schema: Schema, budget: Budget) -> dpa.DpEvent:
    """What is charged beforehand: the plan, or where it is not known yet, a discovery and whatever may follow it."""
    if planned is not None:
        return planned.event
    found = plan_discovery(schema, schema.unknown, budget=budget)
    # A plan may round its noise to within 1e-12 of this.
    mu = mu_of_budget(budget.epsilon, delta=budget.delta - found.failure) * (1 + 1e-9)
    return dpa.ComposedDpEvent([dpa.GaussianDpEvent(1 / mu), EpsilonDeltaDpEvent(0.0, found.failure)])


def _steps(numbers: tuple[Column, ...]) -> tuple[Step, ...]:
    rows = Step(name=ROWS, blocks=(Hot(name="rows", width=1),), share=1 / (1 + len(numbers)))
    if not numbers:
        return (rows,)
    blocks = tuple(Hot(name=c.name, width=_GRID_CELLS, share=1 / len(numbers)) for c in numbers)
    return (rows, Step(name=BOUNDS, blocks=blocks, share=1.0))


def cell_of(values: NDArray[Any]) -> NDArray[np.int64]:
    """The grid cell of each number; -1 for what is missing."""
    position = (np.arcsinh(values.astype(np.float64)) / _GRID_EDGE + 1) / 2 * _GRID_CELLS
    cell = np.clip(np.nan_to_num(position), 0, _GRID_CELLS - 1).astype(np.int64)
    return np.where(np.isnan(values), -1, cell)


def discovered_bounds(found: DiscoveryPlan, answers: Answers) -> dict[str, Column]:
    """The numeric columns with the bounds that their noisy histograms give: post-processing."""
    if not found.numbers:
        return {}
    measured = answers.measured(found.plan, BOUNDS, 0)
    lost = [c.name for c in found.numbers if not _rises_above_noise(measured[c.name]).any()]
    _refuse_lost(lost, "no values rise above the noise", "bounds")
    return {column.name: _with_bounds(column, measured[column.name]) for column in found.numbers}


def with_categories(found: DiscoveryPlan, passed: Mapping[str, tuple[str, ...]]) -> dict[str, Column]:
    """The text columns with the categories that passed the threshold, and a place for all else: "missing"."""
    lost = [column.name for column in found.texts if not passed[column.name]]
    _refuse_lost(lost, "no category is common enough to be let out at this budget", "categories")
    return {c.name: replace(c, categories=passed[c.name], missing=True, discover=False) for c in found.texts}


def _refuse_lost(names: Sequence[str], why: str, what: str) -> None:
    """All columns at once, as each further try would cost anew."""
    if names:
        listed = ", ".join(map(repr, names))
        raise BudgetError(
            f"column{'s' * (len(names) > 1)} {listed}: {why}. Declare {what} in the schema, or use a larger epsilon. "
            f"The discovery has spent its part ({BUDGET_SHARE:.0%}) of the budget, and another release adds to that."
        )


def _with_bounds(column: Column, noisy: Measured) -> Column:
    """The range that holds nearly all of the mass that rises above the noise."""
    kept = np.where(_rises_above_noise(noisy), noisy.values, 0.0)
    mass = np.maximum.accumulate(np.cumsum(kept) / kept.sum())
    first, last = (int(np.searchsorted(mass, q)) for q in _QUANTILES)
    edges = np.sinh((np.arange(_GRID_CELLS + 1) / _GRID_CELLS * 2 - 1) * _GRID_EDGE)
    low, high = float(edges[first]), float(edges[min(last, _GRID_CELLS - 1) + 1])
    if column.kind != "numeric":
        low, high = math.floor(low), math.ceil(high)
    return replace(column, bounds=(low, high), discover=False)


def _rises_above_noise(noisy: Measured) -> NDArray[np.bool_]:
    """Cells that hold mass: on their own, or as part of a stretch of 4 or 16 whose sum stands out.

    Thin tails are spread over many cells, none of which shows alone.
    """
    active = np.zeros(_GRID_CELLS, dtype=bool)
    for width in (1, 4, 16):
        stretches = np.add.reduceat(noisy.values, np.arange(0, _GRID_CELLS, width))
        active |= np.repeat(stretches > _largest_noise(noisy.stddev, width=width), width)[:_GRID_CELLS]
    return active


def _largest_noise(stddev: float, *, width: int) -> float:
    """What a stretch of so many cells must exceed: one stretch of noise in a thousand discoveries passes for mass."""
    n_stretches = math.ceil(_GRID_CELLS / width)
    return stddev * math.sqrt(width) * float(stats.norm.isf(1e-3 / (3 * n_stretches)))
