"""The command line: one command for each thing that a person may want to do."""

from typing import Annotated

import typer
from typer.main import get_command

from sfumato import __version__
from sfumato.cli.listing import Listed, Listing
from sfumato.cli.refusals import EXIT_CODES, stop_cleanly, withhold_details

__all__ = ["app", "main"]

_COMMANDS = {
    "demo": Listed("demo_command", "sfumato demo --out demo-release"),
    "schema": Listed("schema_command", "sfumato schema patients.csv --out schema.toml"),
    "check": Listed("schema_command", "sfumato check patients.csv --schema schema.toml"),
    "plan": Listed("schema_command", "sfumato plan schema.toml --epsilon 1"),
    "release": Listed("release_command", "sfumato release patients.csv --schema schema.toml --epsilon 1 --out release"),
    "studio": Listed("studio_command", "sfumato studio ~/data --ledger sqlite:///ledger.db"),
    "sample": Listed("sample_command", "sfumato sample release -n 100000 --out more.parquet"),
    "ask": Listed("ask_command", "sfumato ask release 'mean(income) by region where age >= 65'"),
    "train": Listed(
        "release_command", "sfumato train patients.csv --schema schema.toml --learner logistic --epsilon 1 --out model"
    ),
    "predict": Listed("sample_command", "sfumato predict model new-patients.csv --out predictions.csv"),
    "methods": Listed("methods_command", "sfumato methods --json"),
    "verify": Listed("keys_command", "sfumato verify release --signer statistics-office.pub"),
    "assess": Listed(
        "assess_command", "sfumato assess release --private patients.csv --test other-patients.csv --out assessment"
    ),
    "doctor": Listed(
        "doctor_command",
        "sfumato doctor --real patients.csv --synthetic theirs.csv --holdout other-patients.csv --tool synthcity",
    ),
    "bench": Listed(
        "bench_command", "SFUMATO_DATA=~/datasets sfumato bench adult --epsilon 1 --learner lightgbm --seeds 5"
    ),
    "audit": Listed("audit_command", "sfumato audit dpmix --epsilon 1 --plot trade-off.svg"),
    "study": Listed("study_command", "SFUMATO_DATA=~/datasets sfumato study dpmix-thesis --quick --out study"),
    "keys": Listed("keys_command", group="Keys to sign releases with."),
    "account": Listed("account_command", group="Epsilon of a configuration, by every accountant that applies."),
    "ledger": Listed("ledger_command", group="What all releases of a dataset cost together, and the policy for them."),
    "data": Listed("methods_command", group="Benchmark datasets that are known by name."),
}


class _Commands(Listing):
    listed = _COMMANDS


app = typer.Typer(
    name="sfumato",
    cls=_Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
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


def main() -> None:
    """The entry point of the `sfumato` command."""
    withhold_details()
    stop_cleanly()
    # Not app(): that would put typer's own exception hook, which shows messages, in the place of ours.
    get_command(app)(prog_name="sfumato")
