"""Columns as expressions see them."""

from collections.abc import Callable, Sequence
from functools import partial

from sfumato.public.expressions.variables import Kind, Variable
from sfumato.public.schema.clock import number_on_the_clock
from sfumato.public.schema.column import Column, plain_word

_KINDS: dict[str, Kind] = {
    "numeric": "number", "integer": "number", "datetime": "date", "time": "number", "categorical": "text", "ordinal": "text",
    "boolean": "truth",
}  # fmt: skip


def variables_of(columns: Sequence[Column]) -> dict[str, Variable]:
    """One for each column but images. Where bounds or categories are still to be discovered, none are known."""
    return {
        column.name: Variable(
            column.name,
            _KINDS[column.kind],
            *(column.bounds or (0.0, 0.0)),
            is_whole=column.kind in ("integer", "datetime", "time"),
            words=column.categories if column.kind != "boolean" else (),
            is_ordered=column.kind == "ordinal",
            missing=column.missing,
            true_words=frozenset(map(plain_word, column.true_words)),
            false_words=frozenset(map(plain_word, column.false_words)),
            number_of_text=_reader(column),
            codes=frozenset(column.special),
        )
        for column in columns
        if column.kind != "image"
    }


def _reader(column: Column) -> Callable[[str], float] | None:
    return partial(number_on_the_clock, low=column.low) if column.kind == "time" else None
