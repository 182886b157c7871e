"""Words, numbers and dates in the reader's language, and texts of strangers made harmless to look at."""

import gettext
import re
import unicodedata
from datetime import datetime
from functools import lru_cache
from pathlib import Path

from babel import Locale, negotiate_locale
from babel.dates import format_datetime
from babel.localedata import exists
from babel.numbers import format_decimal, format_percent, format_scientific

LANGUAGES = {"en": "English", "de": "Deutsch"}
DOMAIN, FOLDER = "studio", Path(__file__).parent / "locale"
#: A name is cut after so many characters.
LONGEST = 80
_REGION = re.compile("[a-z]{2}-[A-Z]{2}")


@lru_cache(maxsize=len(LANGUAGES))
def catalogue(language: str) -> gettext.NullTranslations:
    """The texts of a language. English is what the pages are written in."""
    if language == "en":
        return gettext.NullTranslations()
    return gettext.translation(DOMAIN, FOLDER, languages=[language])


def language_of(wanted: str | None, accepted: str) -> str:
    """The language that was chosen, or else the first that the browser asks for and that is known.

    >>> language_of(None, "fr-FR,de-CH;q=0.8"), language_of("en", "de"), language_of("xx", "")
    ('de', 'en', 'en')
    """
    if wanted in LANGUAGES:
        return str(wanted)
    asked = [part.split(";")[0].strip() for part in accepted.split(",")]
    return negotiate_locale([name.split("-")[0] for name in asked], list(LANGUAGES)) or "en"


def locale_of(language: str, accepted: str) -> str:
    """How numbers and dates are written: as where the browser is at home, if its language is the one that is read.

    >>> locale_of("en", "en-GB,en;q=0.5"), locale_of("de", "en-GB,de-CH"), locale_of("en", "de"), locale_of("en", "en-../x")
    ('en_GB', 'de_CH', 'en', 'en')
    """
    for part in accepted.split(","):
        name = part.split(";")[0].strip()
        if _REGION.fullmatch(name) and name.startswith(f"{language}-") and exists(name.replace("-", "_")):
            return name.replace("-", "_")
    return language


def mark(text: str) -> str:
    """Marks a text for the catalogue; it is translated where it is shown."""
    return text


def shown(value: object, longest: int = LONGEST) -> str:
    r"""A text as it may be looked at: what turns, hides or breaks text is spelled out, and what is long is cut.

    >>> shown("age\u202egnp.exe"), shown("a\x00b\nc"), shown("x" * 100, longest=5)
    ('age[U+202E]gnp.exe', 'a[U+0000]b[U+000A]c', 'xxxxx[...]')
    """
    text = str(value)
    cut = text[:longest]
    return "".join(map(_visible, cut)) + ("[...]" if len(text) > longest else "")


def _visible(character: str) -> str:
    # Cc: controls, Cf: bidi marks and what is invisible, Cs and Co: no characters, Zl and Zp: other ends of lines.
    hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
    return f"[U+{ord(character):04X}]" if hidden else character


class Numbers:
    """Numbers and dates as a language writes them."""

    def __init__(self, place: str) -> None:
        self._locale = Locale.parse(place)

    def number(self, value: float) -> str:
        """With separators; small ones with three digits that count."""
        if value != 0 and abs(value) < 1e-3:
            return str(format_scientific(float(f"{value:.3g}"), locale=self._locale)).replace("E", "e")
        return str(format_decimal(value if abs(value) >= 1000 else float(f"{value:.4g}"), locale=self._locale))

    def percent(self, share: float) -> str:
        """In percent, with a digit where it is small."""
        least, pattern = 0.001, self._locale.percent_formats[None].pattern
        fine = pattern.replace("0%", "0.#%").replace("0\u00a0%", "0.#\u00a0%")
        told = str(
            format_percent(max(share, least) if share else 0, format=fine if share < 0.1 else None, locale=self._locale)
        )
        return f"< {told}" if 0 < share < least else told

    def moment(self, seconds: float) -> str:
        """A date and a time of the day on this machine's clock."""
        return str(format_datetime(datetime.fromtimestamp(seconds), format="medium", locale=self._locale))

    def instant(self, text: str) -> str:
        """A moment as the ledger writes it, on this machine's clock.

        >>> Numbers("de").instant("no moment")
        'no moment'
        """
        try:
            return self.moment(datetime.fromisoformat(text).timestamp())
        except (ValueError, OverflowError):
            return shown(text, 30)

    def size(self, n_bytes: int) -> str:
        """Of a file.

        >>> Numbers("de").size(1_234_567), Numbers("en").size(0)
        ('1,2 MB', '0 B')
        """
        value, unit = float(n_bytes), "B"
        for larger in ("kB", "MB", "GB", "TB"):
            if value < 1000:
                break
            value, unit = value / 1000, larger
        return f"{format_decimal(round(value, 1), locale=self._locale)} {unit}"
