"""What an expression may speak of: names, each with its kind and with the values that it can hold."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

#: What an expression, or a part of it, is: an amount, a moment in seconds since 1970 (UTC), a word of a list, or true or false.
Kind = Literal["number", "date", "text", "truth"]


@dataclass(frozen=True)
class Variable:
    """A column as an expression sees it.

    Rows hold numbers and dates as float64 (NaN: missing), words as the place in `words` (`len(words)`: missing), and a truth
    as 0 or 1 (2: missing). `is_ordered` words can be compared with <. `true_words` and `false_words` stand for a truth, and
    `codes` are numbers that stand for something missing. `number_of_text` reads what stands for a number and is written as
    a text, such as 06:30; NaN where it is none.
    """

    name: str
    kind: Kind
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    words: tuple[str, ...] = ()
    is_ordered: bool = False
    missing: bool = False
    true_words: frozenset[str] = field(default_factory=frozenset)
    false_words: frozenset[str] = field(default_factory=frozenset)
    number_of_text: Callable[[str], float] | None = None
    codes: frozenset[float] = field(default_factory=frozenset)
