"""Keys that are made up by a pattern: texts that come from nowhere, each once where that is asked for."""

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ModelError, SchemaError

_PART = re.compile(
    r"(?:\[(?P<some>(?:[^\]\\]|\\.)+)\]|\\(?P<named>[dwAa])|(?P<plain>\\?[^\[\]{}*+?|()^$]))(?:\{(?P<n>\d{1,2})\})?"
)
_NAMED = {
    "d": "0123456789",
    "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    "a": "abcdefghijklmnopqrstuvwxyz",
    "w": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
}
_MOST_CHARACTERS = 64
#: Numbers are shuffled in at most so many bits.
_MOST_BITS = 62


@dataclass(frozen=True)
class Pattern:
    r"""Characters, each one of a list: [0-9]{6}, [A-F2], \d, \A (a capital), \a, \w, or itself.

    >>> made = Pattern("P-[0-9]{3}").draw(3, first=0, seed=1, unique=True)
    >>> len(set(made)), all(len(key) == 5 and key.startswith("P-") for key in made)
    (3, True)
    """

    text: str

    @cached_property
    def places(self) -> tuple[str, ...]:
        """The characters that each place may have."""
        at, places = 0, list[str]()
        while at < len(self.text):
            part = _PART.match(self.text, at)
            if part is None:
                raise SchemaError(
                    f"the pattern {self.text!r} cannot be read from its character {at + 1} on. Write plain characters, lists "
                    r"such as [0-9A-F], \d, and {6} for so many of the one before."
                )
            some = (
                _listed(part["some"]) if part["some"] else _NAMED.get(part["named"] or "", (part["plain"] or "")[-1:])
            )
            places += [some] * int(part["n"] or 1)
            at = part.end()
        if not 0 < len(places) <= _MOST_CHARACTERS:
            raise SchemaError(
                f"the pattern {self.text!r} makes {len(places)} characters. Make from 1 to {_MOST_CHARACTERS}."
            )
        return tuple(places)

    @property
    def size(self) -> int:
        """How many different texts there are."""
        return math.prod(map(len, self.places))

    def fits(self, text: object) -> bool:
        """Whether a text is one of them."""
        return (
            isinstance(text, str)
            and len(text) == len(self.places)
            and all(character in some for character, some in zip(text, self.places, strict=True))
        )

    def draw(self, n_rows: int, *, first: int, seed: int, unique: bool) -> NDArray[np.object_]:
        """Texts for rows from the number `first` on; rows of different numbers have different ones where `unique`."""
        rng = np.random.default_rng([seed, first])
        if unique and first + n_rows > self.size:
            raise ModelError(
                f"{first + n_rows:,} rows need as many keys, and the pattern {self.text!r} has {self.size:,}. "
                "Give a longer pattern, or unique = false."
            )
        columns, n_free = [], self.size
        numbered = len(self.places)
        while unique and n_free >= 1 << _MOST_BITS:  # the last places are drawn, the others number the rows
            numbered -= 1
            n_free = math.prod(map(len, self.places[:numbered]))
        numbers = _shuffled(np.arange(first, first + n_rows, dtype=np.uint64), n_free, seed) if unique else None
        for at in reversed(range(len(self.places))):
            some = np.array(list(self.places[at]))
            if numbers is None or at >= numbered:
                columns.append(some[rng.integers(0, len(some), n_rows)])
            else:
                numbers, digit = np.divmod(numbers, np.uint64(len(some)))
                columns.append(some[digit.astype(np.int64)])
        joined = np.array(columns[::-1])
        return np.ascontiguousarray(joined.T).view(f"U{len(self.places)}").ravel().astype(object)


def _listed(text: str) -> str:
    """The characters of a list such as 0-9A-F."""
    found, at = list[str](), 0
    plain = text.replace("\\", "")
    while at < len(plain):
        if at + 2 < len(plain) and plain[at + 1] == "-":
            low, high = ord(plain[at]), ord(plain[at + 2])
            if low > high or high - low > 1000:
                raise SchemaError(f"the list [{text}] of a pattern has a range that goes backwards, or is too long.")
            found += map(chr, range(low, high + 1))
            at += 3
        else:
            found.append(plain[at])
            at += 1
    return "".join(dict.fromkeys(found))


def _shuffled(numbers: NDArray[np.uint64], size: int, seed: int) -> NDArray[np.uint64]:
    """Other numbers below `size`, different ones for different ones: a Feistel cipher, run until it lands below."""
    half = max(1, (max(size - 1, 1).bit_length() + 1) // 2)
    mask, keys = (
        np.uint64((1 << half) - 1),
        np.random.default_rng([seed, size]).integers(1, 1 << 62, 4, dtype=np.uint64),
    )
    waiting, out = np.ones(len(numbers), dtype=bool), numbers.copy()
    while waiting.any():
        left, right = out[waiting] >> np.uint64(half), out[waiting] & mask
        for key in keys:
            mixed = (right + key) * np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
            left, right = right, left ^ ((mixed >> np.uint64(32)) & mask)
        out[waiting] = (left << np.uint64(half)) | right
        waiting = out >= np.uint64(size)
    return out
