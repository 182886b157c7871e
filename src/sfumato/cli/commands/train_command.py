"""sfumato train: from private rows to a folder with a trained model."""

from rich.console import Console
from rich.markup import escape

from sfumato.cli.commands.keys_command import signing_key
from sfumato.cli.console import AsJson, Quiet, answer, progress, warn
from sfumato.cli.options import (
    Delta,
    Epsilon,
    Force,
    LearnerName,
    NewFolder,
    PassphraseFile,
    PrivateData,
    SchemaFile,
    Seed,
    Settings,
    SignWith,
)
from sfumato.cli.refusals import refusing
from sfumato.cli.settings import chosen_learner
from sfumato.cli.written import WRITING, describe_release, how_to_check, show_written
from sfumato.folder.releasing import check_target
from sfumato.folder.releasing import release as write_release
from sfumato.outlook.planning import plan
from sfumato.outlook.stages import fit_stages
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.public.schema.schema_file import load_schema
from sfumato.training import train as train_model


@refusing
def train(
    data: PrivateData,
    schema_file: SchemaFile,
    learner: LearnerName,
    epsilon: Epsilon,
    out: NewFolder,
    delta: Delta = None,
    settings: Settings = None,
    seed: Seed = None,
    force: Force = False,
    sign: SignWith = None,
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
    stages = {**fit_stages(chosen, schema, budget), WRITING: 1}
    with progress(title="train", stages=stages, quiet=quiet) as step:
        trained = train_model(chosen, Sensitive.read(data, schema), budget, seed=seed, on_step=step)
        step(WRITING)
        written = write_release(trained.fitted, to=out, force=force, sign=key)
    payload = {**describe_release(written), "model": str(out)}
    for sentence in payload["warnings"]:
        warn(sentence)

    def show(console: Console) -> None:
        what = f"{escape(learner)}, written to {escape(str(out))}"
        show_written(console, payload, done="trained", what=what, out=out)
        console.print(f"Predict with it: sfumato predict {out} ROWS --out FILE", markup=False, soft_wrap=True)
        console.print(how_to_check(out), markup=False, soft_wrap=True)

    answer(payload, as_json=as_json, show=show)
