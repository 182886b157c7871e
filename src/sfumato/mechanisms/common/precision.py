"""How much a budget lets rows tell, from public facts alone: what sizes follow from."""

from sfumato.public.accounting.gdp import mu_of_budget
from sfumato.public.budget import Budget
from sfumato.public.schema.schema import Schema

#: How many rows are assumed where the schema declares none.
ASSUMED_ROWS = 20_000


def mu_of_a_row(schema: Schema, budget: Budget) -> float:
    """One over the noise on a count of rows, if the whole budget went to it."""
    per_unit = schema.unit.max_rows * (2.0 if schema.unit.relation == "replace_one" else 1.0)
    return mu_of_budget(budget.epsilon, delta=budget.delta) / per_unit


def declared_rows(schema: Schema) -> float:
    """The declared number of rows, or what is assumed in its place."""
    return float(schema.rows or ASSUMED_ROWS)
