"""sfumato audit: what an attacker who knows every row but one can prove against a mechanism."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, Quiet, answer, progress, table_of
from sfumato.cli.options import Delta, Settings, with_settings
from sfumato.cli.refusals import FAULTS_FOUND
from sfumato.errors import PlanError
from sfumato.folder.releasing import load_release
from sfumato.lab.audit.auditing import CONFIDENCE, TRIALS, Audit, audit_mechanism, schema_for, trade_off_file
from sfumato.lab.audit.classwise import NAME, audit_classwise
from sfumato.lab.audit.leaks import Leak, leak_panel
from sfumato.mechanism import Mechanism, mechanism_from, registered
from sfumato.public.budget import Budget, budget_of
from sfumato.public.schema.schema import Schema


def audit(
    method: Annotated[
        str, typer.Argument(help=f"A mechanism's name, a release folder, or {NAME}.", metavar="METHOD|RELEASE")
    ],
    epsilon: Annotated[float | None, typer.Option(help="The epsilon to test; a release has its own.")] = None,
    delta: Delta = None,
    schema_file: Annotated[
        Path | None, typer.Option("--schema", help="A schema.toml. Default: 60,000 rows of a usual kind.")
    ] = None,
    settings: Settings = None,
    trials: Annotated[int, typer.Option(help="Releases in each of the two worlds.", min=100)] = TRIALS,
    confidence: Annotated[float, typer.Option(help="Of the lower bound.", min=0.5, max=0.999999)] = CONFIDENCE,
    leaks: Annotated[bool, typer.Option("--leaks", help="Look for leaks past the noise as well.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the trade-off curve into this SVG file.")] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Attack a mechanism with made-up rows, and say which epsilon that proves. No private rows are read.

    The exit code is 4 where the certificate is refuted.
    """
    panel: list[Leak] = []
    with progress(title="audit", quiet=quiet) as step:
        step(f"{trials} releases with the canary, {trials} without")
        if method == NAME:
            own = budget_of(_needed(epsilon), rows=None, delta=delta)
            found = audit_classwise(own, trials=trials, confidence=confidence)
        else:
            mechanism, schema, budget = _asked(method, epsilon, delta, schema_file=schema_file, settings=settings)
            found = audit_mechanism(mechanism, schema, budget, trials=trials, confidence=confidence)
            if leaks:
                step("leaks")
                panel = leak_panel(mechanism, schema, budget)
    if plot is not None:
        trade_off_file(found, to=plot)
    payload = found.to_json() | ({"leaks": [vars(leak) for leak in panel]} if leaks else {})
    answer(payload, as_json=as_json, show=lambda console: _show(console, found, panel))
    if found.verdict == "refuted" or any(leak.found for leak in panel):
        raise typer.Exit(FAULTS_FOUND)


def _asked(
    method: str, epsilon: float | None, delta: float | None, *, schema_file: Path | None, settings: list[str] | None
) -> tuple[Mechanism, Schema, Budget]:
    """What to audit: a mechanism by its name, or that of a release with its own settings, schema and budget."""
    if Path(method).is_dir():
        if settings or schema_file or epsilon is not None or delta is not None:
            raise PlanError("a release has its own settings, schema and budget. Give the folder alone.")
        release = load_release(Path(method))
        return mechanism_from(release.certificate.mechanism), release.schema, release.certificate.claim.budget
    epsilon, mechanism = _needed(epsilon), with_settings(registered(method)(), settings)
    usual = budget_of(epsilon, rows=None)
    schema = schema_for(mechanism, usual) if schema_file is None else Schema.load(schema_file)
    return mechanism, schema, budget_of(epsilon, rows=schema.rows, delta=delta)


def _needed(epsilon: float | None) -> float:
    if epsilon is None:
        raise PlanError("an audit needs the claim that it puts to the test. Give --epsilon, such as --epsilon 1.")
    return epsilon


def _show(console: Console, found: Audit, panel: list[Leak]) -> None:
    console.print(
        f"[bold]{found.method}[/bold] at epsilon {found.epsilon:g}, delta {found.delta:.2g}, {found.relation}\n"
    )
    sure = f"epsilon, at least (confidence {found.confidence:.6g})"
    rows = (
        (sure, f"{found.lower_bound:.3f}", f"{found.epsilon:.3f}"),
        ("epsilon, at least (confidence 0.95)", f"{found.lower_bound_95:.3f}", ""),
        ("whatever the mechanism, at least", f"{found.direct_bound:.3f}", ""),
        ("right guesses", f"{found.right:.4f}", f"{found.promised_right:.4f}"),
    )
    console.print(table_of(("", "seen", "promised"), rows, numbers=2))
    console.print(f"\n{found.trials} releases in each world, {found.seconds:.0f} s. {found.kind.capitalize()}.")
    for leak in panel:
        console.print(f"{'LEAK' if leak.found else 'ok  '} {leak.name}{': ' + leak.found if leak.found else ''}")
    if found.verdict == "refuted":
        console.print("\nRefuted: these releases tell more than the certificate allows.", style="bold red")
    else:
        console.print("\nHolds: no release told more than the certificate allows. That is no proof that none can.")
