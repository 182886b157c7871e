"""sfumato plan: every access to private rows and its noise, before any row is read."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from sfumato.cli.console import AsJson, answer, progress, table_of
from sfumato.cli.options import Method, Settings, chosen_mechanism
from sfumato.cli.refusals import refusing
from sfumato.cli.show_plan import show_noise, show_outlook
from sfumato.outlook.forecast import outlook
from sfumato.outlook.preview import advice, discovery_of, noise_of, preview
from sfumato.public.budget import Budget, default_delta
from sfumato.public.claim import claim_of
from sfumato.public.plan import Plan
from sfumato.public.schema_file import load_schema

Epsilon = Annotated[float, typer.Option(help="How much may leak. 1 is a usual choice.")]
Delta = Annotated[
    float | None, typer.Option(help="The probability of an exception. Default: 1e-6, or a tenth of 1/rows if smaller.")
]

_HEADINGS = ("step", "block", "sampling", "uses", "numbers", "clip", "multiplier", "stddev")


@refusing
def plan(
    schema_file: Annotated[Path, typer.Argument(help="The schema.toml.", metavar="SCHEMA")],
    epsilon: Epsilon,
    delta: Delta = None,
    method: Method = "auto",
    settings: Settings = None,
    curve: Annotated[bool, typer.Option("--curve", help="Show the trade-off of alpha as well.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show every access to private rows, its noise, and what to expect of the release. No data is read."""
    schema = load_schema(schema_file)
    budget = Budget(epsilon=epsilon, delta=default_delta(schema.rows) if delta is None else delta)
    mechanism = chosen_mechanism(method, schema=schema, settings=settings or ())
    with progress(title="plan") as step:
        step("calibrating the noise")
        planned = preview(mechanism, schema=schema, budget=budget)
    noise = [] if planned is None else noise_of(mechanism, schema=schema, planned=planned)
    expected = outlook(mechanism, schema=schema, budget=budget, planned=planned)
    # Where the method itself was simulated, that says more than the noise of single counts.
    said = advice(None if expected.mechanism == expected.simulated else planned, schema=schema, budget=budget)
    discovery = discovery_of(schema)
    payload: dict[str, Any] = {
        "mechanism": mechanism.name,
        **(_budget_alone(budget, schema.unit.describe()) if planned is None else planned.to_json()),
        "claim": None if planned is None else claim_of(planned).in_words,
        "column_noise": noise,
        "expectation": expected.to_json(),
        "discovery": discovery,
        "advice": said,
    }

    def show(console: Console) -> None:
        if planned is not None:
            console.print(f"[bold]Plan of {mechanism.name}[/bold], by the accountant {planned.spent.accountant}\n")
            console.print(plan_table(planned))
            console.print("clip: what a row can add; stddev: the noise on each number.\n", style="dim")
            console.print(claim_of(planned).in_words, markup=False)
            show_noise(console, noise, schema=schema)
        if discovery is not None:
            show_discovery(console, discovery)
        show_outlook(console, expected, curve=curve)
        for sentence in said:
            console.print(Text.assemble(("advice: ", "yellow"), sentence))

    answer(payload, as_json=as_json, show=show)


def plan_table(planned: Plan) -> Table:
    """The plan as a table that fits 80 columns."""
    table = table_of(*_HEADINGS, numbers=5)
    for row in planned.to_json()["steps"]:
        table.add_row(
            escape(row["step"]),
            escape(row["block"]),
            row["sampling"],
            str(row["uses"]),
            f"{row['numbers']:,}",
            f"{row['clip']:.4g}",
            f"{row['noise_multiplier']:.4g}",
            f"{row['noise_stddev']:.4g}",
        )
    return table


def show_discovery(console: Console, discovery: dict[str, Any]) -> None:
    """Say what is to be discovered, and what it costs."""
    console.print("[bold]To be discovered first[/bold]\n")
    table = table_of("column", "what")
    for column in discovery["columns"]:
        table.add_row(escape(column["name"]), column["what"])
    console.print(table)
    share = f"{discovery['budget_share']:.0%} of the precision"
    if discovery["delta_share"]:
        share += f" and {discovery['delta_share']:.0%} of delta"
    console.print(
        f"Discovery takes {share}, and finds a noisy number of rows on the way. The noise of the rest is calibrated "
        "after it, within the same budget. Declare bounds and categories where they are public: it is free."
    )


def _budget_alone(budget: Budget, unit: str) -> dict[str, Any]:
    return {"epsilon": budget.epsilon, "delta": budget.delta, "unit": unit, "steps": None}
