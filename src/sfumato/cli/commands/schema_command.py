"""sfumato schema, check and plan: what comes before a release. A draft of schema.toml, a dry run, and every access with its noise."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from sfumato.cli import charging
from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of, warn
from sfumato.cli.interactive import ask
from sfumato.cli.non_private import EpsilonIfPrivate, chosen_baseline, is_baseline, needed, plan_baseline
from sfumato.cli.options import (
    Delta,
    MechanismName,
    PrivateData,
    ScoreOption,
    Select,
    Settings,
    Table,
    asked_data,
    chosen_mechanism,
    with_settings,
)
from sfumato.cli.refusals import FAULTS_FOUND
from sfumato.cli.written import show_remarks, show_sections
from sfumato.errors import PlanError, SchemaError
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.lab.dry_run.drafting import TYPES_READ, draft_schema
from sfumato.lab.dry_run.finding import NOT_PRIVATE, Finding
from sfumato.lab.dry_run.reading import DryRun
from sfumato.lab.dry_run.retyping import sentence_of, write_types
from sfumato.lab.dry_run.several_tables import dry_run_tables
from sfumato.ledger.booking import left_after
from sfumato.mechanism import learner_for
from sfumato.outlook.planning import plan as plan_release
from sfumato.private.intake.drafts import draft_of, proposals_for
from sfumato.private.intake.remote import without_password
from sfumato.public.budget import budget_of
from sfumato.public.certificate.layout import Section
from sfumato.public.certificate.non_private import BASELINES
from sfumato.public.schema.schema import Schema
from sfumato.scoring.forecast import expected_score


def schema(
    data: PrivateData,
    header: Annotated[
        bool, typer.Option("--header", help="The first line of a CSV file holds names, though it may look like a row.")
    ] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask for each column of a table, on the terminal.")
    ] = False,
    types: Annotated[
        bool,
        typer.Option(
            "--types",
            help="Read all rows to tell types where the format shows none, as CSV. NOT private; types alone go into the draft.",
        ),
    ] = False,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the draft to this file, whole or not at all.", metavar="FILE")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    table: Table = None,
    sql: Select = None,
    as_json: AsJson = False,
) -> None:
    """Print a draft of schema.toml: column names and types, and what names suggest.

    Other bounds and categories are for a person to fill in from public knowledge. Without --types no row is looked at.
    """
    asked = asked_data(data, table, sql, None)
    if out is not None:
        check_file_target(out, force=force)
    if interactive and types:
        raise SchemaError("--interactive asks a person, and --types asks the rows. Give one of them.")
    if interactive:
        proposals, shown = proposals_for(asked, header=header)
        columns, answers = ask(proposals)
        text = draft_of(columns, shown=shown, answers=answers)
    else:
        text = draft_schema(asked, types=types, header=header)
    if types:
        warn(TYPES_READ)
    if out is not None:
        with whole_file(out) as file:
            file.write(text.encode())
    payload = {"data": without_password(data), "schema_toml": text} | ({} if out is None else {"out": str(out)})

    def show(console: Console) -> None:
        if out is None:
            typer.echo(text, nl=not text.endswith("\n"))
        else:
            check_it = f"sfumato check {data} --schema {out}"
            console.print(f"A draft is in {out}. Complete it, then: {check_it}", markup=False, soft_wrap=True)

    answer(payload, as_json=as_json, show=show)


def check(
    data: PrivateData,
    schema_file: Annotated[Path, typer.Option("--schema", help="The schema.toml.")],
    types: Annotated[
        bool,
        typer.Option("--write-types", help="Write types, and nothing else, into the schema where it leaves them open."),
    ] = False,
    table: Table = None,
    sql: Select = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Tell the custodian what a release would map, cut or leave out in silence. NOT private: it reads the rows as they are.

    Without --write-types nothing is written. The exit code is 0 where nothing is wrong, and 4 where something should be mended first.
    """
    asked, schema = asked_data(data, table, sql, None), Schema.load(schema_file)
    with progress(title="check", quiet=quiet) as step:
        step("reading all rows, without privacy")
        written = write_types(schema_file, asked) if types else {}
        schema = Schema.load(schema_file) if written else schema
        checked = dry_run_tables(asked, schema)
    if types:
        warn(sentence_of(written, schema_file))
    payload = {"data": without_password(data), "schema": str(schema_file), **checked.to_json()}
    payload |= {"types_written": written} if types else {}
    answer(payload, as_json=as_json, show=lambda console: _show(console, checked))
    if checked.faults:
        raise typer.Exit(FAULTS_FOUND)


def _show(console: Console, checked: DryRun) -> None:
    warning = Text(f"NOT PRIVATE. {NOT_PRIVATE}", style="bold red")
    console.print(warning)
    console.print()
    if checked.findings:
        marks = {True: Text("fault", style="red"), False: Text("note", style="dim")}
        rows = [
            (marks[finding.is_fault], Text(finding.column or "-"), Text(_found(finding)), Text(finding.remedy))
            for finding in checked.findings
        ]
        console.print(table_of(("", "column", "found", "remedy"), rows))
        console.print()
    if checked.left_out:
        shown = ", ".join(checked.left_out[:10]) + (", ..." if len(checked.left_out) > 10 else "")
        console.print(f"Not in the schema, so not released: {shown}", markup=False)
    n_faults, n_notes = len(checked.faults), len(checked.findings) - len(checked.faults)
    console.print(f"{checked.rows:,} rows read; faults: {n_faults}, notes: {n_notes}.", style="bold")
    console.print(warning)


def _found(finding: Finding) -> str:
    share = f"{finding.share:.1%}" if finding.share >= 0.001 else "under 0.1%"
    examples = f" ({', '.join(map(repr, finding.examples))})" if finding.examples else ""
    return f"{finding.rows:,} ({share}): {finding.what}{examples}"


def plan(
    schema_file: Annotated[Path, typer.Argument(help="The schema.toml.", metavar="SCHEMA")],
    epsilon: EpsilonIfPrivate = None,
    delta: Delta = None,
    mechanism_name: MechanismName = "auto",
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner", help="Plan the training of a model instead: auto, logistic, scattering, cnn.", metavar="NAME"
        ),
    ] = None,
    settings: Settings = None,
    score: ScoreOption = False,
    ledger: charging.LedgerAddress = None,
    dataset: charging.DatasetOption = None,
    recipient: charging.Recipient = None,
    purpose: charging.Purpose = None,
    periods: charging.PeriodNames = None,
    curve: Annotated[bool, typer.Option("--curve", help="Show the trade-off of alpha as well.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show every access to private rows, its noise, and what to expect of the release. No data is read."""
    schema = Schema.load(schema_file)
    if is_baseline(mechanism_name, non_private=mechanism_name in BASELINES, epsilon=epsilon, delta=delta):
        plan_baseline(chosen_baseline(mechanism_name, schema=schema, settings=settings), as_json=as_json)
        return
    budget = budget_of(needed(epsilon), rows=schema.rows, delta=delta)
    if learner is None:
        mechanism = chosen_mechanism(mechanism_name, schema=schema, settings=settings)
    elif mechanism_name == "auto":
        mechanism = with_settings(learner_for(learner, schema), settings)
    else:
        raise PlanError("--method releases rows and --learner a model. Give one of them.")
    if score and learner is not None:
        raise PlanError(
            "--score is that of a learner of released rows, and --learner releases none. Leave one of them out."
        )
    with progress(title="plan", quiet=quiet) as step:
        step("calibrating the noise")
        planned = plan_release(mechanism, schema, budget)
        scored = expected_score(mechanism, schema, budget) if score else None
        left = (
            None
            if dataset is None
            else left_after(
                planned,
                charging.asked_account(
                    ledger, dataset, recipient=recipient, purpose=purpose, periods=periods, sign=None
                ),
                score=score,
            )
        )

    def show(console: Console) -> None:
        sections = planned.sections(curve=curve)
        if scored is not None:
            sections.append(scored.section)
        if left is not None:
            sections.append(Section(title="Ledger", subtitle=f", {dataset}", before=left.sentences))
        show_remarks(console, planned.warnings)
        console.print("\n" * bool(planned.warnings), end="")
        show_sections(console, sections)
        show_remarks(console, planned.remarks)

    payload = planned.to_json() | ({} if left is None else {"ledger": left.to_json()})
    payload |= {} if scored is None else {"score": scored.to_json()}
    answer(payload, as_json=as_json, show=show)
