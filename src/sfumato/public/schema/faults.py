"""All faults of a schema file at once, each with the line that it stands in.

The reader of TOML tells no lines, so they are found by a scan of the text: tables and keys begin lines, where no
bracket and no text of several lines is open.
"""

import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from sfumato.errors import SchemaError

#: Where a fault stands: the names of a section, and of a key in it.
Place = tuple[str, ...]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"""|\'\'\'.*?\'\'\'|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\'|#[^\n]*|[\[\]{}]|\n', re.DOTALL
)
_HEADER = re.compile(r"\s*\[[^\[].*")
#: A table of an array of tables, as each rule is one.
_ENTRY = re.compile(r"\s*\[\[\s*([\w-]+)\s*\]\]", re.ASCII)
_KEY = re.compile(r"""\s*((?:"(?:\\.|[^"\\])*"|'[^']*'|[\w-]+|\s*\.\s*)+)\s*=""", re.ASCII)


class Fault(NamedTuple):
    """A sentence, and where it belongs."""

    place: Place
    sentence: str


class FaultySchema(SchemaError):
    """All faults of a schema file in one sentence each, and one by one with their places."""

    def __init__(self, sentence: str, faults: tuple[Fault, ...]) -> None:
        super().__init__(sentence)
        self.faults = faults


class Faults:
    r"""Faults, collected while a schema is read.

    >>> faults = Faults()
    >>> with faults.at("dataset", "rows"):
    ...     raise SchemaError("rows must be a whole number.")
    >>> faults.refuse("[dataset]\nrows = 'many'", name="schema.toml")
    Traceback (most recent call last):
    sfumato.public.schema.faults.FaultySchema: schema.toml line 2, [dataset]: rows must be a whole number.
    """

    def __init__(self) -> None:
        self.entries: list[Fault] = []

    def add(self, sentence: str, *place: str) -> None:
        """Note a fault."""
        self.entries.append(Fault(place, sentence))

    @contextmanager
    def at(self, *place: str) -> Iterator[None]:
        """A `with` block that keeps the refusal of what is read inside, and goes on after it."""
        try:
            yield
        except SchemaError as error:
            self.add(str(error), *place)

    def refuse(self, text: str, *, name: str) -> None:
        """Raise one error for all of them, in the order of their lines; nothing where there is none."""
        if not self.entries:
            return
        lines = lines_of(text)
        ordered = sorted({(_line(lines, fault.place), _section(fault.place), fault) for fault in self.entries})
        sentences = [f"{f' line {line}' * (line > 0)}{section}: {fault.sentence}" for line, section, fault in ordered]
        several = f" has {len(sentences)} faults:\n " if len(sentences) > 1 else ""
        raise FaultySchema(f"{name}{several}" + "\n ".join(sentences), tuple(fault for _, _, fault in ordered))


def lines_of(text: str) -> dict[Place, int]:
    """The line of every table and key of a text that is valid TOML."""
    entries: dict[Place, int] = {}
    table: Place = ()
    listed: dict[str, int] = {}
    for number, line in _statements(text):
        if entry := _ENTRY.match(line):
            table = (entry[1], str(listed.get(entry[1], 0)))
            listed[entry[1]] = listed.get(entry[1], 0) + 1
            entries.setdefault(table, number)
        elif _HEADER.match(line):
            table = _path(line)
            entries.setdefault(table, number)
        elif key := _KEY.match(line):
            entries.setdefault((*table, *_path(f"{key[1]} = 0")), number)
    return entries


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Each line that begins a statement, with its number."""
    lines = text.split("\n")
    number, depth = 1, 0
    yield 1, lines[0]
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
        elif token[0] in "]}":
            depth -= 1
        else:
            number += token[0].count("\n")
            if token[0] == "\n" and not depth:
                yield number, lines[number - 1]


def _path(statement: str) -> Place:
    try:
        tree = tomllib.loads(statement)
    except tomllib.TOMLDecodeError:  # a table in an array of tables, which no schema has
        return ()
    names = []
    while isinstance(tree, dict) and tree:
        name, tree = next(iter(tree.items()))
        names.append(name)
    return tuple(names)


def _line(lines: dict[Place, int], place: Place) -> int:
    """The line of the place, or of what it lies in; 0 where that is the whole text."""
    return next((lines[place[:n]] for n in range(len(place), 0, -1) if place[:n] in lines), 0)


def _section(place: Place) -> str:
    """How the section of a place is written: [columns.age], [tables.visits.columns.day], or [dataset]."""
    if place[:1] == ("rules",):
        return f", [[rules]] {int(place[1]) + 1}" if len(place) > 1 else ", [[rules]]"
    deep = {"columns": 2, "lookups": 2, "tables": 4 if place[2:3] == ("columns",) else 2}
    names = place[: deep.get(place[0], 1)] if place else ()
    return f", [{'.'.join(names)}]" if names else ""
