"""sfumato predict: what a trained model says of rows, at no cost."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from sfumato.cli.console import AsJson, Quiet, answer, progress
from sfumato.cli.options import Force
from sfumato.cli.refusals import refusing
from sfumato.errors import ReleaseError
from sfumato.folder.disk import check_file_target, whole_file
from sfumato.training import load_model
from sfumato.verification.verifying import verify as verify_release

SUFFIXES = (".csv", ".parquet")


@refusing
def predict(
    model: Annotated[Path, typer.Argument(help="A folder that sfumato train has made.")],
    data: Annotated[Path, typer.Argument(help="Rows with the columns of the schema; the target may be missing.")],
    out: Annotated[Path, typer.Option(help="The file to make: .csv or .parquet.", metavar="FILE")],
    force: Force = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Predict the class of each row, and the probability of every class. No budget is spent."""
    check_file_target(out, force=force)
    if out.suffix.lower() not in SUFFIXES:
        raise ReleaseError(f"{out} has a suffix that is not known. Use one of {', '.join(SUFFIXES)}.")
    with progress(title="predict", quiet=quiet) as step:
        step("checking the model")
        verify_release(model, rebuild=False).raise_if_bad()  # a tampered folder says nothing about anybody
        step("predicting")
        predictions = load_model(model).predict(data)
        step("writing the file")
        with whole_file(out) as file:
            if out.suffix.lower() == ".parquet":
                predictions.to_parquet(file, index=False)
            else:
                predictions.to_csv(file, index=False)
    payload = {"out": str(out), "rows": len(predictions), "columns": list(predictions.columns)}
    answer(
        payload,
        as_json=as_json,
        show=lambda console: console.print(
            f"[green]wrote[/green] {len(predictions):,} predictions to {escape(str(out))}", soft_wrap=True
        ),
    )
