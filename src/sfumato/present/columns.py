"""Every column as a reader meets it: its name, its kind, a drawing or a table of shares, and a sentence or two."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from sfumato.asking.answer import Estimate
from sfumato.asking.columns import MEAN, ColumnEstimates
from sfumato.present.histogram_drawing import histogram_svg
from sfumato.present.marginals import Marginal, is_number, marginal, nearest_values
from sfumato.public.schema.schema import Schema

#: A page that holds more of them would be too long to send; the others are in the rows.
MOST_COLUMNS = 1_000
#: A value that so many rows have is named.
_SPIKE = 0.1
#: Truth values as a page writes them.
_TRUTH = {"false": "no", "true": "yes"}


#: What a page shows of one column, as plain values: `name`, `kind`, `is_target`, `sentences`, and a `drawing` or `bars`. A bar is a
#: category (`label`) with its `shares` of each set of rows as texts, their `widths`, whether it stands for all others (`is_rest`), and the
#: interval of the private rows (`within`). `figures` are those of numbers: what, estimate and interval; `cannot` says why there are none.
ColumnCard = dict[str, Any]


def column_cards(
    sets: Mapping[str, pd.DataFrame], schema: Schema, *, estimates: Mapping[str, ColumnEstimates] | None = None
) -> list[ColumnCard]:
    """The target first, then columns in their order. All sets of rows have the columns of the first.

    `estimates`: what the noisy measurements say of the private rows.
    """
    names = columns_in_order(next(iter(sets.values())), schema)
    kinds = {column.name: column.kind for column in schema.columns}
    columns = {name: {key: rows[name] for key, rows in sets.items()} for name in names[:MOST_COLUMNS]}
    return [
        column_card(
            name, values, kind=kinds.get(name), target=name == schema.target, estimated=(estimates or {}).get(name)
        )
        for name, values in columns.items()
    ]


def columns_in_order(table: pd.DataFrame, schema: Schema) -> list[str]:
    """The target first, then the others as they stand."""
    names = [str(name) for name in table.columns]
    return sorted(names, key=lambda name: name != schema.target)


def column_card(
    name: str,
    columns: Mapping[str, "pd.Series[Any]"],
    *,
    kind: str | None = None,
    target: bool = False,
    estimated: ColumnEstimates | None = None,
) -> ColumnCard:
    """One column of one or several sets of rows, and what the measurements say of it."""
    estimates = {} if estimated is None else estimated.estimates
    if kind == "boolean":
        estimates = {_TRUTH.get(key, key): one for key, one in estimates.items()}
    counted = marginal(name, columns)
    told = {key: _sentence(values, counted, key) for key, values in columns.items()}
    sentences = list(told.values())
    if len(told) > 1:
        sentences = [f"{key.capitalize()}: {words[0].lower()}{words[1:]}" for key, words in told.items() if words]
    card = {"name": name, "kind": kind or "category", "is_target": target, "figures": []}
    card["cannot"] = "" if estimated is None else estimated.why
    if counted.edges is None:
        return card | {"sentences": [s for s in sentences if s], "drawing": None, "bars": _bars(counted, estimates)}
    unit, text = (
        (86_400.0, _date_text) if counted.is_date else (1.0, value_text)
    )  # dates are told in seconds, and drawn in days
    spans = {key: [n / unit for n in (one.value, one.low, one.high) if n is not None] for key, one in estimates.items()}
    figures = [(key, text(value), f"{text(low)} to {text(high)}") for key, (value, low, high) in spans.items()]
    drawing = histogram_svg(
        counted,
        label=f"Histogram of {name}. {' '.join(sentences)}",
        spans=[(low, high) for key, (_, low, high) in spans.items() if key != MEAN],
    )
    return card | {
        "kind": kind or "number",
        "sentences": sentences,
        "drawing": drawing,
        "bars": [],
        "figures": figures,
    }


def _bars(counted: Marginal, estimates: Mapping[str, Estimate]) -> list[dict[str, Any]]:
    labels = list(counted.names)
    heights = {key: list(map(float, shares)) for key, shares in counted.heights.items()}
    if any(counted.missing.values()):
        labels.append("(missing)")
        heights = {key: [*shares, counted.missing[key]] for key, shares in heights.items()}
    most = max((max(shares, default=0.0) for shares in heights.values()), default=0.0) or 1.0
    return [
        {
            "label": label,
            "shares": {key: percent_text(shares[at]) for key, shares in heights.items()},
            "widths": {key: f"{100 * shares[at] / most:.3g}" for key, shares in heights.items()},
            "is_rest": at >= len(counted.labels),
            "within": _within(estimates.get(label), most),
        }
        for at, label in enumerate(labels)
    ]


def _within(told: Estimate | None, most: float) -> dict[str, str] | None:
    """The interval of a share: where it is drawn, in percent of the longest bar, and its text."""
    if told is None or told.low is None or told.high is None:
        return None
    left, right = (min(100 * share / most, 100.0) for share in (told.low, told.high))
    text = f"{percent_text(told.low).removesuffix(' %')} to {percent_text(told.high)}"
    return {"left": f"{left:.3g}", "width": f"{max(right - left, 0.5):.3g}", "text": text}


def _sentence(values: "pd.Series[Any]", counted: Marginal, key: str) -> str:
    """Where the values lie, what many of them are, and how many are missing: figures that a drawing hides."""
    if not is_number(values):
        return ""
    missing, beyond, there = counted.missing[key], counted.beyond[key], counted.numbers[key]
    if not len(there):
        return "All are missing." if len(values) else "There are none."
    low, lower, upper, high = nearest_values(there, (0, 0.25, 0.75, 1))
    text = _date_text if counted.is_date else value_text
    said = [f"From {text(low)} to {text(high)}, the middle half from {text(lower)} to {text(upper)}."]
    if low == high:
        said = [f"All that there are are {text(low)}." if missing else f"All are {text(low)}."]
    starts = np.flatnonzero(np.append(True, np.diff(there) > 0))  # numbers are in order: equal ones side by side
    counts = np.diff(np.append(starts, len(there)))
    if low < high and counts.max() >= _SPIKE * len(values) and not counted.is_date:
        said.append(f"{percent_text(counts.max() / len(values))} are {text(float(there[starts[counts.argmax()]]))}.")
    if beyond:
        said.append(f"{percent_text(beyond)} lie beyond what is drawn.")
    if missing:
        said.append(f"{percent_text(missing)} are missing.")
    return " ".join(said)


def percent_text(share: float) -> str:
    """A share with as many digits as tell it apart from nothing."""
    percent = 100 * share
    if 0 < percent < 0.01:
        return "<0.01 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    digits = ".1g" if 0 < percent < 1 else ".1f" if 1 <= percent < 10 or 99 < percent < 100 else ".0f"
    return f"{percent:{digits}} %"


def value_text(value: float) -> str:
    """A number with four digits that count."""
    return f"{value:,.0f}" if 1e3 <= abs(value) < 1e7 else f"{value + 0.0:.4g}"


def _date_text(day: float) -> str:
    return str(np.datetime64(round(day * 86_400), "s"))[:10]
