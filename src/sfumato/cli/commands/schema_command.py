"""sfumato schema: a first schema.toml from the structure of a file."""

from typing import Annotated

import typer

from sfumato.cli.console import AsJson, answer
from sfumato.cli.interactive import ask
from sfumato.cli.options import PrivateData
from sfumato.cli.refusals import refusing
from sfumato.private.intake.drafts import draft_of, draft_schema, proposals_for


@refusing
def schema(
    data: PrivateData,
    header: Annotated[
        bool, typer.Option("--header", help="The first line of a CSV file holds names, though it may look like a row.")
    ] = False,
    interactive: Annotated[
        bool, typer.Option("--interactive", "-i", help="Ask for each column of a table, on the terminal.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Print a draft of schema.toml: column names and types, and what names suggest.

    Other bounds and categories are for a person to fill in from public knowledge: no row is looked at.
    """
    if interactive:
        proposals, shown = proposals_for(data, header=header)
        columns, answers = ask(proposals)
        text = draft_of(columns, shown=shown, answers=answers)
    else:
        text = draft_schema(data, header=header)
    payload = {"data": str(data), "schema_toml": text}
    answer(payload, as_json=as_json, show=lambda console: typer.echo(text, nl=not text.endswith("\n")))
