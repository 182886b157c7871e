"""The command line: one command for each thing that a person may want to do."""

from collections.abc import Callable
from typing import Annotated

import typer
from typer.main import get_command

from sfumato import __version__
from sfumato.cli.commands.account_command import account
from sfumato.cli.commands.assess_command import assess
from sfumato.cli.commands.audit_command import audit
from sfumato.cli.commands.bench_command import bench
from sfumato.cli.commands.demo_command import demo
from sfumato.cli.commands.doctor_command import doctor
from sfumato.cli.commands.keys_command import keys, verify
from sfumato.cli.commands.ledger_command import ledger
from sfumato.cli.commands.methods_command import data, methods
from sfumato.cli.commands.release_command import release, train
from sfumato.cli.commands.sample_command import predict, sample
from sfumato.cli.commands.schema_command import check, plan, schema
from sfumato.cli.commands.study_command import study
from sfumato.cli.refusals import EXIT_CODES, refusing, stop_cleanly, withhold_details

__all__ = ["app", "main"]

app = typer.Typer(
    name="sfumato", no_args_is_help=True, pretty_exceptions_enable=False, pretty_exceptions_show_locals=False
)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"sfumato {__version__}")
        raise typer.Exit


@app.callback(epilog=f"Exit codes: {', '.join(f'{code} {what}' for code, what in EXIT_CODES.items())}.")
def _every_command(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Release a private dataset as a differentially private one that models can be trained on."""


_EXAMPLES: dict[Callable[..., None], str] = {
    demo: "sfumato demo --out demo-release",
    schema: "sfumato schema patients.csv > schema.toml",
    check: "sfumato check patients.csv --schema schema.toml",
    plan: "sfumato plan schema.toml --epsilon 1",
    release: "sfumato release patients.csv --schema schema.toml --epsilon 1 --out release",
    sample: "sfumato sample release -n 100000 --out more.parquet",
    train: "sfumato train patients.csv --schema schema.toml --learner logistic --epsilon 1 --out model",
    predict: "sfumato predict model new-patients.csv --out predictions.csv",
    methods: "sfumato methods --json",
    verify: "sfumato verify release --signer statistics-office.pub",
    assess: "sfumato assess release --private patients.csv --test other-patients.csv --out assessment",
    doctor: "sfumato doctor --real patients.csv --synthetic theirs.csv --holdout other-patients.csv --tool synthcity",
    bench: "SFUMATO_DATA=~/datasets sfumato bench adult --epsilon 1 --learner lightgbm --seeds 5",
    audit: "sfumato audit dpmix --epsilon 1 --plot trade-off.svg",
    study: "SFUMATO_DATA=~/datasets sfumato study dpmix-thesis --quick --out study",
}
for command, example in _EXAMPLES.items():
    app.command(epilog=f"Example: {example}")(refusing(command))
app.add_typer(keys, name="keys")
app.add_typer(account, name="account")
app.add_typer(data, name="data")
app.add_typer(ledger, name="ledger")


def main() -> None:
    """The entry point of the `sfumato` command."""
    withhold_details()
    stop_cleanly()
    # Not app(): that would put typer's own exception hook, which shows messages, in the place of ours.
    get_command(app)(prog_name="sfumato")
