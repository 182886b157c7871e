"""What a text that is no number or date looks like, so that the remedy can be named. NOT private: it is told the texts."""

import re
from collections.abc import Sequence

_DECIMAL_COMMA = re.compile(r"[+-]?\d{1,3}(\.\d{3})*,\d+|[+-]?\d+,\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}([,'’ \u00a0\u202f]\d{3})+(\.\d+)?|[+-]?\d{1,3}(\.\d{3}){2,}")
_UNIT = re.compile(r"[^\w\s+-]?\s*[+-]?\d[\d.,' ]*\s*([^\W\d]{1,6}|[%€$£¥°])?\.?")
_NOT_ISO = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}.*|\d{4}[./]\d{1,2}[./]\d{1,2}.*|.*[^\W\d]{3,}.*\d{2,4}.*")

_LOOKS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (_THOUSANDS, "thousands separators", "Write the numbers without them: 1234567."),
    (_DECIMAL_COMMA, "decimal commas", "Write the numbers with decimal points: 3.5."),
    (_UNIT, "numbers with a unit or a sign of currency", "Write the number alone; the unit belongs into the name."),
)
_OTHER_NUMBERS = ("no numbers", "Is the type right? Correct it, or the file; what is not known may be missing.")
_OTHER_DATES = ("no dates", "Is the type right? Correct it, or the file; what is not known may be missing.")
_DATES = (
    "dates that are not ISO 8601",
    "Write them as 2020-01-31 or 2020-01-31T12:00:00: day and month are not guessed.",
)
BAD_BYTES = (
    "bytes that are no UTF-8",
    "Save the file as UTF-8, for instance with: iconv -f latin1 -t utf-8 OLD > NEW",
)

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


def _look(text: str, *, date: bool) -> tuple[str, str]:
    if "\ufffd" in text:
        return BAD_BYTES
    if date:
        return _DATES if _NOT_ISO.fullmatch(text) else _OTHER_DATES
    return next(((what, remedy) for pattern, what, remedy in _LOOKS if pattern.fullmatch(text)), _OTHER_NUMBERS)
