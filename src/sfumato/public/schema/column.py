"""One column: its kind, and the bounds or categories that are public about it."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import Any, Literal, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.public.schema.clock import DAY, MINUTE, clock_numbers, clock_texts, seconds_of, seconds_of_time
from sfumato.public.schema.spectrogram import RATES, Spectrogram
from sfumato.public.spelling import did_you_mean, hidden_character

Kind = Literal["numeric", "integer", "datetime", "time", "categorical", "ordinal", "boolean", "image"]
NUMBER_KINDS: tuple[Kind, ...] = ("numeric", "integer", "datetime", "time")
CODED_KINDS: tuple[Kind, ...] = ("categorical", "ordinal", "boolean")
KINDS: tuple[Kind, ...] = (*NUMBER_KINDS, *CODED_KINDS, "image")

#: The first and the last second of a day.
_DAY = (time(), time(23, 59, 59))
#: Bounds of a spectrogram where none are given: from a silent room to full scale.
DECIBELS = (-80.0, 0.0)
_LONGEST_SOUND = 60.0
#: More would take minutes to read, and noise would leave nothing of them.
MOST_CATEGORIES = 200_000
_OR_DISCOVER = "or discover = true to spend budget on them."
_TRAILING_ZEROS = re.compile(r"([+-]?\d+)\.0*")


def plain_word(text: str) -> str:
    """How a word for true or false is compared: without spaces around it, in lower case, 1.0 as 1."""
    folded = text.strip().casefold()
    whole = _TRAILING_ZEROS.fullmatch(folded)
    return whole[1] if whole else folded


def bounds_of(column: str, kind: str, bounds: Sequence[Any]) -> tuple[float, float]:
    """Two bounds as numbers; dates, or texts of them where the column is of dates, as seconds since 1970-01-01 UTC.

    A day as the upper bound ends with its last second, so that values of that day lie within.
    """
    low, high = (_bound_of(column, kind, side, clock=clock) for side, clock in zip(bounds, _DAY, strict=True))
    return low, high + DAY if kind == "time" and high < low else high


def _bound_of(column: str, kind: str, value: Any, *, clock: time) -> float:
    if kind == "time" and isinstance(value, str | time):
        seconds = seconds_of(value) if isinstance(value, str) else seconds_of_time(value)
        if not math.isnan(seconds):
            return seconds
        raise SchemaError(f'column {column!r}: bounds must be times of a day such as "06:30".')
    if isinstance(value, str) and kind == "datetime":
        with suppress(ValueError):
            value = date.fromisoformat(value) if len(value) <= len("2020-01-31") else datetime.fromisoformat(value)
    if isinstance(value, np.datetime64):
        is_day = np.datetime_data(value.dtype)[0] == "D"
        value = pd.Timestamp(value).date() if is_day and not np.isnat(value) else pd.Timestamp(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, clock)
    if isinstance(value, datetime):
        return value.replace(tzinfo=value.tzinfo or UTC).timestamp()
    if not isinstance(value, str):
        with suppress(TypeError, ValueError, OverflowError):
            return float(value) + 0.0
    raise SchemaError(f"column {column!r}: bounds must be numbers, or dates such as 2020-01-31.")


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column. `datetime` bounds are seconds since 1970-01-01 UTC; dates, and texts such as "2021-01-31", become that.

    `true_words` and `false_words` are what a boolean column's own texts mean; they go before the usual words, and the first
    of each is what a release writes.
    `special` numbers are codes and no amounts: 999 for "not asked". A row that holds one has the place of a missing value,
    and such rows are released as `special_as`, the first of them, unless missing values are declared besides.
    A `time` is that of a day: its bounds are texts such as "22:00" and "06:00", across midnight too, or seconds; without them it is
    the whole day. It is released as HH:MM, or with `seconds` as HH:MM:SS.
    `decimals` is how many a released number has. `depends_on` names the columns that this one is a function of;
    `depends_on_map` may say which: texts of their values and of this one's, for every combination.
    An image with `sound` is the spectrogram of a recording: seconds that are looked at, and the highest pitch in hertz.

    >>> Column(name="age", kind="integer", bounds=(17, 90)).centre
    53.5
    >>> Column(name="sex", kind="categorical", categories=("f", "m"), missing=True).size
    3
    >>> Column(name="ill", kind="boolean", true_words=("positive",), false_words=("negative",)).categories
    ('false', 'true')
    >>> Column(name="seen", kind="datetime", bounds=("1970-01-02", "1970-01-03T12:00")).bounds
    (86400.0, 216000.0)
    >>> days = Column(name="days", kind="integer", bounds=(0, 30), special=(999, -1))
    >>> days.missing, days.decode(np.array([7.0, np.nan])).tolist()
    (True, [7, 999])
    """

    name: str
    kind: Kind
    bounds: tuple[float, float] | None = None
    categories: tuple[str, ...] = ()
    missing: bool = False
    shape: tuple[int, ...] = ()
    discover: bool = False
    true_words: tuple[str, ...] = ()
    false_words: tuple[str, ...] = ()
    special: tuple[float, ...] = ()
    special_as: float | None = None
    decimals: int | None = None
    depends_on: tuple[str, ...] = ()
    depends_on_map: tuple[tuple[str, ...], ...] = ()
    sound: tuple[float, ...] = ()
    seconds: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be clipped or mapped later: a row must never be the reason for an error."""
        if hidden_character(self.name):
            self._refuse(
                " has a control or direction character in its name, with which a report would read otherwise than it is. "
                "Rename the column in the data."
            )
        if self.kind == "time" and self.bounds is None:
            object.__setattr__(self, "bounds", (0.0, DAY - 1.0))
        if self.bounds is not None:  # floats always, so that equal schemas have equal digests
            if isinstance(self.bounds, str) or len(self.bounds) != 2:
                self._refuse(": bounds must be (low, high).")
            object.__setattr__(self, "bounds", bounds_of(self.name, self.kind, self.bounds))
        if self.kind not in KINDS:
            self._refuse(f" has type {self.kind!r}.{did_you_mean(self.kind, KINDS)} Use one of {', '.join(KINDS)}.")
        if self.kind == "boolean":
            object.__setattr__(self, "categories", ("false", "true"))
        if self.discover and self.kind in ("boolean", "image", "time"):
            self._refuse(f" is {self.kind}: there is nothing to discover. Remove discover = true.")
        if self.kind in NUMBER_KINDS and not self.discover:
            self._check_bounds()
        if self.kind in ("categorical", "ordinal") and not self.discover:
            self._check_categories()
        if self.sound:
            self._check_sound()
        if self.kind == "image":
            self._check_image()
        if self.seconds and self.kind != "time":
            self._refuse(f" is {self.kind}, and seconds belongs to a time of a day. Remove it.")
        self._check_words()
        self._check_special()
        self._check_decimals()

    def _check_sound(self) -> None:
        seconds, highest = self.sound if len(self.sound) == 2 else (0.0, 0.0)
        is_a_picture = self.kind == "image" and len(self.shape) == 2
        if not (0 < seconds <= _LONGEST_SOUND and 0 < highest <= RATES[1] / 2 and is_a_picture):
            self._refuse(
                f": sound must be [seconds, highest pitch in hertz], such as [1.0, 4000], with at most {_LONGEST_SOUND:g} "
                "seconds, in an image with shape = [bands, moments]."
            )
        object.__setattr__(self, "sound", (float(seconds), float(highest)))

    def _refuse(self, fault: str) -> NoReturn:
        raise SchemaError(f"column {self.name!r}{fault}")

    def _check_special(self) -> None:
        if self.special_as is not None and self.special_as not in self.special:
            self._refuse(f": special_as = {self.special_as} must be one of special.")
        if not self.special:
            return
        if self.kind not in ("numeric", "integer"):
            self._refuse(f" is {self.kind}, and special belongs to numeric and integer columns. Remove it.")
        codes = tuple(float(code) + 0.0 for code in self.special)
        if not all(math.isfinite(code) for code in codes) or len(set(codes)) != len(codes):
            self._refuse(": special must hold finite numbers, each once, such as [999, -1].")
        if self.kind == "integer" and not all(code.is_integer() and abs(code) < 2**53 for code in codes):
            self._refuse(" is integer, and so must its special values be.")
        object.__setattr__(self, "special", codes)
        if not self.missing:
            object.__setattr__(self, "special_as", codes[0])
            object.__setattr__(self, "missing", True)

    def _check_decimals(self) -> None:
        if self.decimals is None:
            return
        if self.kind != "numeric" or type(self.decimals) is not int or not 0 <= self.decimals <= 12:
            self._refuse(
                f": decimals = {self.decimals!r} must be a whole number from 0 to 12, and the column numeric. "
                'For whole numbers set type = "integer".'
            )
        if self.bounds is not None and max(map(abs, self.bounds)) > 2**53 / 10.0**self.decimals:
            self._refuse(f": numbers up to its bounds have no room for {self.decimals} decimals. Give fewer.")
        if self.bounds is not None and self.released_bounds[0] > self.released_bounds[1]:
            self._refuse(f" has no number of {self.decimals} decimals between its bounds. Give more decimals.")

    @property
    def released_bounds(self) -> tuple[float, float]:
        """The outermost numbers within the bounds that a released row can hold: whole ones, or with the declared decimals."""
        if self.kind == "time":
            return math.ceil(self.low / self.tick) * self.tick, math.floor(self.high / self.tick) * self.tick
        if self.kind in ("integer", "datetime"):
            return math.ceil(self.low), math.floor(self.high)
        if self.decimals is None:
            return self.low, self.high
        unit = 10.0**self.decimals
        low, high = round(self.low, self.decimals), round(self.high, self.decimals)
        low = low if low >= self.low else (math.floor(self.low * unit) + 1) / unit
        return low, high if high <= self.high else (math.ceil(self.high * unit) - 1) / unit

    @property
    def tick(self) -> int:
        """What a released time is a multiple of."""
        return 1 if self.seconds else MINUTE

    def _check_words(self) -> None:
        for key, words in (("true", self.true_words), ("false", self.false_words)):
            if not isinstance(words, tuple) or not all(isinstance(word, str) for word in words):
                self._refuse(f": {key}_words must be a tuple of texts, such as ('Y', 'ja').")
        if (self.true_words or self.false_words) and self.kind != "boolean":
            self._refuse(
                f" is {self.kind}, and words for true and false belong to a boolean column. "
                'Remove them, or set type = "boolean".'
            )
        if both := set(map(plain_word, self.true_words)) & set(map(plain_word, self.false_words)):
            self._refuse(
                f" declares {min(both)!r} as true and as false: capitals, spaces around a word and zeros after a point make "
                "no difference. List each word once."
            )

    def _check_bounds(self) -> None:
        if self.bounds is None:
            self._refuse(
                " has no bounds. Give bounds = [low, high] in schema.toml, or discover = true to spend budget on them."
            )
        low, high = self.bounds
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            self._refuse(f" has bounds [{low}, {high}]: give two finite numbers, low before high.")
        if self.kind == "time" and not (
            0 <= low < DAY and self.released_bounds[0] < self.released_bounds[1] < low + DAY
        ):
            self._refuse(": bounds of a time must lie within a day and some minutes apart.")

    def _check_categories(self) -> None:
        if not self.categories:
            self._refuse(" has no categories. List them in schema.toml, " + _OR_DISCOVER)
        if len(self.categories) > MOST_CATEGORIES:
            self._refuse(
                f" has {len(self.categories):,} categories, and {MOST_CATEGORIES:,} are the most. Group them: noise would "
                "leave nothing of so many."
            )
        if len(set(self.categories)) != len(self.categories):
            self._refuse(" names a category twice. List each category once.")

    def _check_image(self) -> None:
        if len(self.shape) not in (2, 3) or any(side < 1 for side in self.shape):
            self._refuse(" is an image: give shape = [height, width] or [height, width, channels].")
        if self.bounds is None:
            object.__setattr__(self, "bounds", DECIBELS if self.sound else (0.0, 255.0))
        self._check_bounds()
        if self.missing:
            self._refuse(" is an image, and images cannot be missing. Remove missing = true.")

    @property
    def spectrogram(self) -> Spectrogram | None:
        """How a recording becomes a row of this column; None where it holds no sound."""
        if not self.sound:
            return None
        bands, frames = self.shape
        return Spectrogram(bands=bands, frames=frames, seconds=self.sound[0], highest=self.sound[1])

    @property
    def is_number(self) -> bool:
        """Whether rows hold a bounded number here."""
        return self.kind in NUMBER_KINDS

    @property
    def is_coded(self) -> bool:
        """Whether rows hold one of a public list of values here."""
        return self.kind in CODED_KINDS

    @property
    def size(self) -> int:
        """How many codes a coded column has, with the one for missing values."""
        return len(self.categories) + int(self.missing)

    @property
    def low(self) -> float:
        """The lower bound."""
        return self._known_bounds[0]

    @property
    def high(self) -> float:
        """The upper bound."""
        return self._known_bounds[1]

    @property
    def centre(self) -> float:
        """The middle of the bounds: the public guess for a number that cannot be read."""
        return (self.low + self.high) / 2

    @property
    def _known_bounds(self) -> tuple[float, float]:
        return self.bounds or self._refuse(" has no bounds yet: run its discovery first.")

    def to_json(self) -> dict[str, Any]:
        """Plain values; most only where they are given, so that no other schema's digest changes with a new one."""
        given = {
            "bounds": self.bounds,
            "categories": self.categories if self.is_coded else None,
            "shape": self.shape or None,
            "discover": self.discover or None,
            "true": self.true_words or None,
            "false": self.false_words or None,
            "special": self.special or None,
            "decimals": self.decimals,
            "depends_on": self.depends_on or None,
            "depends_on_map": [list(entry) for entry in self.depends_on_map] or None,
            "sound": self.sound or None,
            "seconds": self.seconds or None,
        }
        plain = {key: list(v) if isinstance(v, tuple) else v for key, v in given.items() if v is not None}
        special = {"special_as": self.special_as} if self.special else {}
        return {"name": self.name, "kind": self.kind, "missing": self.missing, **plain, **special}

    @property
    def written(self) -> tuple[Any, ...]:
        """What a release writes for each category: a word as it came in, where the schema says which words these are.

        >>> Column(name="ill", kind="boolean", true_words=("Yes",), false_words=("No",)).written
        ('No', 'Yes')
        """
        if self.kind != "boolean":
            return self.categories
        words = [next((word for word in said if word.strip()), None) for said in (self.false_words, self.true_words)]
        return (False, True) if None in words else tuple(words)

    def decode(self, values: NDArray[Any]) -> "pd.Series[Any]":
        """Encoded values as a reader wants to see them: whole numbers, dates, category names."""
        if self.kind == "image":
            self._refuse(" holds images, which have no place in a table.")
        if self.is_coded:
            codes = np.clip(values.astype(np.int64), 0, self.size - 1)
            codes = np.where(codes < len(self.categories), codes, -1)  # pandas' own code of what is missing
            if self.written == (False, True):
                return pd.Series(pd.arrays.BooleanArray(codes == 1, codes < 0), name=self.name)
            named = pd.Categorical.from_codes(codes, pd.Index(list(self.written)), ordered=self.kind == "ordinal")
            return pd.Series(named, name=self.name)
        numbers = pd.Series(np.clip(values.astype(np.float64), self.low, self.high), name=self.name)
        if self.kind == "integer":
            whole = numbers.round().clip(math.ceil(self.low), math.floor(self.high))
            if self.special_as is not None:
                return whole.fillna(self.special_as).astype("int64")
            return whole.astype("Int64") if self.missing else whole.astype("int64")
        if self.kind == "datetime":
            return pd.to_datetime(numbers.round(), unit="s").astype("datetime64[s]").rename(self.name)
        if self.kind == "time":
            whole = (numbers / self.tick).round() * self.tick
            return clock_texts(np.asarray(whole.clip(*self.released_bounds), np.float64), seconds=self.seconds).rename(
                self.name
            )
        if self.decimals is not None:
            numbers = numbers.round(self.decimals).clip(*self.released_bounds)
        return numbers if self.special_as is None else numbers.fillna(self.special_as)

    def encode(self, values: "pd.Series[Any]") -> NDArray[Any]:
        """Values of released rows as encoded rows hold them: what `decode` makes of them is the same again."""
        if self.kind == "boolean":
            return values.astype("boolean").to_numpy(dtype=np.int64, na_value=len(self.categories))
        if self.is_coded:
            codes = values.cat.set_categories(list(self.categories)).cat.codes.to_numpy().astype(np.int64)
            return np.where(codes < 0, len(self.categories), codes)
        if self.kind == "datetime":
            seconds = values.astype("datetime64[s]").astype("int64").to_numpy().astype(np.float64)
            return np.where(values.isna().to_numpy(), np.nan, seconds)
        if self.kind == "time":
            return clock_numbers(values, low=self.low)
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers if self.special_as is None else np.where(numbers == self.special_as, np.nan, numbers)
