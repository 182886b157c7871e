"""From a text to a tree of what was written, with the place of every part. What it means is `meaning.py`'s affair."""

from functools import cache
from typing import Any, NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from sfumato.errors import SchemaError

#: The longest text, in characters. Nobody reads a longer one.
MOST_CHARACTERS = 2_000
#: Around the name of a column that is no plain word.
BACKTICK = "`"

_GRAMMAR = r"""
?start: expr
?expr: either
    | IF expr THEN expr            -> implies
    | IF expr THEN expr ELSE expr  -> choice
?either: both | both (OR both)+    -> either
?both: denied | denied (AND denied)+ -> both
?denied: relation | NOT denied     -> denied
?relation: sum
    | sum (COMPARED sum)+          -> compared
    | sum COMPARED chosen          -> compared
    | sum IN set                   -> within
    | sum NOT IN set               -> without
    | sum IS MISSING               -> missing
    | sum IS NOT MISSING           -> present
?chosen: IF expr THEN expr ELSE expr -> choice
set: "(" sum ("," sum)* ","? ")" | "[" sum ("," sum)* ","? "]"
?sum: term | sum ADDED term        -> arithmetic
?term: signed | term SCALED signed -> arithmetic
?signed: power | ADDED signed      -> signed
?power: atom | atom POWER signed   -> arithmetic
?atom: "(" expr ")" | NAME "(" expr ("," expr)* ")" -> call
    | NUMBER | DATE | TIME | TEXT | QUOTED | BACKTICKED | NAME

IF.2: /if(?!\w)/i
THEN.2: /then(?!\w)/i
ELSE.2: /else(?!\w)/i
AND.2: /and(?!\w)/i
OR.2: /or(?!\w)/i
NOT.2: /not(?!\w)/i
IN.2: /in(?!\w)/i
IS.2: /is(?!\w)/i
MISSING.2: /(missing|null)(?!\w)/i
COMPARED: "<=" | ">=" | "==" | "!=" | "<>" | "≤" | "≥" | "≠" | "<" | ">" | "="
POWER: "**" | "^"
ADDED: "+" | "-"
SCALED: "*" | "/"
DATE.3: /\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?)?/
TIME.3: /\d{1,2}:\d{2}(:\d{2})?(?![\w:])/
NUMBER.2: /(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?(?!\w)/
TEXT: /'([^'\n]|'')*'/
QUOTED: /"([^"\n]|"")*"/
BACKTICKED: /`([^`\n]|``)+`/
NAME: /[^\W\d]\w*(\.\w+)*/
%ignore /\s+/
"""


@cache
def _parser() -> Lark:
    return Lark(_GRAMMAR, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def quoted(text: str, mark: str = "'") -> str:
    """A text as one writes it: a mark within it stands twice.

    >>> quoted("o'hare")
    "'o''hare'"
    """
    return mark + text.replace(mark, 2 * mark) + mark


def unquoted(written: str) -> str:
    """The text that was written within marks."""
    return written[1:-1].replace(2 * written[0], written[0])


def parsed(text: str) -> Tree[Any] | Token:
    """The tree of a text, or a sentence that shows where it goes wrong."""
    if not isinstance(text, str):
        raise SchemaError(f"an expression is a text such as 'age >= 65', and this is of type {type(text).__name__}.")
    if len(text) > MOST_CHARACTERS:
        raise SchemaError(
            f"an expression has {len(text):,} characters, and {MOST_CHARACTERS:,} are the most. Write several shorter ones."
        )
    if not text.strip():
        raise SchemaError("an expression is empty. Write one such as age >= 65.")
    try:
        return _parser().parse(text)
    except UnexpectedCharacters as error:
        refuse(
            text,
            "here stands what no expression has. Texts need quotes, and odd names backticks: `a b`",
            error.pos_in_stream,
        )
    except UnexpectedToken as error:
        ends = error.token.type == "$END"
        what = "something is missing at the end" if ends else f"{error.token.value!r} does not belong here"
        refuse(text, what, len(text) if ends else error.pos_in_stream, None if ends else error.token.end_pos)
    except UnexpectedInput as error:
        refuse(text, "this is no expression", error.pos_in_stream)


def refuse(text: str, what: str, start: int | None, end: int | None = None) -> NoReturn:
    """Raise with the place: the text, and marks under it."""
    at = start or 0
    width = max(1, (at + 1 if end is None else end) - at)
    left = max(0, at - 60)
    shown = text[left : at + 60].replace("\n", " ")
    marks = " " * (at - left) + "^" * max(1, min(width, len(shown) - (at - left)))
    raise SchemaError(f"{what}.\n    {shown}\n    {marks}")
