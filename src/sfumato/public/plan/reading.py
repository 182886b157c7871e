"""The noise of a plan in the units of the columns: what a reader of the release should allow for."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

from sfumato.public.plan.block import Block, Choice, Hot, Response, Votes
from sfumato.public.plan.plan import Plan
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Averages are told for so many rows where the schema does not say how many there are.
ASSUMED_ROWS = 1_000


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a planned block tells of a column, so that its noise can be said in the column's units.

    Args:
        column: The column; `*` for all.
        what: What is told, such as "a count" or "the mean".
        step: The step of the plan.
        block: The block of that step.
        per_one: The standard deviation that is told of, where each entry of the block has noise of standard deviation 1.
        unit: "rows", "teachers", "share", or nothing for the column's own unit.
        groups: Where what is told adds up all entries of one of so many groups of the block. 0 where it is one entry.
        over: For an average: the part of all rows that it is taken over. 0 for what is no average.
        at_most: Whether `per_one` is a public bound on a scale that is measured.
    """

    column: str
    what: str
    step: str
    block: str
    per_one: float = 1.0
    unit: str = ""
    groups: int = 0
    over: float = 0.0
    at_most: bool = False


@runtime_checkable
class Explained(Protocol):
    """A mechanism that says what its blocks tell of the columns. It need not: then its noise is told in rows."""

    def readings(self, schema: Schema) -> tuple[Reading, ...]:
        """What the blocks tell. Public: it sees no data."""


def readings_of(mechanism: object, schema: Schema, steps: Iterable[Step]) -> tuple[Reading, ...]:
    """What the mechanism says of its blocks, or what the blocks say of themselves."""
    if isinstance(mechanism, Explained):
        return mechanism.readings(schema)
    return tuple(_of_any_block(step, block) for step in steps for block in step.blocks)


def _of_any_block(step: Step, block: Block) -> Reading:
    """A count, or a number to which a row adds at most l2_bound: as unsure as so many rows more or fewer would make it."""
    told = Reading(column="*", what="a count", step=step.name, block=block.name, unit="rows")
    match block:
        case Hot(weighted=False):
            return told
        case Choice():
            return replace(told, what="the score of a choice")
        case Response():
            return replace(told, what="whether a row has a code")
        case Votes():
            return replace(told, what="the votes for a class", unit="teachers")
    return replace(told, what="a number, as if by", per_one=1 / block.l2_bound, at_most=True)


def column_noise(planned: Plan, readings: Iterable[Reading], *, rows: int | None) -> list[dict[str, Any]]:
    """The noise of each reading, as plain values: a standard deviation in the unit that is named."""
    entries = []
    for reading in readings:
        added = planned.step(reading.step).block(reading.block).width / reading.groups if reading.groups else 1
        noise = reading.per_one * math.sqrt(added) * planned.noise_stddev(reading.step, reading.block)
        averaged = (rows or ASSUMED_ROWS) * reading.over
        entries.append(
            {
                "column": reading.column,
                "what": reading.what,
                "noise": noise / averaged if averaged else noise,
                "unit": reading.unit,
                "at_most": reading.at_most,
                "rows_averaged": averaged or None,
                "rows_assumed": bool(averaged) and rows is None,
                "step": reading.step,
                "block": reading.block,
            }
        )
    return entries
