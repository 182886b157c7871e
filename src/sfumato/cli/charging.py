"""The ledger on the command line: the options that say what is charged, and the account that they mean."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.errors import LedgerError
from sfumato.folder.signing import SigningKey
from sfumato.ledger.booking import account_of

if TYPE_CHECKING:
    from sfumato.ledger.accounts import Account
    from sfumato.ledger.ledger import Ledger

LedgerAddress = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        help="The ledger: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
        metavar="URL",
        envvar="SFUMATO_LEDGER",
    ),
]
DatasetOption = Annotated[
    str | None, typer.Option("--dataset", help="The name of these rows in the ledger.", metavar="NAME")
]
Recipient = Annotated[
    str | None, typer.Option("--recipient", help="Who is given the release, for the ledger's policy.", metavar="NAME")
]
Purpose = Annotated[
    str | None, typer.Option("--purpose", help="What it is for, for the ledger's policy.", metavar="NAME")
]
PeriodNames = Annotated[
    list[str] | None,
    typer.Option(
        "--period",
        help="A period whose rows are read, where the ledger counts by periods. May be repeated.",
        metavar="NAME",
    ),
]


def asked_account(
    ledger: str | None,
    dataset: str | None,
    *,
    recipient: str | None,
    purpose: str | None,
    periods: Sequence[str] | None,
    sign: SigningKey | None,
) -> "Account | None":
    """The account that is charged, where a ledger is named. Its signature is that of the certificate."""
    if ledger is None or dataset is None:
        account_of(ledger, dataset)  # says what is missing
        if recipient is not None or purpose is not None or periods:
            raise LedgerError(
                "--recipient, --purpose and --period are for a ledger. Name it: --ledger URL --dataset NAME."
            )
        return None
    return open_ledger(ledger).dataset(
        dataset, recipient=recipient, purpose=purpose, periods=tuple(periods or ()), sign=sign
    )


def open_ledger(url: str | None) -> "Ledger":
    """The ledger at an address. Its libraries are imported where one is asked for, and not before."""
    from sfumato.ledger.ledger import Ledger

    return Ledger(url)


def make_ledger(url: str, *, sign: SigningKey | None) -> "Ledger":
    """A new one."""
    from sfumato.ledger.ledger import Ledger

    return Ledger.create(url, sign=sign)
