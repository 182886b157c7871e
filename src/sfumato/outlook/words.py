"""Noise and expectations in words: the same phrases in Python, on the command line and in the report."""

from collections.abc import Sequence
from typing import Any

from sfumato.outlook.expectations import Range
from sfumato.outlook.forecast import LIKE_A_NUMBER, Outlook
from sfumato.public.plan.reading import ASSUMED_ROWS
from sfumato.public.schema.schema import Column, Schema

_DAY = 86_400.0

#: Said where a line on learners would stand for a target of classes.
NUMBER_NOT_SIMULATED = (
    f"The target is a number. Learners of numbers were not simulated: take what they keep of a class with "
    f"{100 * LIKE_A_NUMBER:.0f} % of the rows as the best that may be hoped for."
)


def noise_by_column(noise: Sequence[dict[str, Any]], schema: Schema) -> dict[str, str]:
    """For each column what is told of it, and give or take how much: one standard deviation."""
    by_column: dict[str, list[str]] = {}
    for entry in noise:
        name = "every column" if entry["column"] == "*" else entry["column"]
        by_column.setdefault(name, []).append(in_units(entry, schema))
    return {name: "; ".join(told) for name, told in by_column.items()}


def noise_notes(noise: Sequence[dict[str, Any]]) -> list[str]:
    """What a reader of these figures should know."""
    notes = []
    if any(entry["rows_assumed"] for entry in noise):
        notes.append(
            f"rows is not declared: means are told for {ASSUMED_ROWS:,} rows; ten times the rows, a tenth of it."
        )
    if any(entry["what"] == "the mean" and not entry["at_most"] for entry in noise):
        notes.append("Means are those of the raw noisy counts. Smoothing, which is free, makes them better.")
    return notes


def in_units(entry: dict[str, Any], schema: Schema) -> str:
    """A phrase such as `a count ±27 rows`.

    >>> age = Column(name="age", kind="integer", bounds=(0, 100))
    >>> entry = {"column": "age", "what": "the mean", "noise": 0.0213, "unit": "", "at_most": False}
    >>> in_units(entry, Schema(columns=(age,)))
    'the mean ±0.021'
    """
    noise, what = entry["noise"], entry["what"]
    sign = "up to ±" if entry["at_most"] else "±"
    if entry["unit"] in ("rows", "teachers"):
        return (
            f"{what} {sign}{noise:,.2g} {entry['unit']}" if noise < 10 else f"{what} {sign}{noise:,.0f} {entry['unit']}"
        )
    if entry["unit"] == "share":
        return f"{what} {sign}{100 * noise:.2g} %" if noise < 1 else f"{what} ± more than all of it"
    column = schema[entry["column"]]
    if noise > column.high - column.low:
        return f"{what} ± more than its whole range"
    return f"{what} {sign}{_number(noise, column)}"


def _number(noise: float, column: Column) -> str:
    if column.kind == "datetime":
        return f"{noise / _DAY:,.2g} days" if noise < 100 * _DAY else f"{noise / _DAY:,.0f} days"
    return f"{noise:.2g}" if noise < 100 else f"{noise:,.0f}"


def in_sentences(expected: Outlook, rows: int) -> list[str]:
    """What a learner keeps, how far distributions are off, and what that rests on."""
    said = []
    shares = expected.shares(rows)
    for at, (rate, share) in enumerate(shares.items()):
        end = "." if at == len(shares) - 1 else ";"
        if at == 0:
            said.append(
                f"Expect a learner to keep {percent(share)} of what it would learn from the real rows if the classes "
                f"are even{end}"
            )
        else:
            said.append(f"{percent(share)} if a class has {100 * rate:.0f} % of the rows{end}")
    sentences = [" ".join(said)] if said else []
    number = expected.number_share(rows)
    sentences += (
        [] if number is None else [f"{NUMBER_NOT_SIMULATED} That is {percent(number)} of what the real rows give."]
    )
    distances = expected.distances(rows)
    if distances:
        sentences.append(
            f"Expect the distribution of a column to be off by {percent(distances['one_way'])}, of a pair of columns by "
            f"{percent(distances['two_way'])} (total variation, on average)."
        )
    everything = [*shares.values(), *distances.values()]
    where = (
        f"So lay four of five of those nearest to it among {expected.found.runs} releases of made-up data, with --rows "
        "many; your data may differ."
    )
    if expected.columns > expected.found.most_columns or not all(r.seen for r in everything):
        where += " It lies beyond what was simulated: take this as a guess."
    return [*sentences, where]


def simulated_another(expected: Outlook) -> str | None:
    """A sentence where the figures are those of another mechanism."""
    if expected.mechanism == expected.simulated:
        return None
    return f"These are figures for {expected.simulated}. {expected.mechanism} was not simulated."


def percent(share: Range) -> str:
    """A range in whole percent.

    >>> percent(Range(0.851, 0.9, 0.949, seen=True))
    '85-95 %'
    """
    low, high = round(100 * share.low), round(100 * share.high)
    return f"{low} %" if low == high else f"{low}-{high} %"
