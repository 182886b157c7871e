"""Options that several commands share, in the same words, and settings of a mechanism from `--set mixtures=500`."""

import dataclasses
import types
import typing
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

import typer

from sfumato.errors import ModelError, PlanError, SourceError
from sfumato.mechanism import Mechanism, mechanism_for, refuse_learner
from sfumato.model import check_row_count
from sfumato.outlook.row_counts import AskedRows
from sfumato.private.intake.query import Query
from sfumato.public.schema.schema import Schema

PrivateData = Annotated[
    str,
    typer.Argument(
        help="CSV, Parquet, npz, an IDX file of images, a folder of tables or of pictures, a pattern in quotes "
        "('visits/*.parquet'), a URL (s3://...), or a database with --table or --query."
    ),
]
Table = Annotated[str | None, typer.Option("--table", help="The table of a database.", metavar="NAME")]
Select = Annotated[
    str | None, typer.Option("--query", help="Rows of a database: one SELECT that writes nothing.", metavar="SQL")
]
OrderBy = Annotated[
    list[str] | None,
    typer.Option(
        "--order-by",
        help="A column that gives the rows of a database their order, as its primary key. May be repeated. Default: all.",
        metavar="NAME",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where rows are kept and added up: local (all cores of this machine), local:2, dask, dask:tcp://HOST:8786, "
        "spark, spark:MASTER. The measurements are the same on all.",
        metavar="NAME",
    ),
]
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
    str, typer.Option("--learner", help="auto, logistic (tables), scattering or cnn (images).", metavar="NAME")
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="A setting of the mechanism, such as mixtures=500. May be repeated.", metavar="KEY=VALUE"
    ),
]

ScoreOption = Annotated[
    bool,
    typer.Option(
        "--score",
        help="Set a tenth of the rows apart, and tell how well a learner of the synthetic rows predicts them. Costs no epsilon.",
    ),
]
RowsOption = Annotated[
    str | None,
    typer.Option(
        "--rows",
        "-n",
        help="Synthetic rows: a number, or many, as many as are recommended for training. Default: as many as declared; of pictures more.",
        metavar="N|many",
    ),
]


def asked_data(data: str, table: str | None, sql: str | None, order_by: Sequence[str] | None) -> str | Query:
    """Where the rows lie: as it was said, or a query of a database."""
    if table is None and sql is None:
        if order_by:
            raise SourceError("--order-by gives an order to the rows of a database. Say which: --table or --query.")
        return data
    return Query(data, sql, table=table, order_by=tuple(order_by or ()))


def asked_rows(text: str | None) -> AskedRows:
    """What was asked for."""
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


M = TypeVar("M")


def chosen_mechanism(name: str, *, schema: Schema, settings: Sequence[str] | None) -> Mechanism:
    """The mechanism of that name with some of its settings replaced."""
    mechanism = mechanism_for(name, schema)
    refuse_learner(mechanism)
    return with_settings(mechanism, settings)


def with_settings(mechanism: M, settings: Sequence[str] | None) -> M:
    """The same with some of its settings replaced."""
    fields: Any = mechanism
    if not settings:
        return mechanism
    hints = typing.get_type_hints(type(mechanism))
    # Groups of settings are for Python.
    known = {field.name for field in dataclasses.fields(fields) if not dataclasses.is_dataclass(hints[field.name])}
    changed: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not known:
            raise PlanError(f"{fields.name} has no settings. Leave out --set {setting}.")
        if not equals or key not in known:
            raise PlanError(
                f"{setting!r} is no setting of {fields.name}. Write KEY=VALUE; known: {', '.join(sorted(known))}."
            )
        changed[key] = _parse(text, hints[key], key=key)
    return cast(M, dataclasses.replace(fields, **changed))


def _parse(text: str, kind: Any, *, key: str) -> Any:
    """Read a value by the type of its field."""
    options = typing.get_args(kind)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        if type(None) in options and text.lower() == "none":
            return None
        return _parse(text, next(option for option in options if option is not type(None)), key=key)
    if typing.get_origin(kind) is Literal:
        if text not in options:
            raise PlanError(f"{key} = {text!r} must be one of {', '.join(map(str, options))}.")
        return text
    if kind is bool:
        if text.lower() not in ("true", "false"):
            raise PlanError(f"{key} = {text!r} must be true or false.")
        return text.lower() == "true"
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise PlanError(f"{key} = {text!r} must be {what}.") from None
    if kind is str:
        return text
    raise PlanError(f"{key} cannot be set from the command line. Set it in Python.")
