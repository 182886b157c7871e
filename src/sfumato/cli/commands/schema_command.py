"""sfumato schema: a first schema.toml from the structure of a file."""

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import AsJson, answer
from sfumato.cli.refusals import refusing
from sfumato.private.intake.drafts import draft_schema


@refusing
def schema(
    data: Annotated[Path, typer.Argument(help="CSV, Parquet, npz, an IDX file of images, or a folder of pictures.")],
    header: Annotated[
        bool, typer.Option("--header", help="The first line of a CSV file holds names, though it may look like a row.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a draft of schema.toml: column names and types.

    Bounds and categories are for a person to fill in from public knowledge: no row is looked at.
    """
    text = draft_schema(data, header=header)
    payload = {"data": str(data), "schema_toml": text}
    answer(payload, as_json=as_json, show=lambda console: typer.echo(text, nl=not text.endswith("\n")))
