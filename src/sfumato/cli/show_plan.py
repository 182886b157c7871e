"""The noise and the expectations of a plan, as a person likes to read them: within 80 columns."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import table_of
from sfumato.outlook.expectations import Range
from sfumato.outlook.forecast import Outlook
from sfumato.public.reading import ASSUMED_ROWS
from sfumato.public.schema import Column, Schema

#: Columns that are shown; --json has them all.
_SHOWN = 12
_DAY = 86_400.0


def show_noise(console: Console, noise: Sequence[dict[str, Any]], *, schema: Schema) -> None:
    """One line for each column: what is told of it, and give or take how much."""
    by_column: dict[str, list[str]] = {}
    for entry in noise:
        by_column.setdefault(entry["column"], []).append(in_units(entry, schema))
    if not by_column:
        return
    console.print("\n[bold]The noise in the units of each column[/bold] (one standard deviation)\n")
    table = table_of("column", "give or take")
    for name, told in list(by_column.items())[:_SHOWN]:
        table.add_row(escape("every column" if name == "*" else name), escape("; ".join(told)))
    console.print(table)
    notes = []
    if len(by_column) > _SHOWN:
        notes.append(f"and {len(by_column) - _SHOWN} columns more: see --json.")
    if any(entry["rows_assumed"] for entry in noise):
        notes.append(
            f"rows is not declared: means are told for {ASSUMED_ROWS:,} rows; ten times the rows, a tenth of it."
        )
    if any(entry["what"] == "the mean" and not entry["at_most"] for entry in noise):
        notes.append("Means are those of the raw noisy counts. Smoothing, which is free, makes them better.")
    for note in notes:
        console.print(note, style="dim")


def in_units(entry: dict[str, Any], schema: Schema) -> str:
    """A phrase such as `a count ±27 rows`.

    >>> age = Column(name="age", kind="integer", bounds=(0, 100))
    >>> entry = {"column": "age", "what": "the mean", "noise": 0.0213, "unit": "", "at_most": False}
    >>> in_units(entry, Schema(columns=(age,)))
    'the mean ±0.021'
    """
    noise, what = entry["noise"], entry["what"]
    sign = "up to ±" if entry["at_most"] else "±"
    if entry["unit"] == "rows":
        return f"{what} {sign}{noise:,.2g} rows" if noise < 10 else f"{what} {sign}{noise:,.0f} rows"
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


def show_outlook(console: Console, expected: Outlook, *, curve: bool) -> None:
    """What public simulations say about releases of this size, noise and width."""
    console.print("\n[bold]What to expect[/bold], from public simulations\n")
    if expected.mechanism != expected.simulated:
        console.print(f"These are figures for {expected.simulated}. {escape(expected.mechanism)} was not simulated.")
    if expected.rows is None:
        console.print("rows is not declared, so this is by the number of rows:\n")
        console.print(_by_rows(expected))
    else:
        for sentence in in_sentences(expected, expected.rows):
            console.print(sentence, markup=False)
    if not expected.current:
        console.print("The simulations were made with other constants than today's, so they may be off.", style="dim")
    if curve:
        show_curve(console, expected)
    if expected.warning:
        console.print(Text.assemble(("\nwarning: ", "bold red"), expected.warning))


def in_sentences(expected: Outlook, rows: int) -> list[str]:
    """What a learner keeps, how far distributions are off, and what that rests on."""
    said = []
    for at, (rate, share) in enumerate(expected.shares(rows).items()):
        if at == 0:
            said.append(
                f"Expect a learner to keep {_percent(share)} of what it would learn from the real rows if the classes "
                "are even" + (";" if len(expected.shares(rows)) > 1 else ".")
            )
        else:
            last = at == len(expected.shares(rows)) - 1
            said.append(f"{_percent(share)} if a class has {rate:.0%} of the rows{'.' if last else ';'}")
    sentences = [" ".join(said)] if said else []
    distances = expected.distances(rows)
    if distances:
        sentences.append(
            f"Expect the distribution of a column to be off by {_percent(distances['one_way'])}, of a pair of columns by "
            f"{_percent(distances['two_way'])} (total variation, on average)."
        )
    everything = [*expected.shares(rows).values(), *distances.values()]
    where = (
        f"So lay four of five of those nearest to it among {expected.found.runs} releases of made-up data; "
        "your data may differ."
    )
    if expected.columns > expected.found.most_columns or not all(r.seen for r in everything):
        where += " It lies beyond what was simulated: take this as a guess."
    return [*sentences, where]


def _by_rows(expected: Outlook) -> Table:
    table = table_of("rows", "a learner keeps", "a pair is off by", numbers=3)
    for size in (1_000, 10_000, 100_000):
        shares, pair = expected.shares(size), expected.distances(size).get("two_way")
        share = _percent(next(iter(shares.values()))) if shares else "-"
        table.add_row(f"{size:,}", share, "-" if pair is None else _percent(pair))
    return table


def show_curve(console: Console, expected: Outlook) -> None:
    """The trade-off of alpha, with a bar for what a learner keeps."""
    console.print(f"\n[bold]From faithful (alpha 0) to predictive (alpha 1)[/bold], {expected.simulated}\n")
    points = expected.found.alpha
    tables = bool(points) and "tvd_2way" in points[0]
    table = table_of("alpha", "a learner keeps", "", *(["column", "pair"] if tables else []), "class rate")
    for point in points:
        bar = "█" * round(20 * point["share"])
        off = [f"{point[name]:.3f}" for name in ("tvd_1way", "tvd_2way") if name in point]
        rate = f"{point['class_rate_error']:.3f}"
        table.add_row(f"{point['alpha']:g}", f"{point['share']:.0%}", bar, *off, rate)
    console.print(table)
    console.print("column, pair, class rate: how far they are off on average (total variation).", style="dim")
    if points and is_flat([point["share"] for point in points]):
        console.print("What a learner keeps hardly depends on alpha here.", style="dim")


def is_flat(shares: Sequence[float]) -> bool:
    """Whether a curve moves by less than two points."""
    return max(shares) - min(shares) < 0.02


def _percent(share: Range) -> str:
    """A range in whole percent.

    >>> _percent(Range(0.851, 0.9, 0.949, seen=True))
    '85-95 %'
    """
    low, high = round(100 * share.low), round(100 * share.high)
    return f"{low} %" if low == high else f"{low}-{high} %"
