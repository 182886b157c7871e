"""The options that several commands share, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.errors import ModelError
from sfumato.model import check_row_count
from sfumato.outlook.row_counts import AskedRows

PrivateData = Annotated[Path, typer.Argument(help="CSV, Parquet, npz, an IDX file of images, or a folder of pictures.")]
SchemaFile = Annotated[Path, typer.Option("--schema", help="The schema.toml.", metavar="FILE")]
NewFolder = Annotated[Path, typer.Option(help="The folder to make.", metavar="DIR")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Epsilon = Annotated[float, typer.Option(help="How much may leak. 1 is a usual choice.")]
Delta = Annotated[
    float | None, typer.Option(help="The probability of an exception. Default: 1e-6, or a tenth of 1/rows if smaller.")
]
Seed = Annotated[
    int | None, typer.Option(help="Public randomness of the model, not of the noise. Default: fresh.", min=0)
]
SignWith = Annotated[
    Path | None, typer.Option(help="Sign the certificate with this private key (NAME.key).", metavar="FILE")
]
PassphraseFile = Annotated[
    Path | None,
    typer.Option("--passphrase-file", help="A file whose first line is the passphrase of the key.", metavar="FILE"),
]
MechanismName = Annotated[
    str,
    typer.Option(
        "--method",
        help="auto, 3a-table, moments, 3a-image, aim, mst, privbayes, clustmix, dpmix, independent-histograms, local-reports, "
        "dp-pro, or another registered one.",
        metavar="NAME",
    ),
]
LearnerName = Annotated[
    str, typer.Option("--learner", help="logistic (tables), scattering or cnn (images).", metavar="NAME")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting of the mechanism, such as mixtures=500. May be repeated.", metavar="KEY=VALUE"
    ),
]

RowsOption = Annotated[
    str | None,
    typer.Option(
        "--rows",
        "-n",
        help="Synthetic rows: a number, or many, as many as are recommended for training. Default: as many as declared.",
        metavar="N|many",
    ),
]


def asked_rows(text: str | None) -> AskedRows:
    """What was asked for.

    >>> asked_rows("500"), asked_rows("many"), asked_rows(None)
    (500, 'many', None)
    """
    if text is None:
        return None
    if text == "many":
        return "many"
    try:
        rows = int(text)
    except ValueError:
        raise ModelError(f"--rows {text} must be a whole number, or many.") from None
    check_row_count(rows)
    return rows
