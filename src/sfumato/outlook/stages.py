"""The stages of a fit in their order, from public facts alone."""

from sfumato.mechanism import Mechanism
from sfumato.public.budget import Budget
from sfumato.public.plan.discovery import BOUNDS, ROWS
from sfumato.public.schema.schema import Schema, sketch


def fit_stages(mechanism: Mechanism, schema: Schema, budget: Budget) -> dict[str, int]:
    """What a fit tells of, in its order, and how often: from public facts alone.

    What a discovery finds may change what comes after it.
    """
    numbers = [column for column in schema.unknown if column.is_number]
    first = [ROWS, *([BOUNDS] if numbers else []), *(["categories"] if len(numbers) < len(schema.unknown) else [])]
    steps = {step.name: step.uses for step in mechanism.steps(sketch(schema), budget)}
    return {**dict.fromkeys(first if schema.unknown else [], 1), **steps, "build": 1}
