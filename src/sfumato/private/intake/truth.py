"""Words for true and false: the usual ones of several languages, and those that a schema declares.

A word has one meaning whatever language a file is in: "no" is false in English, Spanish and Italian, and no language
here has it for true. Declared words go before the usual ones.
"""

from collections.abc import Mapping
from functools import lru_cache

from sfumato.public.schema.column import Column, plain_word

#: As `plain_word` writes them: lower case, no spaces around, 1.0 as 1.
TRUE_WORDS = ("true", "t", "yes", "y", "on", "1", "ja", "wahr", "oui", "vrai", "si", "sí", "sì")
FALSE_WORDS = ("false", "f", "no", "n", "off", "0", "nein", "falsch", "non", "faux")


@lru_cache(maxsize=1024)
def truth_table(column: Column) -> Mapping[str, int]:
    """The code (0: false, 1: true) of every word that a boolean column understands.

    >>> table = truth_table(Column(name="ill", kind="boolean", true_words=("Krank",), false_words=("N", "no news")))
    >>> table["krank"], table["no news"], table["ja"], table["non"]
    (1, 0, 1, 0)
    """
    usual = {word: code for code, words in enumerate((FALSE_WORDS, TRUE_WORDS)) for word in words}
    declared = (column.false_words, column.true_words)
    return usual | {plain_word(word): code for code, words in enumerate(declared) for word in words}
