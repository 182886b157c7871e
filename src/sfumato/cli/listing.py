"""A list of commands whose modules are imported when one of them runs: its help needs no more than their docstrings."""

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from sfumato.cli.refusals import refusing
from sfumato.public.spelling import did_you_mean

_HERE = Path(__file__).parent


@dataclass(frozen=True)
class Listed:
    """A function of a module under `commands/` with an example of its use, or a group of commands with its help."""

    module: str
    example: str = ""
    group: str = ""

    def help_of(self, name: str) -> str:
        """The docstring, read from the source: importing a module may take seconds."""
        if self.group:
            return self.group
        source = ast.parse((_HERE / "commands" / f"{self.module}.py").read_text(encoding="utf-8"))
        found = next(node for node in source.body if isinstance(node, ast.FunctionDef) and node.name == name)
        return inspect.cleandoc(ast.get_docstring(found) or "")

    def loaded(self, name: str) -> Any:
        """The command itself, its module imported."""
        found = getattr(import_module(f"sfumato.cli.commands.{self.module}"), name)
        if self.group:
            return get_group(found)
        alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, pretty_exceptions_show_locals=False)
        alone.command(name=name, epilog=f"Example: {self.example}")(refusing(found))
        return get_command(alone)


class Listing(TyperGroup):
    """Shows commands by their docstrings, and imports the one that is asked for."""

    listed: Mapping[str, Listed]

    @cached_property
    def _loaded(self) -> dict[str, Any]:
        return {}

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of a first day."""
        return list(self.listed)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """What the help shows of a command."""
        if cmd_name not in self.listed:
            return None
        return TyperCommand(name=cmd_name, help=self.listed[cmd_name].help_of(cmd_name))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that runs; a misspelt one is answered with the nearest."""
        if args and args[0] in self.listed:
            return args[0], self.load(args[0]), args[1:]
        if args and not args[0].startswith("-"):
            near = did_you_mean(args[0], self.listed)
            ctx.fail(f"No such command {args[0]!r}.{near}")
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> Any:
        """A command, imported."""
        if name not in self._loaded:
            self._loaded[name] = self.listed[name].loaded(name)
        return self._loaded[name]


def every_command(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    """A command after its whole name, or each one of a group."""
    if isinstance(command, Listing):
        inner = {name: command.load(name) for name in command.listed}
    elif hasattr(command, "commands"):
        inner = command.commands
    else:
        yield name, command
        return
    for below in sorted(inner):
        yield from every_command(f"{name} {below}", inner[below])
