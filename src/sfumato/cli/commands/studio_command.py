"""sfumato studio: a page on this machine that leads from a file to a verified release."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.console import answers, warn
from sfumato.errors import MissingLibraryError, SfumatoError


def studio(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Folders whose files may be used, and nothing else. Default: this one.", metavar="FOLDER..."
        ),
    ] = None,
    port: Annotated[int, typer.Option(help="The port to listen on. 0: any that is free.", min=0, max=65535)] = 8471,
    host: Annotated[
        str,
        typer.Option(help="The address to listen on. Others than this machine's own are warned of.", metavar="ADDRESS"),
    ] = "127.0.0.1",
    state: Annotated[
        Path | None, typer.Option(help="Where projects are kept. Default: ~/.local/state/sfumato/studio", metavar="DIR")
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    # As the other commands have it; their own one would import the mathematics of accounts, and take seconds.
    ledger: Annotated[
        str | None,
        typer.Option(
            help="The ledger: sqlite:///FILE or postgresql://USER@HOST/DATABASE.",
            metavar="URL",
            envvar="SFUMATO_LEDGER",
        ),
    ] = None,
) -> None:
    """Open a page on this machine that leads from a file to a verified release.

    It is reached by this machine alone, and by whoever has the address that is printed, which works once.
    """
    if os.name != "posix":
        raise SfumatoError("the studio needs Linux or macOS. On Windows, run it in WSL.")
    try:
        from sfumato.studio.context import new_studio
        from sfumato.studio.server.serving import is_loopback, serve, state_folder
    except ModuleNotFoundError as error:
        raise MissingLibraryError(
            f"the studio needs {error.name}, which is not installed. Install it: pip install 'sfumato[studio]'"
        ) from None
    roots = folders or [Path.cwd()]
    for root in roots:
        if not root.is_dir():
            raise SfumatoError(f"there is no folder {root}. Name folders whose files may be used.")
    if not is_loopback(host):
        warn(
            f"{host} can be reached from other machines, and what they send and read is not encrypted. Whoever sees the address below "
            "first sees private files. Use it behind an encrypted tunnel alone."
        )

    def say(address: str) -> None:
        console = answers()
        console.print(f"The studio is at {address}", markup=False, soft_wrap=True)
        console.print("The address works once. Ctrl-C ends the studio; a release that runs goes on.", style="dim")

    opened = new_studio(roots, state=state or state_folder(), ledger=ledger or "")
    serve(opened, host=host, port=port, browser=browser, say=say)
