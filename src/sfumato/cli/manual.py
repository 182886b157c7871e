"""The page docs/cli.md, made from the commands themselves: python -m sfumato.cli.manual > docs/cli.md."""

import inspect
import re
from typing import Any

import typer
from typer.main import get_command

from sfumato.cli import app
from sfumato.cli.listing import every_command
from sfumato.cli.refusals import EXIT_CODES

_HEAD = """# The command line

All commands, made from their own help by `python -m sfumato.cli.manual` (`make docs`).

Answers go to stdout; progress, warnings and refusals to stderr. With `--json` stdout holds one JSON object and nothing else
(`bench`: one a line). `--quiet` leaves out the progress. Nothing is half-written: a folder or file is whole or absent.

## Exit codes

| code | meaning |
|---|---|
"""
_SHELL = """
Whatever is not 0 has written nothing. A script that releases every night, and what it does with these codes:
[nightly.sh](../examples/nightly.sh).

## Completion in the shell

`sfumato --install-completion` teaches the shell that you use (bash, zsh, fish, PowerShell) to complete commands and options
with the Tab key; `sfumato --show-completion` prints what it would install.
"""


def manual_page() -> str:
    """The page."""
    pages = [_page(name, command) for name, command in every_command("sfumato", get_command(app))]
    parts = [_HEAD, *(f"| {code} | {what} |\n" for code, what in EXIT_CODES.items()), _SHELL]
    return "".join([*parts, *pages])


def _page(name: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    usage = " ".join([name, *(_value(argument) for argument in arguments), "[OPTIONS]"])
    rows = [f"| `{_spelled(parameter)}` | {_about(parameter)} |" for parameter in shown]
    parts = [f"## {name}", f"`{usage}`", _plain(inspect.cleandoc(command.help or ""))]
    parts += ["\n".join(["| | |", "|---|---|", *rows])] if rows else []
    parts += [f"Example: `{command.epilog.removeprefix('Example: ')}`"] if command.epilog else []
    return "\n" + "\n\n".join(parts) + "\n"


def _spelled(parameter: Any) -> str:
    """An option with its other names and what it takes; an argument by what stands for it."""
    if parameter.param_type_name == "argument":
        return _value(parameter)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {_value(parameter)}"


def _value(parameter: Any) -> str:
    """A bar would end the cell of the table."""
    return str(parameter.metavar or parameter.name.upper()).replace("|", " or ")


def _about(parameter: Any) -> str:
    about, default = _plain(parameter.help or "").replace("|", "\\|"), parameter.default
    if parameter.required:
        return f"{about} Required."
    told = "Default" in about or default is None or default is False or callable(default)
    return about if told else f"{about} Default: {default}."


def _plain(text: str) -> str:
    return re.sub(r"\s*\n\s*(?=\S)", " ", text).replace("<", "&lt;").strip()


if __name__ == "__main__":
    typer.echo(manual_page(), nl=False)
