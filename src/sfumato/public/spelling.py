"""Words: those that a name is made of, and a guess at what was meant by a misspelt one."""

import difflib
import re
import unicodedata
from collections.abc import Iterable

_WORD = re.compile(r"[A-ZÄÖÜ]?[^\W\d_A-ZÄÖÜ]+\d*|[A-ZÄÖÜ]+\d*(?![^\W\d_A-ZÄÖÜ])|\d+")

#: Marks by which a text turns its direction, and the one that begins a file.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff")


def words_of(name: str) -> list[str]:
    """The words of a column's name, in lower case, whether marks or capitals set them apart."""
    return [word.lower() for word in _WORD.findall(name)]


def hidden_character(name: str) -> bool:
    """Whether a name holds what nobody sees and a page obeys: controls, line ends, half characters, turns of direction."""
    return any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") or char in _TURNS for char in name)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A sentence with the known word that is nearest, with a space before it; nothing where none is near."""
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""
