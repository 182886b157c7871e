"""A question as a person writes it: mean(income) by region where age >= 65."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.expressions.domains import TRUE, UNKNOWN
from sfumato.public.expressions.expression import Expression, read_expression
from sfumato.public.expressions.syntax import BACKTICK, quoted, refuse, unquoted
from sfumato.public.expressions.variables import Variable
from sfumato.public.schema.schema import Batch, Schema
from sfumato.public.schema.variables import variables_of
from sfumato.public.spelling import did_you_mean

Floats = NDArray[np.float64]
#: What each function takes: numbers (x), or true and false (c).
FUNCTIONS = {
    "count": "", "share": "c", "mean": "x", "sum": "x", "median": "x", "quantile": "x", "difference": "xcc", "ratio": "xx",
    "correlation": "xx",
}  # fmt: skip
_EXAMPLES = {
    "count": "count() where age >= 65", "share": "share(smokes)", "mean": "mean(income)", "sum": "sum(income)",
    "median": "median(income)", "quantile": "quantile(income, 0.9)", "difference": "difference(income, sex = f, sex = m)",
    "ratio": "ratio(income, hours)", "correlation": "correlation(age, income)",
}  # fmt: skip
MOST_CHARACTERS, MOST_GROUPS, MOST_COLUMNS = 2_000, 200, 6
_HEAD = re.compile(r"\s*([A-Za-z_]\w*)\s*\(")
_PIECE = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|[^\W\d]\w*|.", re.DOTALL)


@dataclass(frozen=True)
class Question:
    """A function of some columns, for all rows or for those of each group, where a condition holds."""

    text: str
    function: str
    arguments: tuple[Expression, ...]
    level: float | None
    by: tuple[str, ...]
    where: Expression | None
    schema: Schema

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that it speaks of."""
        spoken = (*self.arguments, *(() if self.where is None else (self.where,)))
        named = {name for part in spoken for name in part.columns} | set(self.by)
        return tuple(column.name for column in self.schema.columns if column.name in named)

    @property
    def of_dates(self) -> bool:
        """Whether the answer is a moment."""
        return self.function in ("mean", "median", "quantile") and self.arguments[0].kind == "date"

    def groups(self) -> list[tuple[str, ...]]:
        """The names of all groups."""
        out: list[tuple[str, ...]] = [()]
        for name in self.by:
            column = self.schema[name]
            names = (*column.categories, *(("(missing)",) if column.missing else ()))
            out = [(*group, value) for group in out for value in names]
        return out

    def members(self, rows: Batch) -> NDArray[np.bool_]:
        """Which rows (first) belong to which group, and to the question at all."""
        n_rows = len(rows[self.schema.columns[0].name])
        asked = np.ones(n_rows, dtype=bool) if self.where is None else self.where.holds(rows)
        code, size = np.zeros(n_rows, dtype=np.int64), 1
        for name in self.by:
            code, size = code * self.schema[name].size + rows[name].astype(np.int64), size * self.schema[name].size
        return np.asarray(asked[:, None] & (code[:, None] == np.arange(size)))


def usual_questions(schema: Schema) -> list[str]:
    """One for every column: the mean of a number, the rows of every category."""
    asked = []
    for column in schema.columns:
        if column.is_number:
            asked.append(f"mean({quoted(column.name, BACKTICK)})")
        elif column.is_coded and column.size <= MOST_GROUPS:
            asked.append(f"count() by {quoted(column.name, BACKTICK)}")
    return asked


def values_of(expression: Expression, rows: Batch) -> Floats:
    """What an argument is in each row, NaN where it is not known: an amount, or 1 for true and 0 for false."""
    values = expression.evaluate(rows)
    if expression.kind == "truth":
        return np.where(values == UNKNOWN, np.nan, (values == TRUE).astype(np.float64))
    plain = np.asarray(values, dtype=np.float64)
    return np.where(np.isfinite(plain), plain, np.nan)


def read_question(text: str, schema: Schema) -> Question:
    """Parse a question, or say where it goes wrong."""
    if not isinstance(text, str):
        raise SchemaError(f"a question is a text, and this is of type {type(text).__name__}. Write 'mean(income)'.")
    if not text.strip() or len(text) > MOST_CHARACTERS:
        raise SchemaError(
            f"a question has from 1 to {MOST_CHARACTERS:,} characters. Write one such as mean(income) by region where age >= 65."
        )
    head = _HEAD.match(text)
    if head is None:
        refuse(text, f"a question begins with a function: {', '.join(FUNCTIONS)}. For example {_EXAMPLES['mean']}", 0)
    function = head[1].lower()
    if function not in FUNCTIONS:
        near = did_you_mean(function, FUNCTIONS)
        refuse(
            text, f"there is no question {head[1]!r}.{near} Known: {', '.join(FUNCTIONS)}", head.start(1), head.end(1)
        )
    arguments, end = _arguments(text, head.end())
    by, where = _clauses(text, end)
    variables = _variables(schema)
    level = _level(text, function, arguments)
    wanted = FUNCTIONS[function]
    if function == "count" and arguments:
        refuse(text, "count takes nothing in its brackets. Write count() where ...", head.start(1), end)
    if len(arguments) != len(wanted):
        refuse(text, f"{function} is written as {_EXAMPLES[function]}", head.start(1), end)
    read = tuple(
        _argument(part, kind, function, schema, variables) for part, kind in zip(arguments, wanted, strict=True)
    )
    condition = None if where is None else _condition(where, schema, variables)
    question = Question(text.strip(), function, read, level, _groups(by, schema), condition, schema)
    if len(question.columns) > MOST_COLUMNS:
        raise SchemaError(
            f"a question speaks of at most {MOST_COLUMNS} columns: noisy measurements hold no more together."
        )
    return question


def _arguments(text: str, start: int) -> tuple[list[str], int]:
    """What stands in the brackets, by commas that stand in none of their own; and where they end."""
    parts, depth, begin = list[str](), 0, start
    for piece in _PIECE.finditer(text, start):
        if piece[0] == ")" and depth == 0:
            parts.append(text[begin : piece.start()])
            return ([] if not "".join(parts).strip() else [part.strip() for part in parts]), piece.end()
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "," and depth == 0:
            parts.append(text[begin : piece.start()])
            begin = piece.end()
    refuse(text, "a bracket is not closed", start - 1)


def _clauses(text: str, start: int) -> tuple[list[str], str | None]:
    """What stands behind `by` and behind `where`."""
    rest = text[start:]
    if not rest.strip():
        return [], None
    words = [(m[0].lower(), m.start() + start, m.end() + start) for m in _PIECE.finditer(rest) if not m[0].isspace()]
    first, at, end = words[0]
    if first == "where":
        return [], text[end:]
    if first != "by":
        refuse(text, "behind the brackets stands by, where, or nothing", at, end)
    stop = next((place for word, place, _ in words if word == "where"), len(text))
    condition = text[stop + len("where") :] if stop < len(text) else None
    names, between = [""], [text[at:end] for _, at, end in words[1:] if at < stop]
    for piece in between:
        names = [*names, ""] if piece == "," else [*names[:-1], names[-1] + piece]
    return [unquoted(name) if len(name) > 2 and name[0] == name[-1] == BACKTICK else name for name in names], condition


def _level(text: str, function: str, arguments: list[str]) -> float | None:
    """The level of a quantile, taken off the arguments."""
    if function == "median":
        return 0.5
    if function != "quantile":
        return None
    try:
        level = float(arguments.pop()) if len(arguments) == 2 else float("nan")
    except ValueError:
        level = float("nan")
    if not 0 < level < 1:
        refuse(text, f"a quantile has a level between 0 and 1: {_EXAMPLES['quantile']}", 0, len(text))
    return level


def _variables(schema: Schema) -> dict[str, Variable]:
    return variables_of(schema.columns)


def _argument(text: str, kind: str, function: str, schema: Schema, variables: Mapping[str, Variable]) -> Expression:
    _refuse_images(text, schema)
    read = read_expression(text, variables, truth=kind == "c")
    if kind == "x" and read.kind == "text":
        if (name := text.strip()).isidentifier() and name not in variables:  # a word that stands alone may be any text
            near = did_you_mean(name, variables)
            refuse(text, f"there is no column {name!r}.{near}", 0, len(text))
        refuse(
            text,
            f"this is a text, and {function} needs numbers. Ask for share({text.strip()} = ...) or count() by",
            0,
            len(text),
        )
    if read.kind == "date" and function not in ("mean", "median", "quantile"):
        refuse(text, f"this is a date, and {function} needs numbers", 0, len(text))
    return read


def _condition(text: str, schema: Schema, variables: Mapping[str, Variable]) -> Expression:
    _refuse_images(text, schema)
    condition = read_expression(text.strip(), variables)
    condition.box()  # refuses what no row can be
    return condition


def _groups(names: list[str], schema: Schema) -> tuple[str, ...]:
    groups = 1
    for name in names:
        column = schema[name]
        if not column.is_coded:
            _refuse(
                f"by needs columns of categories, and {name!r} is {column.kind}. Use where, as in where {name} >= ..."
            )
        groups *= column.size
    if len(set(names)) < len(names):
        _refuse("by names a column twice.")
    if groups > MOST_GROUPS:
        _refuse(f"by would make {groups:,} groups, and {MOST_GROUPS} are the most. Ask for some of them with where.")
    return tuple(names)


def _refuse(what: str) -> NoReturn:
    raise SchemaError(what)


def _refuse_images(text: str, schema: Schema) -> None:
    words: set[Any] = set(_PIECE.findall(text)) | {piece.strip("`") for piece in _PIECE.findall(text)}
    for column in schema.images:
        if column.name in words:
            _refuse(
                f"column {column.name!r} holds images, of which no question can be asked. Ask about the other columns."
            )
