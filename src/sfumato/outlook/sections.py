"""A plan in words, and as sections of plain text: what Python, notebooks and the command line each lay out in their own way."""

from collections.abc import Sequence
from typing import Any

from sfumato.outlook.expectations import Range
from sfumato.outlook.forecast import LIKE_A_NUMBER, SIZES, Outlook
from sfumato.public.certificate.claim import claim_of
from sfumato.public.certificate.layout import Grid, Section
from sfumato.public.plan.outline import Outline
from sfumato.public.plan.plan import Plan
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
        return f"{what} {sign}{noise:,{'.2g' if noise < 10 else '.0f'}} {entry['unit']}"
    if entry["unit"] == "share":
        return f"{what} {sign}{100 * noise:.2g} %" if noise < 1 else f"{what} ± more than all of it"
    column = schema[entry["column"]]
    if noise > column.high - column.low:
        return f"{what} ± more than its whole range"
    return f"{what} {sign}{_number(noise, column)}"


def _number(noise: float, column: Column) -> str:
    if column.kind == "datetime":
        return f"{noise / _DAY:,.2g} days" if noise < 100 * _DAY else f"{noise / _DAY:,.0f} days"
    if column.kind == "time":
        return f"{noise / 60:,.2g} minutes"
    return f"{noise:.2g}" if noise < 100 else f"{noise:,.0f}"


def in_sentences(expected: Outlook, rows: int) -> list[str]:
    """What a learner keeps, how far distributions are off, and what that rests on."""
    shares, number, sentences = expected.shares(rows), expected.number_share(rows), []
    if shares:
        (_, even), *uneven = shares.items()
        first = f"Expect a learner to keep {percent(even)} of what it would learn from the real rows if the classes are even"
        rest = [f"{percent(share)} if a class has {100 * rate:.0f} % of the rows" for rate, share in uneven]
        sentences.append("; ".join([first, *rest]) + ".")
    if number is not None:
        sentences.append(f"{NUMBER_NOT_SIMULATED} That is {percent(number)} of what the real rows give.")
    distances = expected.distances(rows)
    if distances:
        sentences.append(
            f"Expect the distribution of a column to be off by {percent(distances['one_way'])}, of a pair of columns by "
            f"{percent(distances['two_way'])} (total variation, on average)."
        )
    everything = [*shares.values(), *distances.values()]
    where = (
        f"This is from {expected.found.runs} releases of made-up data, with --rows many: of those most like yours, four of five "
        "lay in these ranges. Your data may differ."
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


#: Columns that are shown; to_json and --json have them all.
_SHOWN = 12


def of_steps(mechanism: str, plan: Plan) -> Section:
    """Every access to private rows, and the claim."""
    who = "a row" if plan.unit.max_rows == 1 else "all rows of a person together"
    return Section(
        title=f"Plan of {mechanism}",
        subtitle=f", by the accountant {plan.spent.accountant}",
        grid=steps_grid(plan),
        notes=(f"clip: what {who} can add; stddev: the noise on each number.",),
        after=(claim_of(plan).in_words,),
    )


def steps_grid(plan: Plan) -> Grid:
    """One line for each block of each step; it fits 80 columns. Clip and multiplier are those of the unit."""
    headings = ("step", "block", "sampling", "uses", "numbers", "clip", "multiplier", "stddev")
    rows = []
    for row in plan.to_json()["steps"]:
        multiplier = row["noise_multiplier"] * row["clip"] / row["unit_clip"]
        figures = (f"{value:.4g}" for value in (row["unit_clip"], multiplier, row["noise_stddev"]))
        rows.append((*(str(row[key]) for key in headings[:4]), f"{row['numbers']:,}", *figures))
    return Grid(headings, tuple(rows), numbers=5)


def of_outline(mechanism: str, outline: Outline, *, is_open: bool) -> Section:
    """The path that is taken, and what is left out on it. `is_open`: bounds or categories are to be discovered first."""
    said = [outline.path]
    if outline.left_out:
        said.append("Left out, or coarser than it could be:")
    left_out = tuple(f"- {entry.sentence}" for entry in outline.left_out)
    later = ("Bounds or categories are to be discovered first: what is found may change this.",) if is_open else ()
    return Section(title=f"What {mechanism} will do", before=(*said, *left_out), notes=later)


def of_noise(noise: Sequence[dict[str, Any]], schema: Schema) -> Section:
    """One line for each column: what is told of it, and give or take how much."""
    told = noise_by_column(noise, schema)
    more = len(told) - _SHOWN
    notes = [f"and {more} columns more: see --json, or to_json() in Python."] if more > 0 else []
    return Section(
        title="The noise in the units of each column",
        subtitle=" (one standard deviation)",
        grid=Grid(("column", "give or take"), tuple(told.items())[:_SHOWN]),
        notes=(*notes, *noise_notes(noise)),
    )


def of_rules(schema: Schema) -> Section:
    """Every rule, and where it is kept."""
    ruled = schema.ruled
    computed = {one.rule for one in ruled.computed}
    grid = Grid(
        ("rule", "how it is kept"),
        tuple(
            (
                rule.told,
                "made up, never from the data" if rule.key else "computed, not measured" if at in computed else _MENDED,
            )
            for at, rule in enumerate(schema.rules)
        )[:_SHOWN],
    )
    more = len(schema.rules) - _SHOWN
    notes = (f"and {more} rules more.",) if more > 0 else ()
    return Section(title="Rules", subtitle=", in every released row, at no cost", grid=grid, notes=notes)


_MENDED = "rows that break it exchange values"


def of_discovery(discovery: dict[str, Any]) -> Section:
    """What is to be discovered, and what it costs."""
    share = f"{discovery['budget_share']:.0%} of the precision"
    if discovery["delta_share"]:
        share += f" and {discovery['delta_share']:.0%} of delta"
    least = discovery["rows_of_a_category"]
    rare = [f"A category is found if about {least:,} rows have it; what is rarer is not let out."] if least else []
    return Section(
        title="To be discovered first",
        grid=Grid(("column", "what"), tuple((column["name"], column["what"]) for column in discovery["columns"])),
        after=(
            f"Discovery takes {share}, and finds a noisy number of rows on the way. The noise of the rest is calibrated "
            "after it, within the same budget. Declare bounds and categories where they are public: it is free.",
            *rare,
        ),
    )


#: What is said in the place of expectations where a schema has several tables.
SEVERAL_NOT_SIMULATED = (
    "No expectations are known for several tables: releases of one table were simulated, and none of persons with histories. "
    "docs/research/histories.md has measured figures of three datasets."
)


def of_several_tables() -> Section:
    """That nothing is known."""
    return Section(title="What to expect", before=(SEVERAL_NOT_SIMULATED,))


def of_outlook(expected: Outlook) -> Section:
    """What public simulations say about releases of this size, noise and width."""
    another = simulated_another(expected)
    before = [] if another is None else [another]
    if expected.rows is None:
        before += [NUMBER_NOT_SIMULATED] if expected.predicts_number else []
        if (few := expected.rows_needed) is not None:
            before.append(f"With fewer than about {few:,} rows this release is likely to be of little use.")
        before.append("rows is not declared, so this is by the number of rows:")
    else:
        before += in_sentences(expected, expected.rows)
    stale = "The simulations were made with other constants than today's, so they may be off."
    return Section(
        title="What to expect",
        subtitle=", from public simulations",
        before=tuple(before),
        grid=_by_rows(expected) if expected.rows is None else None,
        notes=() if expected.current else (stale,),
    )


def _by_rows(expected: Outlook) -> Grid:
    rows = []
    for size in SIZES:
        shares, pair = expected.shares(size), expected.distances(size).get("two_way")
        learned = next(iter(shares.values()), expected.number_share(size))
        share = "-" if learned is None else percent(learned)
        rows.append((f"{size:,}", share, "-" if pair is None else percent(pair)))
    return Grid(("rows", "a learner keeps", "a pair is off by"), tuple(rows), numbers=3)


def of_curve(expected: Outlook) -> Section:
    """The trade-off of alpha, with a bar for what a learner keeps."""
    points = expected.found.alpha
    tables = bool(points) and "tvd_2way" in points[0]
    rows = []
    for point in points:
        bar = "█" * round(20 * point["share"])
        off = [f"{point[name]:.3f}" for name in ("tvd_1way", "tvd_2way") if name in point]
        rows.append((f"{point['alpha']:g}", f"{point['share']:.0%}", bar, *off, f"{point['class_rate_error']:.3f}"))
    notes = ["column, pair, class rate: how far they are off on average (total variation)."]
    shares = [point["share"] for point in points]
    if points and max(shares) - min(shares) < 0.02:
        notes.append("What a learner keeps hardly depends on alpha here.")
    return Section(
        title="From faithful (alpha 0) to predictive (alpha 1)",
        subtitle=f", {expected.simulated}",
        grid=Grid(("alpha", "a learner keeps", "", *(["column", "pair"] if tables else []), "class rate"), tuple(rows)),
        notes=tuple(notes),
    )
