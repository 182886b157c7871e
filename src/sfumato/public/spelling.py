"""A guess at what was meant by a misspelt word, for the end of a refusal."""

import difflib
from collections.abc import Iterable


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """A sentence with the known word that is nearest, with a space before it; nothing where none is near.

    >>> did_you_mean("bound", ["type", "bounds"]), did_you_mean("colour", ["type", "bounds"])
    (" Did you mean 'bounds'?", '')
    """
    folded = {name.casefold(): name for name in known}
    near = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    return f" Did you mean {folded[near[0]]!r}?" if near else ""
