"""Which sums are asked for, and what each gets of the budget: from the schema and the budget alone."""

import math
from dataclasses import dataclass, replace
from functools import cached_property

from sfumato.mechanisms.histories.aggregates import table_of_persons
from sfumato.mechanisms.histories.facts import EventFacts
from sfumato.mechanisms.histories.kinds import context_sizes
from sfumato.mechanisms.histories.settings import HistorySettings
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.accounting.gdp import epsilon_of_mu, mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Block, Dense, Hot
from sfumato.public.plan.step import Step
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Schema

#: The steps of events; those of the table of persons have names of their own.
FIRST, SECOND = "histories", "events"


@dataclass(frozen=True)
class HistoryPlan:
    """A schema with tables of events, a budget and settings."""

    schema: Schema
    budget: Budget
    settings: HistorySettings

    @cached_property
    def facts(self) -> tuple[EventFacts, ...]:
        """Every table of events."""
        return tuple(EventFacts(table, self.settings) for table in self.schema.flat)

    @cached_property
    def persons(self) -> Schema:
        """The table of persons with what is known of their events."""
        return table_of_persons(self.schema, self.facts)

    @property
    def extra(self) -> tuple[Column, ...]:
        """Its columns about events."""
        return self.persons.columns[len(self.schema.columns) :]

    @cached_property
    def blocks(self) -> dict[str, tuple[tuple[Block, float], ...]]:
        """By step, every block with its part of the whole precision. Tables share what a stage has."""
        shares, first, second = self.settings.shares, list[tuple[Block, float]](), list[tuple[Block, float]]()
        for facts in self.facts:
            name, clip, slots = facts.table.name, self.settings.clip, facts.n_slots
            first.append((Hot(name=f"{name}: count", width=facts.table.max_rows + 1), shares.counts))
            levels = sum(cells.count for cells in facts.levels) * slots
            if levels:
                first.append((_counts(f"{name}: levels", levels, clip), shares.levels))
            if contexts := sum(context_sizes(facts)):
                second.append((_counts(f"{name}: kinds", contexts * facts.n_kinds, clip), shares.kinds))
            if facts.clock is not None:
                width = facts.clock.gap.count * facts.clock.classes
                second.append((_counts(f"{name}: gaps", width, clip), shares.gaps))
            changes = len(facts.numbers) * slots * (1 + self.settings.change_parts)
            if changes:
                second.append((_counts(f"{name}: changes", changes, clip), shares.changes))
                bound = self.settings.spread_bound * math.sqrt(len(facts.numbers) * slots)
                width = 4 * len(facts.numbers) * slots
                second.append((Dense(name=f"{name}: spreads", width=width, l2_bound=bound), shares.spreads))
            codes = sum(slots * (column.size + 1) * column.size for column in facts.codes)
            if codes:
                second.append((_counts(f"{name}: codes", codes, clip), shares.kinds))
        of_each = 1 / len(self.facts)
        return {
            step: tuple((block, share * of_each) for block, share in blocks)
            for step, blocks in ((FIRST, first), (SECOND, second))
            if blocks
        }

    @cached_property
    def of_events(self) -> float:
        """The part of the precision that events get."""
        return sum(share for blocks in self.blocks.values() for _, share in blocks)

    @cached_property
    def table(self) -> TablePlan:
        """The method for tables, with what is left of the budget."""
        mu = mu_of_budget(self.budget.epsilon, delta=self.budget.delta) * math.sqrt(1 - self.of_events)
        left = Budget(epsilon=max(epsilon_of_mu(mu, delta=self.budget.delta), 1e-9), delta=self.budget.delta)
        return TablePlan(self.persons, left, self.settings.table)

    def steps(self) -> tuple[Step, ...]:
        """First what values and numbers of events there are; then persons; then events."""
        inner = self.table.steps()
        factor = (1 - self.of_events) / sum(step.share for step in inner)
        own = {step: _step(step, blocks) for step, blocks in self.blocks.items()}
        persons = tuple(replace(step, share=step.share * factor) for step in inner)
        return (own[FIRST], *persons, *([own[SECOND]] if SECOND in own else []))


def _counts(name: str, width: int, clip: float) -> Dense:
    """Counts of all events of a person, who is shortened as a whole."""
    return Dense(name=name, width=width, l2_bound=clip, nonnegative=True)


def _step(name: str, blocks: tuple[tuple[Block, float], ...]) -> Step:
    total = sum(share for _, share in blocks)
    return Step(name=name, blocks=tuple(replace(b, share=share / total) for b, share in blocks), share=total)  # type: ignore[arg-type]
