"""One thing that a dry run found: what, in how many rows, and what to do about it. NOT private: for the custodian alone."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.private.intake.scalars import MISSING_TEXTS
from sfumato.private.intake.values import Values, to_texts


def counted_texts(values: Values, is_read: Callable[[str | None], bool]) -> tuple[int, list[tuple[str, int]]]:
    """How many rows have no text, or one that stands for a missing value; and every other text that is not read, with its rows."""
    texts = to_texts(values)
    counts = np.bincount(texts.private_codes + 1, minlength=len(texts.private_values) + 1)
    missing, told = int(counts[0]), []
    for text, count in zip(texts.private_values, counts[1:], strict=True):
        if is_read(text):
            continue
        if text is None or text.strip() in MISSING_TEXTS:
            missing += int(count)
        else:
            told.append((text, int(count)))
    return missing, told


_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,'’ \u00a0\u202f]\d{3})+(\.\d+)?|[+-]?\d{1,3}(\.\d{3}){2,}")
_UNIT = re.compile(r"[^\w\s+-]?\s*[+-]?\d[\d.,' ]*\s*([^\W\d]{1,6}|[%€$£¥°])?\.?")
_NOT_ISO = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*|\d{4}[./]\d{1,2}[./]\d{1,2}.*|.*[^\W\d]{3,}.*\d{2,4}.*")

DECIMAL_COMMAS, THOUSANDS, OTHER_DATES = "decimal commas", "thousands separators", "dates that are not ISO 8601"
_LOOKS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (_THOUSANDS, THOUSANDS, "Write the numbers without them: 1234567."),
    (_DECIMAL_COMMA, DECIMAL_COMMAS, "Write the numbers with decimal points: 3.5."),
    (_UNIT, "numbers with a unit or a sign of currency", "Write the number alone; the unit belongs into the name."),
)
_OTHER_NUMBERS = ("no numbers", "Is the type right? Correct it, or the file; what is not known may be missing.")
_OTHER_DATES = ("no dates", "Is the type right? Correct it, or the file; what is not known may be missing.")
_DATES = (
    OTHER_DATES,
    "Write them as 2020-01-31 or 2020-01-31T12:00:00: day and month are not guessed.",
)
BAD_BYTES = (
    "bytes that are no UTF-8",
    "Save the file as UTF-8, for instance with: iconv -f latin1 -t utf-8 OLD > NEW",
)

#: What could be a number or a date if it were written otherwise, and how.
READABLE = dict([_DATES, *(look[1:] for look in _LOOKS)])

_LEADING_ZERO = re.compile(r"0\d+", re.ASCII)


def is_code(text: str) -> bool:
    """Whether a text is a code that only looks like a number, as a postcode: a number would lose the zero in front.

    >>> is_code("01067"), is_code("0"), is_code("0.5")
    (True, False, False)
    """
    return _LEADING_ZERO.fullmatch(text) is not None


COMPACT_DATES = "dates without hyphens"
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])", re.ASCII)


def is_compact_date(text: str) -> bool:
    """Whether a number may be a day of our time that is written without hyphens; read as an amount it is none.

    >>> is_compact_date("20201007"), is_compact_date("20201399"), is_compact_date("2020")
    (True, False, False)
    """
    return _COMPACT.fullmatch(text) is not None


_PERHAPS_THOUSANDS = re.compile(r"[+-]?\d{1,3}(\.\d{3})?")
_ENOUGH = 20


def may_be_thousands(texts: Sequence[str | None]) -> bool:
    """Whether numbers that can be read may mean a thousand times as much: every point has three digits after it.

    >>> may_be_thousands([f"{n // 1000}.{n % 1000:03d}" for n in range(1_000, 9_000, 37)] + ["950"])
    True
    >>> may_be_thousands([f"{n / 100:.2f}" for n in range(900)])
    False
    """
    known = [text.strip() for text in texts if text is not None and text.strip()]
    return sum("." in text for text in known) >= _ENOUGH and all(_PERHAPS_THOUSANDS.fullmatch(text) for text in known)


def look_of(texts: Sequence[str], *, date: bool) -> tuple[str, str]:
    """What most of the texts look like, and the remedy.

    >>> look_of(["3,5", "4,25", "x"], date=False)[0], look_of(["1.000.000", "12'000"], date=False)[0]
    ('decimal commas', 'thousands separators')
    >>> look_of(["31.12.2020", "12/31/20"], date=True)[0], look_of(["12 %"], date=False)[0]
    ('dates that are not ISO 8601', 'numbers with a unit or a sign of currency')
    """
    looks = [_look(text.strip(), date=date) for text in texts]
    return max(dict.fromkeys(looks), key=looks.count)


def readable_look(text: str) -> str | None:
    """What a text looks like that would be a number or a date if it were written otherwise; None where it is neither.

    >>> readable_look("31.01.2020"), readable_look("3,5"), readable_look("ward 12")
    ('dates that are not ISO 8601', 'decimal commas', None)
    """
    looks = (_look(text, date=date)[0] for date in (text[:1].isdigit(), False))
    return next((look for look in looks if look in READABLE), None)


def _look(text: str, *, date: bool) -> tuple[str, str]:
    if "\ufffd" in text:
        return BAD_BYTES
    if date:
        return _DATES if _NOT_ISO.fullmatch(text) else _OTHER_DATES
    return next(((what, remedy) for pattern, what, remedy in _LOOKS if pattern.fullmatch(text)), _OTHER_NUMBERS)


#: What a dry run says first and last.
NOT_PRIVATE = (
    "This reads rows without privacy. What it prints is for the custodian of the data alone, and none of it is written. "
    "What you copy from here into schema.toml becomes public: correct the schema from what you know, not from the rows."
)

#: What touches fewer rows than this is a note and no fault: outliers are there to be cut.
LITTLE = 0.01
#: Examples that are shown, their length, and how many different texts are kept in mind while reading.
_SHOWN, _LONGEST, _MOST_TEXTS = 3, 30, 10_000


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found in a column (None: in the table as a whole). Not private."""

    column: str | None
    what: str
    rows: int
    share: float
    remedy: str
    is_fault: bool
    examples: tuple[str, ...] = ()


def found(
    column: str | None, what: str, *, rows: int, of: int, remedy: str, examples: Iterable[str] = ()
) -> list[Finding]:
    """The finding, where any row is touched; a fault where they are more than a few.

    >>> [f.is_fault for n in (0, 1, 5) for f in found("age", "above the bounds", rows=n, of=200, remedy="...")]
    [False, True]
    """
    if not rows:
        return []
    share = rows / max(of, 1)
    facts: dict[str, Any] = {"rows": rows, "share": share, "is_fault": share >= LITTLE}
    return [Finding(column=column, what=what, remedy=remedy, examples=tuple(examples), **facts)]


class Texts:
    """Texts that did not fit, with how often each came, as many as memory bears."""

    def __init__(self) -> None:
        self.rows = 0
        self._counts: Counter[str] = Counter()

    def add(self, text: str, rows: int) -> None:
        """Some rows hold this text."""
        self.rows += rows
        if text in self._counts or len(self._counts) < _MOST_TEXTS:
            self._counts[text] += rows

    def examples(self) -> tuple[str, ...]:
        """The most frequent ones, cut short."""
        texts = (text for text, _ in self._counts.most_common(_SHOWN))
        return tuple(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..." for text in texts)

    def kept(self) -> list[str]:
        """Those that were kept, the most frequent first."""
        return [text for text, _ in self._counts.most_common()]
