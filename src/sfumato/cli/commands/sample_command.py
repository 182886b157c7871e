"""sfumato sample and sfumato predict: more rows from a release, and what a trained model says of rows, at no cost."""

import itertools
import os
import zipfile
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer
from rich.console import Console
from rich.markup import escape

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.options import Force, RowsOption, Seed, asked_rows
from sfumato.conditions import Asked
from sfumato.errors import ModelError, ReleaseError
from sfumato.folder.disk import check_file_target, whole_file, whole_folder
from sfumato.folder.releasing import load_release, put_rows
from sfumato.folder.rows import ArrayWriter, CsvWriter, RowsWriter, Sink, TableWriter
from sfumato.mechanism import Learner, mechanism_from
from sfumato.model import Classifier, Synthetic
from sfumato.outlook.row_counts import rows_to_release
from sfumato.pieces import draw_pieces
from sfumato.public.damaged import DAMAGED
from sfumato.training import load_model
from sfumato.verification.verifying import verify as verify_release

_CHECKING, _BUILDING, _DRAWING = "checking the release", "building the model", "drawing and writing rows"
_STAGES = dict.fromkeys((_CHECKING, _BUILDING, _DRAWING), 1)
_TABLES = (".parquet", ".csv")


def sample(
    release: Annotated[Path, typer.Argument(help="A release folder.")],
    out: Annotated[
        Path,
        typer.Option(
            help="The file to make: .parquet or .csv for tables, .npz for images; a folder for several tables."
        ),
    ],
    rows: RowsOption = None,
    where: Annotated[
        str | None,
        typer.Option(help="A condition that all rows fulfil: \"ward = 'icu' and age >= 65\".", metavar="CONDITION"),
    ] = None,
    given: Annotated[
        Path | None,
        typer.Option(help="Public rows that are partly filled (.csv or .parquet): each is completed.", metavar="FILE"),
    ] = None,
    balance: Annotated[
        str | None, typer.Option(help="A column of classes: as many rows of each.", metavar="COLUMN")
    ] = None,
    seed: Seed = None,
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Draw rows from the model that the measurements of a release give. No data needed, no budget spent."""
    asked, filled = asked_rows(rows), None if given is None else _public_rows(given)
    _check_target(out, (*_TABLES, ".npz", ""), force=force)
    drawn_seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed
    with progress(title="sample", stages=_STAGES, quiet=quiet) as step:
        step(_CHECKING)
        verify_release(release, rebuild=False).raise_if_bad()  # a tampered folder gives nobody's rows
        step(_BUILDING)
        released = load_release(release)
        mechanism = mechanism_from(released.certificate.mechanism)
        if isinstance(mechanism, Learner) or isinstance(model := released.model(), Classifier):
            raise ModelError(f"{release} is a trained model, which gives no rows. Use sfumato predict.")
        n_rows = rows_to_release(asked, schema=released.schema, mechanism=mechanism, model=model)
        step(_DRAWING)
        told, pieces = "", draw_pieces(model, n_rows, schema=released.schema, seed=drawn_seed)
        if where is not None or filled is not None or balance is not None:
            part = Asked(where, filled, balance)
            drawn, told = part.rows_of(model, released.schema, n_rows, seed=drawn_seed)
            n_rows, pieces = len(drawn), iter([drawn])
        first = next(pieces)
        _refuse_other_suffix(first, out)
        pieces = itertools.chain([first], pieces)
        if first.tables:
            with whole_folder(out, force=force) as folder:
                put_rows(folder, pieces, n_rows)
        else:
            with whole_file(out) as file, _writer(out, file, n_rows) as writer:
                writer.add_all(pieces)
    payload = {"out": str(out), "rows": n_rows, "seed": drawn_seed, **({"behind": told} if told else {})}
    answer(payload, as_json=as_json, show=lambda console: _show(console, f"{n_rows:,} rows", out, told))


def predict(
    model: Annotated[Path, typer.Argument(help="A folder that sfumato train has made.")],
    data: Annotated[Path, typer.Argument(help="Rows with the columns of the schema; the target may be missing.")],
    out: Annotated[Path, typer.Option(help="The file to make: .csv or .parquet.", metavar="FILE")],
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class of each row, and the probability of every class. No budget is spent."""
    _check_target(out, _TABLES[::-1], force=force)
    with progress(title="predict", quiet=quiet) as step:
        step("checking the model")
        verify_release(model, rebuild=False).raise_if_bad()  # a tampered folder says nothing about anybody
        step("predicting")
        predictions = load_model(model).predict(data)
        step("writing the file")
        with whole_file(out) as file, _writer(out, file, len(predictions)) as writer:
            writer.add(Synthetic(table=predictions))
    payload = {"out": str(out), "rows": len(predictions), "columns": list(predictions.columns)}
    answer(payload, as_json=as_json, show=lambda console: _show(console, f"{len(predictions):,} predictions", out))


def _show(console: Console, what: str, out: Path, told: str = "") -> None:
    console.print(f"[green]wrote[/green] {what} to {escape(str(out))}", soft_wrap=True)
    if told:
        console.print(told, soft_wrap=True)


def _public_rows(path: Path) -> pd.DataFrame:
    """Rows that a person has filled in part. Empty cells are to be drawn."""
    try:
        return pd.read_parquet(path) if path.suffix.lower() == ".parquet" else pd.read_csv(path, dtype=str)
    except FileNotFoundError:
        raise ReleaseError(f"there is no file {path} of given rows.") from None
    except DAMAGED as error:
        raise ReleaseError(f"the given rows in {path} cannot be read ({type(error).__name__}).") from None


def _check_target(out: Path, suffixes: tuple[str, ...], *, force: bool) -> None:
    check_file_target(out, force=force)
    if out.suffix.lower() not in suffixes:
        raise ReleaseError(f"{out} has a suffix that is not known. Use one of {', '.join(filter(None, suffixes))}.")


def _refuse_other_suffix(rows: Synthetic, out: Path) -> None:
    """Refuse a format that cannot hold such rows."""
    if rows.tables and out.suffix:
        raise ReleaseError(f"the release has several tables, and {out} would hold one. Give the name of a folder.")
    if not rows.tables and not out.suffix:
        raise ReleaseError(f"{out} has a suffix that is not known. Use one of {', '.join((*_TABLES, '.npz'))}.")
    is_archive = out.suffix.lower() == ".npz"
    if rows.table is not None and is_archive:
        raise ReleaseError(f"the release is a table, and {out} would hold arrays. Use .parquet or .csv.")
    if rows.table is None and not is_archive:
        raise ReleaseError(f"the release holds images, and {out} would hold a table. Use .npz.")


def _writer(out: Path, file: Sink, n_rows: int) -> RowsWriter:
    """What writes rows in the format of the suffix."""
    if out.suffix.lower() == ".npz":
        return ArrayWriter(file, n_rows, compression=zipfile.ZIP_DEFLATED)
    return (TableWriter if out.suffix.lower() == ".parquet" else CsvWriter)(file)
