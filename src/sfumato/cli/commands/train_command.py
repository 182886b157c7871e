"""sfumato train: from private rows to a folder with a trained model."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.commands.keys_command import PassphraseFile, signing_key
from sfumato.cli.commands.plan_command import Delta, Epsilon
from sfumato.cli.commands.release_command import Force, Seed, describe_release
from sfumato.cli.console import AsJson, Quiet, answer, progress, warn
from sfumato.cli.options import LearnerName, Settings, chosen_learner
from sfumato.cli.refusals import refusing
from sfumato.folder import REPORT, check_target
from sfumato.folder import release as write_release
from sfumato.outlook.planning import plan
from sfumato.outlook.stages import fit_stages
from sfumato.outlook.warnings import verdict_on
from sfumato.private.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.public.schema_file import load_schema
from sfumato.training import train as train_model

_WRITING = "writing the folder"


@refusing
def train(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, npz, an IDX file of images, or a folder of pictures.")],
    schema_file: Annotated[Path, typer.Option("--schema", help="The schema.toml.", metavar="FILE")],
    learner: LearnerName,
    epsilon: Epsilon,
    out: Annotated[Path, typer.Option(help="The folder to make.", metavar="DIR")],
    delta: Delta = None,
    settings: Settings = None,
    seed: Seed = None,
    force: Force = False,
    sign: Annotated[
        Path | None, typer.Option(help="Sign the certificate with this private key (NAME.key).", metavar="FILE")
    ] = None,
    passphrase_file: PassphraseFile = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Train a classifier within the budget, and write it with a certificate. No rows are released."""
    # Whatever can be refused is refused before a row is read.
    check_target(out, force=force)
    key = signing_key(sign, passphrase_file)
    schema = load_schema(schema_file)
    budget = budget_of(epsilon, rows=schema.rows, delta=delta)
    chosen = chosen_learner(learner, settings=settings or ())
    with progress(title="train", quiet=quiet) as step:
        step("calibrating the noise")
        plan(chosen, schema, budget)
    stages = {**fit_stages(chosen, schema, budget), _WRITING: 1}
    with progress(title="train", stages=stages, quiet=quiet) as step:
        trained = train_model(chosen, Sensitive.read(data, schema), budget, seed=seed, on_step=step)
        step(_WRITING)
        written = write_release(trained.fitted, to=out, force=force, sign=key)
    payload = {**describe_release(written), "model": str(out)}
    for sentence in payload["warnings"]:
        warn(sentence)

    def show(console: Console) -> None:
        verdict = verdict_on(payload["warnings"])
        done = "[green]trained[/green]" if verdict is None else "[yellow]trained[/yellow]"
        console.print(f"{done} {escape(learner)}, written to {escape(str(out))}", soft_wrap=True)
        if verdict is not None:
            console.print(f"[yellow]{verdict}[/yellow] ({escape(str(out / REPORT))})", soft_wrap=True)
        console.print(payload["claim"], markup=False)
        for sentence in payload["notes"]:
            console.print(f"note: {sentence}", style="dim", markup=False)
        console.print(f"Predict with it: sfumato predict {out} ROWS --out FILE", markup=False, soft_wrap=True)
        console.print(f"Anyone can check it, without the data: sfumato verify {out}", markup=False, soft_wrap=True)

    answer(payload, as_json=as_json, show=show)
