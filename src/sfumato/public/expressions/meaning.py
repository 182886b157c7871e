"""What a parsed text means: every part with its kind, checked against the columns before any row is there."""

import math
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NoReturn

from lark import Token, Tree

from sfumato.public.expressions.logic import All, AtLeastOne, Choice, Not
from sfumato.public.expressions.nodes import FUNCTIONS, Arithmetic, Call, Column, Constant, Node, Number, Word
from sfumato.public.expressions.relations import Compared, Missing
from sfumato.public.expressions.syntax import refuse, unquoted
from sfumato.public.expressions.variables import Variable
from sfumato.public.spelling import did_you_mean

#: Parts within parts, and parts in all. Nobody writes more of them by hand.
MOST_DEPTH, MOST_PARTS = 40, 400
#: A larger power of a number is no amount of anything.
MOST_POWER = 16.0
_SIGNS = {"==": "=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TRUE, _FALSE = frozenset(("true", "yes", "1")), frozenset(("false", "no", "0"))
_SEVERAL = ("min", "max")
_NOTHING = frozenset(("null", "none", "nan", "na"))
#: A longer name is not shown in full.
_LONG = 60


class Reader:
    """Reads one text."""

    def __init__(self, text: str, variables: Mapping[str, Variable]) -> None:
        """A text, and the columns that it may speak of."""
        self.text, self.variables, self._n_parts = text, variables, 0

    def read(self, tree: Tree[Any] | Token, depth: int = 0) -> Node:
        """The part that a tree stands for; a word that is no column is a `Word`."""
        self._n_parts += 1
        if depth > MOST_DEPTH or self._n_parts > MOST_PARTS:
            limit = f"{MOST_PARTS} parts, or {MOST_DEPTH} within each other, are the most"
            self._refuse(f"this expression is too large: {limit}. Write several smaller ones", tree)
        if isinstance(tree, Token):
            return self._atom(tree)
        return getattr(self, f"_{tree.data}")(tree, list(tree.children), depth + 1)  # type: ignore[no-any-return]

    def _refuse(self, what: str, tree: Tree[Any] | Token) -> NoReturn:
        if isinstance(tree, Token):
            refuse(self.text, what, tree.start_pos, tree.end_pos)
        refuse(self.text, what, tree.meta.start_pos, tree.meta.end_pos)

    # Single words.

    def _atom(self, token: Token) -> Node:
        value = str(token)
        if token.type == "NUMBER":
            return Number(self._finite(token), self._finite(token))
        if token.type == "DATE":
            return self._date(value, token)
        if token.type in ("TEXT", "TIME"):
            return Word(unquoted(value) if token.type == "TEXT" else value)
        name = value if token.type == "NAME" else unquoted(value)
        if name in self.variables:
            return Column(self.variables[name])
        if token.type == "BACKTICKED":
            self._refuse(f"there is no column {name!r}.{self._near(name)} Backticks are for columns", token)
        return Word(name)

    def _finite(self, token: Token) -> float:
        value = float(token)
        if not math.isfinite(value) or abs(value) > 1e300:
            self._refuse("this number is too large", token)
        return value

    def _date(self, text: str, tree: Tree[Any] | Token) -> Number:
        try:
            if len(text) == len("2020-01-31"):
                first = datetime.combine(date.fromisoformat(text), time(), UTC)
                return Number(first.timestamp(), (first + timedelta(days=1, seconds=-1)).timestamp(), "date")
            moment = datetime.fromisoformat(text)
        except ValueError:
            self._refuse(f"{text!r} is no date. Write it as 2020-01-31", tree)
        at = moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
        return Number(at, at, "date")

    # Amounts and moments.

    def _amount(self, tree: Tree[Any] | Token, depth: int) -> Node:
        node = self.read(tree, depth)
        if isinstance(node, Word):
            self._no_such_column(node.value, tree)
        if node.kind not in ("number", "date"):
            self._refuse("this is no number. Only numbers and dates are added up or multiplied", tree)
        return node

    def _no_such_column(self, name: str, tree: Tree[Any] | Token) -> NoReturn:
        if name in self.variables:
            self._refuse(f"{name!r} in quotes is a text. Write the column without them, or in backticks", tree)
        if name.casefold() in _NOTHING:
            self._refuse(f"nothing equals {name}. Write: is missing", tree)
        near = self._near(name) or f" Columns: {', '.join(list(self.variables)[:20])}."
        self._refuse(f"there is no column {_shortened(name)!r}.{near} Texts need a column beside them", tree)

    def _near(self, name: str) -> str:
        near = did_you_mean(name, self.variables)
        is_foreign = near and name.isascii() != near.isascii()
        return near + " Some of its characters only look alike." if is_foreign or _looks_like(name, near) else near

    def _arithmetic(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        left, sign, right = parts
        x, y, sign = self._amount(left, depth), self._amount(right, depth), "**" if sign == "^" else str(sign)
        dates = (x.kind == "date", y.kind == "date")
        if any(dates) and not ((sign == "-" and dates[0]) or (sign == "+" and not all(dates))):
            self._refuse("dates have differences, in days, and days can be added to them. Nothing else", tree)
        if sign == "**" and not (isinstance(y, Number) and abs(y.value) <= MOST_POWER):
            self._refuse(f"an exponent must be a plain number from -{MOST_POWER:g} to {MOST_POWER:g}", right)
        return self._folded(Arithmetic(sign, x, y), tree)

    def _signed(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        sign, part = parts
        node = self._amount(part, depth)
        if node.kind == "date":
            self._refuse("a date has no sign", tree)
        return node if sign == "+" else self._folded(Arithmetic("-", Number(0.0, 0.0), node), tree)

    def _folded(self, node: Node, tree: Tree[Any]) -> Node:
        """Numbers alone are one number, so that -1 is a constant."""
        divisor = node.right if isinstance(node, Arithmetic) and node.sign == "/" else None
        if isinstance(divisor, Number) and divisor.value == 0:
            self._refuse("this divides by zero in every row", tree)
        if not all(isinstance(part, Number) and part.kind == "number" for part in node.parts):
            return node
        value = float(node.of({}, 1)[0])
        if not math.isfinite(value):
            self._refuse("this is no finite number", tree)
        return Number(value, value)

    def _call(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        name, *arguments = parts
        if str(name) not in FUNCTIONS:
            near = did_you_mean(name, FUNCTIONS)
            self._refuse(f"there is no function {str(name)!r}.{near} Known: {', '.join(sorted(FUNCTIONS))}", name)
        found = tuple(self._amount(part, depth) for part in arguments)
        fits = len(found) >= 2 if name in _SEVERAL else len(found) == 1 or (name == "round" and len(found) == 2)
        if not fits:
            self._refuse(f"{name} takes {'several numbers' if name in _SEVERAL else 'one number'}", tree)
        if len({part.kind for part in found}) > 1 or (found[0].kind == "date" and name not in _SEVERAL):
            self._refuse(f"{name} does not take dates like this", tree)
        if name == "round" and len(found) == 2:
            digits = found[1]
            if not isinstance(digits, Number) or not digits.value.is_integer() or abs(digits.value) > 12:
                self._refuse("round takes a whole number of digits, 12 at most", arguments[1])
        return Call(str(name), found)

    # Comparisons.

    def _compared(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        """Chained ones are all of them: 0 <= a < b."""
        pairs = [
            self._pair(parts[at], _SIGNS.get(str(parts[at + 1]), str(parts[at + 1])), parts[at + 2], tree, depth)
            for at in range(0, len(parts) - 2, 2)
        ]
        return pairs[0] if len(pairs) == 1 else All(tuple(pairs))

    def _pair(self, left: Any, sign: str, right: Any, tree: Tree[Any], depth: int) -> Node:
        x, y = self.read(left, depth), self.read(right, depth)
        if isinstance(x, Word | Number | Constant) and not isinstance(y, Word | Number | Constant):
            left, right, x, y, sign = right, left, y, x, _TURNED.get(sign, sign)
        y = self._fitted(x, y, right)
        if isinstance(x, Word) and not isinstance(left, Tree):
            self._no_such_column(x.value, left)
        if x.kind != y.kind:
            self._refuse(f"a {_spoken(x)} cannot be compared with a {_spoken(y)}", tree)
        if isinstance(x, Column) and isinstance(y, Number) and sign in ("=", "!=") and y.value in x.variable.codes:
            what = f"{y.value:g} is a special code of {x.variable.name!r}, which has the place of a missing value"
            self._refuse(f"{what}. Write: is missing", tree)
        if x.kind == "truth" and sign not in ("=", "!="):
            self._refuse("true and false have no order. Use = or !=", tree)
        if x.kind == "text" and sign not in ("=", "!=") and not _have_order(x, y):
            self._refuse("these words have no order. Only those of one ordinal column have", tree)
        return Compared(sign, x, y)

    def _fitted(self, x: Node, y: Node, place: Any) -> Node:
        """A constant as the other side needs it: a word as a date or a truth, a number as a word."""
        if isinstance(y, Number) and isinstance(x, Column) and x.kind in ("text", "truth") and isinstance(place, Token):
            y = Word(str(place))
        if isinstance(x, Column) and isinstance(y, Choice) and x.kind == y.kind == "text":
            for word in _words_chosen(y):
                self._known_word(x, word, place)
        if not isinstance(y, Word):
            return y
        if x.kind == "date":
            return self._date(y.value, place)
        if x.kind == "truth":
            return self._truth(x, y, place)
        if x.kind == "text" and isinstance(x, Column | Choice):
            self._known_word(x, y, place)
        if x.kind == "number":
            return self._clock(x, y, place)
        return y

    def _clock(self, x: Node, y: Word, place: Any) -> Number:
        """A time of a day, beside a column of such."""
        read = x.variable.number_of_text if isinstance(x, Column) else None
        if read is None and isinstance(place, Token) and place.type == "TIME":
            self._refuse("a time of a day goes with a column of type time alone", place)
        if read is None:
            self._no_such_column(y.value, place)
        number = read(y.value)
        if math.isnan(number):
            self._refuse(f"{y.value!r} is no time of a day. Write it as 06:30", place)
        return Number(number, number)

    def _known_word(self, x: Column | Choice, y: Word, place: Any) -> None:
        if y.value not in x.words:
            near = did_you_mean(y.value, x.words)
            known = ", ".join(map(repr, x.words[:10])) + (", ..." if len(x.words) > 10 else "")
            what = f"column {x.variable.name!r}" if isinstance(x, Column) else "it"
            self._refuse(f"{what} cannot be {y.value!r}.{near} It holds {known}", place)

    def _truth(self, x: Node, y: Word, place: Any) -> Constant:
        variable = x.variable if isinstance(x, Column) else Variable("", "truth")
        folded = y.value.strip().casefold()
        if folded in variable.true_words or (folded in _TRUE and folded not in variable.false_words):
            return Constant(True)
        if folded in variable.false_words or folded in _FALSE:
            return Constant(False)
        self._refuse(f"{y.value!r} is neither true nor false", place)

    def _within(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        left, _, listed = parts
        entries = tuple(self._pair(left, "=", entry, tree, depth) for entry in listed.children)
        return entries[0] if len(entries) == 1 else AtLeastOne(entries)

    def _without(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return Not(self._within(tree, [parts[0], *parts[2:]], depth))

    def _missing(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        node = self.read(parts[0], depth)
        if isinstance(node, Word):
            self._no_such_column(node.value, parts[0])
        return Missing(node)

    def _present(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return Not(self._missing(tree, parts, depth))

    # Truths.

    def truth(self, tree: Tree[Any] | Token, depth: int = 0) -> Node:
        """A part that must be true or false."""
        node = self.read(tree, depth)
        if isinstance(node, Word) and isinstance(tree, Token) and tree.type == "NAME":
            if node.value in ("true", "false"):
                return Constant(node.value == "true")
            self._no_such_column(node.value, tree)
        if node.kind != "truth":
            self._refuse(f"this is a {_spoken(node)}, where something true or false is wanted, such as age >= 65", tree)
        return node

    def _both(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return All(tuple(self.truth(part, depth) for part in parts[::2]))

    def _either(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return AtLeastOne(tuple(self.truth(part, depth) for part in parts[::2]))

    def _denied(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return Not(self.truth(parts[1], depth))

    def _implies(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        return AtLeastOne((Not(self.truth(parts[1], depth)), self.truth(parts[3], depth)))

    def _choice(self, tree: Tree[Any], parts: list[Any], depth: int) -> Node:
        condition, then, otherwise = self.truth(parts[1], depth), self.read(parts[3], depth), self.read(parts[5], depth)
        if then.kind != otherwise.kind:
            self._refuse(f"it would be a {_spoken(then)} or a {_spoken(otherwise)}. Make both the same", tree)
        return Choice(condition, then, otherwise)


def _words_chosen(node: Node) -> Iterator[Word]:
    """The plain words that a choice may give."""
    if isinstance(node, Choice):
        yield from (*_words_chosen(node.then), *_words_chosen(node.otherwise))
    elif isinstance(node, Word):
        yield node


def _shortened(name: str) -> str:
    return name if len(name) <= _LONG else name[:_LONG] + "..."


def _looks_like(name: str, near: str) -> bool:
    """Whether a column is what was written, but for how its characters are made up."""
    return bool(near) and unicodedata.normalize("NFKC", name) in unicodedata.normalize("NFKC", near)


def _spoken(node: Node) -> str:
    return {"number": "number", "date": "date", "text": "text", "truth": "truth"}[node.kind]


def _have_order(x: Node, y: Node) -> bool:
    columns = [side.variable for side in (x, y) if isinstance(side, Column)]
    return all(variable.is_ordered for variable in columns) and len({variable.words for variable in columns}) == 1
