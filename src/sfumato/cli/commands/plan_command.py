"""sfumato plan: every access to private rows and its noise, before any row is read."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.non_private import EpsilonIfPrivate, chosen_baseline, is_baseline, needed, plan_baseline
from sfumato.cli.options import Delta, MechanismName, Settings, chosen_learner, chosen_mechanism
from sfumato.cli.refusals import refusing
from sfumato.cli.written import show_remarks, show_sections
from sfumato.errors import PlanError
from sfumato.outlook.planning import plan as plan_release
from sfumato.public.budget import budget_of
from sfumato.public.certificate.non_private import BASELINES
from sfumato.public.schema.schema_file import load_schema


@refusing
def plan(
    schema_file: Annotated[Path, typer.Argument(help="The schema.toml.", metavar="SCHEMA")],
    epsilon: EpsilonIfPrivate = None,
    delta: Delta = None,
    mechanism_name: MechanismName = "auto",
    learner: Annotated[
        str | None,
        typer.Option(
            "--learner", help="Plan the training of a model instead: logistic, scattering, cnn.", metavar="NAME"
        ),
    ] = None,
    settings: Settings = None,
    curve: Annotated[bool, typer.Option("--curve", help="Show the trade-off of alpha as well.")] = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Show every access to private rows, its noise, and what to expect of the release. No data is read."""
    schema = load_schema(schema_file)
    if is_baseline(mechanism_name, non_private=mechanism_name in BASELINES, epsilon=epsilon, delta=delta):
        plan_baseline(chosen_baseline(mechanism_name, schema=schema, settings=settings or ()), as_json=as_json)
        return
    budget = budget_of(needed(epsilon), rows=schema.rows, delta=delta)
    if learner is None:
        mechanism = chosen_mechanism(mechanism_name, schema=schema, settings=settings or ())
    elif mechanism_name == "auto":
        mechanism = chosen_learner(learner, settings=settings or ())
    else:
        raise PlanError("--method releases rows and --learner a model. Give one of them.")
    with progress(title="plan", quiet=quiet) as step:
        step("calibrating the noise")
        planned = plan_release(mechanism, schema, budget)

    def show(console: Console) -> None:
        show_sections(console, planned.sections(curve=curve))
        show_remarks(console, planned.remarks)

    answer(planned.to_json(), as_json=as_json, show=show)
