"""sfumato release: from private rows to a release folder."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.commands.keys_command import PassphraseFile, signing_key
from sfumato.cli.commands.plan_command import Delta
from sfumato.cli.console import AsJson, Quiet, answer, progress, warn
from sfumato.cli.non_private import (
    EpsilonIfPrivate,
    NonPrivate,
    chosen_baseline,
    is_baseline,
    needed,
    release_baseline,
)
from sfumato.cli.options import MechanismName, RowsOption, Settings, asked_rows, chosen_mechanism
from sfumato.cli.private_page import PrivatePage, PrivateTest, asked_page
from sfumato.cli.refusals import refusing
from sfumato.errors import PlanError
from sfumato.fitting import fit
from sfumato.folder import REPORT, Release, check_target
from sfumato.folder import release as write_release
from sfumato.outlook.planning import plan
from sfumato.outlook.stages import fit_stages
from sfumato.outlook.warnings import verdict_on
from sfumato.private.sensitive import Sensitive
from sfumato.public.budget import budget_of
from sfumato.public.schema_file import load_schema

Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Seed = Annotated[
    int | None, typer.Option(help="Public randomness of the model, not of the noise. Default: fresh.", min=0)
]


_WRITING = "writing the folder"
_COMPARING = "comparing with the private rows, without privacy, for your page"


@refusing
def release(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, npz, an IDX file of images, or a folder of pictures.")],
    schema_file: Annotated[Path, typer.Option("--schema", help="The schema.toml.", metavar="FILE")],
    out: Annotated[Path, typer.Option(help="The folder to make.", metavar="DIR")],
    epsilon: EpsilonIfPrivate = None,
    delta: Delta = None,
    rows: RowsOption = None,
    mechanism_name: MechanismName = "auto",
    settings: Settings = None,
    seed: Seed = None,
    force: Force = False,
    sign: Annotated[
        Path | None, typer.Option(help="Sign the certificate with this private key (NAME.key).", metavar="FILE")
    ] = None,
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
        if sign is not None:
            raise PlanError(f"{mechanism_name} is not private: there is no claim to sign. Leave out --sign.")
        if page is not None or private_test is not None:
            raise PlanError(
                f"--private-page compares a private release, and {mechanism_name} makes none. Leave it out."
            )
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
    last = (_WRITING,) if asked is None else (_WRITING, _COMPARING)
    stages = {**fit_stages(mechanism, schema, budget), **dict.fromkeys(last, 1)}
    with progress(title="release", stages=stages, quiet=quiet) as step:
        fitted = fit(mechanism, Sensitive.read(data, schema), budget, seed=seed, on_step=step)
        step(_WRITING)
        written = write_release(fitted, to=out, rows=n_rows, force=force, sign=key)
        if asked is not None:
            step(_COMPARING)
            asked.write(written, data)
    payload = describe_release(written) | ({} if asked is None else {"private_page": str(asked.page)})
    for sentence in payload["warnings"]:
        warn(sentence if sentence != expected else None)
    warn(None if asked is None else asked.warning)

    def show(console: Console) -> None:
        verdict = verdict_on(payload["warnings"])
        done = "[green]released[/green]" if verdict is None else "[yellow]released[/yellow]"
        console.print(f"{done} {payload['rows']:,} synthetic rows to {escape(str(out))}", soft_wrap=True)
        if verdict is not None:
            console.print(f"[yellow]{verdict}[/yellow] ({escape(str(out / REPORT))})", soft_wrap=True)
        console.print(payload["claim"], markup=False)
        for sentence in payload["notes"]:
            console.print(f"note: {sentence}", style="dim", markup=False)
        for tool, line in list(payload["load"].items())[:1]:  # the report has them all
            console.print(f"Load it into {tool}: {line}", markup=False, soft_wrap=True)
        console.print(f"Anyone can check it, without the data: sfumato verify {out}", markup=False, soft_wrap=True)

    answer(payload, as_json=as_json, show=show)


def describe_release(written: Release) -> dict[str, Any]:
    """The public facts of a release folder, as plain values."""
    certificate = written.certificate
    return {
        "release": str(written.path),
        "status": certificate.status,
        "mechanism": {"name": certificate.mechanism.name, "parameters": certificate.mechanism.parameters},
        "epsilon": certificate.epsilon,
        "delta": certificate.delta,
        "spent_epsilon": certificate.claim.spent_epsilon,
        "accountant": certificate.claim.accountant,
        "claim": certificate.claim.in_words,
        "warnings": list(certificate.warnings),
        "notes": list(certificate.notes),
        "rows": None if certificate.rows is None else written.n_rows,
        "load": {} if certificate.rows is None else written.load_lines(),
        "seed": certificate.seed,
        "files": sorted(file.name for file in written.path.iterdir()),
    }
