"""A plan as sections of plain text: what Python, notebooks and the command line each lay out in their own way."""

from collections.abc import Sequence
from typing import Any

from sfumato.outlook.duration import Duration
from sfumato.outlook.forecast import SIZES, Outlook
from sfumato.outlook.row_counts import PlannedRows
from sfumato.outlook.words import (
    NUMBER_NOT_SIMULATED,
    in_sentences,
    noise_by_column,
    noise_notes,
    percent,
    simulated_another,
)
from sfumato.public.certificate.claim import claim_of
from sfumato.public.certificate.layout import Grid, Section
from sfumato.public.plan.outline import Outline
from sfumato.public.plan.plan import Plan
from sfumato.public.schema.schema import Schema

#: Columns that are shown; to_json and --json have them all.
_SHOWN = 12


def steps_section(mechanism: str, plan: Plan) -> Section:
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
    rows = tuple(
        (
            row["step"],
            row["block"],
            row["sampling"],
            str(row["uses"]),
            f"{row['numbers']:,}",
            f"{row['unit_clip']:.4g}",
            f"{row['noise_multiplier'] * row['clip'] / row['unit_clip']:.4g}",
            f"{row['noise_stddev']:.4g}",
        )
        for row in plan.to_json()["steps"]
    )
    headings = ("step", "block", "sampling", "uses", "numbers", "clip", "multiplier", "stddev")
    return Grid(headings, rows, numbers=5)


def outline_section(mechanism: str, outline: Outline, *, is_open: bool) -> Section:
    """The path that is taken, and what is left out on it. `is_open`: bounds or categories are to be discovered first."""
    said = [outline.path]
    if outline.left_out:
        said.append("Left out, or coarser than it could be:")
    left_out = tuple(f"- {entry.sentence}" for entry in outline.left_out)
    later = ("Bounds or categories are to be discovered first: what is found may change this.",) if is_open else ()
    return Section(title=f"What {mechanism} will do", before=(*said, *left_out), notes=later)


def rows_section(rows: PlannedRows) -> Section:
    """How many rows the release will have."""
    return Section(title="Rows of the release", before=tuple(rows.sentences))


def duration_section(duration: Duration) -> Section:
    """How long it takes."""
    return Section(title="How long it takes", before=tuple(duration.sentences))


def noise_section(noise: Sequence[dict[str, Any]], schema: Schema) -> Section:
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


def discovery_section(discovery: dict[str, Any]) -> Section:
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


def outlook_section(expected: Outlook) -> Section:
    """What public simulations say about releases of this size, noise and width."""
    another = simulated_another(expected)
    before = [] if another is None else [another]
    if expected.rows is None:
        before += [NUMBER_NOT_SIMULATED] if expected.predicts_number else []
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


def curve_section(expected: Outlook) -> Section:
    """The trade-off of alpha, with a bar for what a learner keeps."""
    points = expected.found.alpha
    tables = bool(points) and "tvd_2way" in points[0]
    rows = []
    for point in points:
        bar = "█" * round(20 * point["share"])
        off = [f"{point[name]:.3f}" for name in ("tvd_1way", "tvd_2way") if name in point]
        rows.append((f"{point['alpha']:g}", f"{point['share']:.0%}", bar, *off, f"{point['class_rate_error']:.3f}"))
    notes = ["column, pair, class rate: how far they are off on average (total variation)."]
    if points and is_flat([point["share"] for point in points]):
        notes.append("What a learner keeps hardly depends on alpha here.")
    return Section(
        title="From faithful (alpha 0) to predictive (alpha 1)",
        subtitle=f", {expected.simulated}",
        grid=Grid(("alpha", "a learner keeps", "", *(["column", "pair"] if tables else []), "class rate"), tuple(rows)),
        notes=tuple(notes),
    )


def is_flat(shares: Sequence[float]) -> bool:
    """Whether a curve moves by less than two points."""
    return max(shares) - min(shares) < 0.02
