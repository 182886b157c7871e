"""sfumato release: from private rows to a release folder."""

from rich.console import Console
from rich.markup import escape

from sfumato.cli.commands.keys_command import signing_key
from sfumato.cli.console import AsJson, Quiet, answer, progress, warn
from sfumato.cli.non_private import (
    EpsilonIfPrivate,
    NonPrivate,
    chosen_baseline,
    is_baseline,
    needed,
    refuse_beside_baseline,
    release_baseline,
)
from sfumato.cli.options import (
    Delta,
    Force,
    MechanismName,
    NewFolder,
    PassphraseFile,
    PrivateData,
    RowsOption,
    SchemaFile,
    Seed,
    Settings,
    SignWith,
    asked_rows,
)
from sfumato.cli.private_page import PrivatePage, PrivateTest, asked_page
from sfumato.cli.refusals import refusing
from sfumato.cli.settings import chosen_mechanism
from sfumato.cli.written import WRITING, describe_release, how_to_check, show_written
from sfumato.fitting import fit
from sfumato.folder.releasing import check_target
from sfumato.folder.releasing import release as write_release
from sfumato.outlook.planning import plan
from sfumato.outlook.stages import fit_stages
from sfumato.private.intake.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.public.schema.schema_file import load_schema

_COMPARING = "comparing with the private rows, without privacy, for your page"


@refusing
def release(
    data: PrivateData,
    schema_file: SchemaFile,
    out: NewFolder,
    epsilon: EpsilonIfPrivate = None,
    delta: Delta = None,
    rows: RowsOption = None,
    mechanism_name: MechanismName = "auto",
    settings: Settings = None,
    seed: Seed = None,
    force: Force = False,
    sign: SignWith = None,
    passphrase_file: PassphraseFile = None,
    page: PrivatePage = None,
    private_test: PrivateTest = None,
    non_private: NonPrivate = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Measure private rows within the budget, and write synthetic ones with a certificate."""
    # Whatever can be refused is refused before a row is read.
    n_rows = asked_rows(rows)
    if is_baseline(mechanism_name, non_private=non_private, epsilon=epsilon, delta=delta):
        refuse_beside_baseline(mechanism_name, sign=sign, page=page or private_test)
        schema = load_schema(schema_file)
        baseline = chosen_baseline(mechanism_name, schema=schema, settings=settings or ())
        release_baseline(
            baseline, data, schema, out=out, rows=n_rows, seed=seed, force=force, quiet=quiet, as_json=as_json
        )
        return
    check_target(out, force=force)
    key = signing_key(sign, passphrase_file)
    schema = load_schema(schema_file)
    asked = asked_page(page, private_test, out=out, schema=schema, force=force)
    budget = budget_of(needed(epsilon), rows=schema.rows, delta=delta)
    mechanism = chosen_mechanism(mechanism_name, schema=schema, settings=settings or ())
    with progress(title="release", quiet=quiet) as step:
        step("calibrating the noise")
        expected = plan(mechanism, schema, budget).warning
    warn(expected)  # before any budget is spent
    last = (WRITING,) if asked is None else (WRITING, _COMPARING)
    stages = {**fit_stages(mechanism, schema, budget), **dict.fromkeys(last, 1)}
    with progress(title="release", stages=stages, quiet=quiet) as step:
        fitted = fit(mechanism, Sensitive.read(data, schema), budget, seed=seed, on_step=step)
        step(WRITING)
        written = write_release(fitted, to=out, rows=n_rows, force=force, sign=key)
        if asked is not None:
            step(_COMPARING)
            asked.write(written, data)
    payload = describe_release(written) | ({} if asked is None else {"private_page": str(asked.page)})
    for sentence in payload["warnings"]:
        warn(sentence if sentence != expected else None)
    warn(None if asked is None else asked.warning)

    def show(console: Console) -> None:
        what = f"{payload['rows']:,} synthetic rows to {escape(str(out))}"
        show_written(console, payload, done="released", what=what, out=out)
        for tool, line in list(payload["load"].items())[:1]:  # the report has them all
            console.print(f"Load it into {tool}: {line}", markup=False, soft_wrap=True)
        console.print(how_to_check(out), markup=False, soft_wrap=True)

    answer(payload, as_json=as_json, show=show)
