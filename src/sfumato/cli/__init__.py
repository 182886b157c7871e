"""The command line: demo, schema, plan, release, sample, train, predict, methods, verify, keys, account, data, bench, study."""

import typer
from typer.main import get_command

from sfumato.cli.commands.account_command import account
from sfumato.cli.commands.bench_command import bench
from sfumato.cli.commands.data_command import data
from sfumato.cli.commands.demo_command import demo
from sfumato.cli.commands.keys_command import keys
from sfumato.cli.commands.methods_command import methods
from sfumato.cli.commands.plan_command import plan
from sfumato.cli.commands.predict_command import predict
from sfumato.cli.commands.release_command import release
from sfumato.cli.commands.sample_command import sample
from sfumato.cli.commands.schema_command import schema
from sfumato.cli.commands.study_command import study
from sfumato.cli.commands.train_command import train
from sfumato.cli.commands.verify_command import verify
from sfumato.cli.refusals import stop_cleanly, withhold_details

__all__ = ["app", "main"]

app = typer.Typer(
    name="sfumato",
    help="Release a private dataset as a differentially private one that models can be trained on.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,
)

app.command(epilog="Example: sfumato demo --out demo-release")(demo)
app.command(epilog="Example: sfumato schema patients.csv > schema.toml")(schema)
app.command(epilog="Example: sfumato plan schema.toml --epsilon 1")(plan)
app.command(epilog="Example: sfumato release patients.csv --schema schema.toml --epsilon 1 --out release")(release)
app.command(epilog="Example: sfumato sample release -n 100000 --out more.parquet")(sample)
app.command(
    epilog="Example: sfumato train patients.csv --schema schema.toml --learner logistic --epsilon 1 --out model"
)(train)
app.command(epilog="Example: sfumato predict model new-patients.csv --out predictions.csv")(predict)
app.command(epilog="Example: sfumato methods --json")(methods)
app.command(epilog="Example: sfumato verify release --signer statistics-office.pub")(verify)
app.command(epilog="Example: SFUMATO_DATA=~/datasets sfumato bench adult --epsilon 1 --learner lightgbm --seeds 5")(
    bench
)
app.command(epilog="Example: SFUMATO_DATA=~/datasets sfumato study dpmix-thesis --quick --out study")(study)
app.add_typer(keys, name="keys")
app.add_typer(account, name="account")
app.add_typer(data, name="data")


def main() -> None:
    """The entry point of the `sfumato` command."""
    withhold_details()
    stop_cleanly()
    # Not app(): that would put typer's own exception hook, which shows messages, in the place of ours.
    get_command(app)(prog_name="sfumato")
