"""How good a release is likely to be, in the words of the plan: for the report, from public facts alone."""

from collections.abc import Sequence
from typing import Any

from sfumato.mechanism import Named
from sfumato.outlook.forecast import outlook
from sfumato.outlook.preview import noise_of
from sfumato.outlook.warnings import verdict_on
from sfumato.outlook.words import in_sentences, noise_by_column, noise_notes, simulated_another
from sfumato.public.plan.outline import outline_of
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema


def quality_of(mechanism: Named, *, schema: Schema, plan: Plan, warnings: Sequence[str]) -> dict[str, Any]:
    """All that the page says under *How good is it?*, as plain values."""
    told = noise_of(mechanism, schema=schema, planned=plan)
    noise = noise_by_column(told, schema)
    outline = outline_of(mechanism, schema, plan.budget)
    return {
        "path": None if outline is None else outline.path,
        "left_out": [] if outline is None else [entry.sentence for entry in outline.left_out],
        "verdict": verdict_on(warnings),
        "warnings": list(warnings),
        "expected": _expected(mechanism, schema=schema, plan=plan),
        "noise": list(noise.items()),
        "notes": noise_notes(told),
    }


def _expected(mechanism: Named, *, schema: Schema, plan: Plan) -> list[str]:
    """What public simulations say of such a release. They are of a declared size; without one nothing can be said."""
    if schema.rows is None:
        return []
    expected = outlook(mechanism, schema=schema, budget=plan.budget, planned=plan)
    another = simulated_another(expected)
    return [*([] if another is None else [another]), *in_sentences(expected, schema.rows)]
