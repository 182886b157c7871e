"""The straight line of the method: each stage asks a door, with what the stages before it have shown.

cells -> categories by class -> bins -> classes -> correlations -> pairs -> links -> triples -> population -> rule -> teacher -> judge
"""

from sfumato.mechanisms.table.measure_classes import LabelStage
from sfumato.mechanisms.table.measure_columns import BinStage
from sfumato.mechanisms.table.measure_joint import GeneratorStage
from sfumato.mechanisms.table.measure_number import NumberStage
from sfumato.mechanisms.table.model import FittedTable
from sfumato.mechanisms.table.plan import Blueprint
from sfumato.public.plan.doors import Doors


def measure_table(plan: Blueprint, view: Doors) -> FittedTable:
    """All stages in order."""
    binned = BinStage(plan, view).run()
    if not binned.binnings:
        return FittedTable.of_target(binned, plan.schema.unit)
    tables = GeneratorStage(plan, view)
    generator = tables.run(binned)
    if plan.target_apart:
        numbers = NumberStage(plan, view).run(generator) if plan.has("teacher") else None
        return FittedTable(binned, generator.rates, generator.population, numbers=numbers)
    labels = None
    if plan.has_rule:
        is_taught = plan.has("teacher") and tables.rare(binned) is None
        labels = LabelStage(plan, view).run(generator, is_taught=is_taught)
    return FittedTable(binned, generator.rates, generator.population, labels=labels)
