"""One column of several tables, read as what it means: tools spell numbers, dates, yes and no, and missing differently.

Everything here reads real rows WITHOUT privacy.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.private.intake.scalars import FALSE_WORDS, MISSING_TEXTS, TRUE_WORDS
from sfumato.public.schema.column import plain_word

Columns = Sequence["pd.Series[Any]"]
Reading = Callable[["pd.Series[Any]"], NDArray[np.float64]]

#: What stands beside an amount and says its unit.
_UNITS = r"[€$£¥%\s'’\u00a0\u202f]|EUR|USD|GBP|CHF"
#: Days as they are written, after ISO 8601: the day first, or the month first.
_DAYS_FIRST = ("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%d.%m.%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%Y/%m/%d")
_MONTHS_FIRST = ("%m/%d/%Y", "%m-%d-%Y", "%m/%d/%y", "%b %d, %Y", "%B %d, %Y", "%d-%b-%Y", "%Y/%m/%d")
#: Parts of a name or a word that tools exchange for each other.
_GAPS = r"[\s_\-.]+"

#: Values that mostly show that a column is to be read otherwise.
_FIRST = 20


def same_names(tables: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
    """The tables with the first one's names, where a name differs in capitals, spaces and marks alone.

    >>> real, other = pd.DataFrame({"net_income": [1]}), pd.DataFrame({"Net Income ": [1]})
    >>> list(same_names([real, other])[1])
    ['net_income']
    """
    first, *others = tables
    plain = pd.Series([str(name) for name in first.columns], dtype=object).map(_plain_name)
    known = dict(zip(plain, first.columns, strict=True))
    out = [first]
    for table in others:
        theirs = pd.Series([str(name) for name in table.columns], dtype=object).map(_plain_name)
        alone = ~theirs.duplicated(keep=False) & ~theirs.isin(plain[plain.duplicated(keep=False)])
        renamed = {
            name: known[word]
            for name, word, clear in zip(table.columns, theirs, alone, strict=True)
            if clear and word in known and name not in first.columns and known[word] not in table.columns
        }
        out.append(table.rename(columns=renamed))
    return out


def as_numbers(columns: Columns) -> list[NDArray[np.float64]] | None:
    """Numbers and dates, NaN where missing; nothing where a value is neither."""
    if any(pd.api.types.is_bool_dtype(column) for column in columns):
        return None
    known = [_known(column) for column in columns]
    dated = any(pd.api.types.is_datetime64_any_dtype(column) for column in columns)
    parsed = None if dated else _best(known, (_numbers, _point_decimals, _comma_decimals))
    parsed = _best(known, (_days_first, _months_first)) if parsed is None else parsed
    if parsed is None:
        return None
    # What one tool kept in four bytes cannot equal what another kept in eight.
    narrow = any(column.dtype == np.float32 for column in columns)
    return [values.astype(np.float32).astype(np.float64) for values in parsed] if narrow else parsed


def _best(known: Columns, readings: Sequence[Reading]) -> list[NDArray[np.float64]] | None:
    """Each table by the reading that understands all of its values; of several, those by which the tables share most."""
    tried = []
    for column in known:
        there, some = column.notna().to_numpy(), []
        first = column[there].head(_FIRST)
        for read in readings:
            if np.isnan(read(first)).any():
                continue
            values = read(column)
            if not np.isnan(values[there]).any():
                some.append(values)
                if read is _numbers:  # what is written plainly is not doubted
                    break
        if not some:
            return None
        tried.append(some)

    def shared(chosen: Iterable[NDArray[np.float64]]) -> int:
        kinds = [np.unique(values[~np.isnan(values)]) for values in chosen]
        return int(sum(np.isin(kinds[0], other).sum() for other in kinds[1:]))

    return list(max(product(*tried), key=shared) if any(len(some) > 1 for some in tried) else next(product(*tried)))


def as_codes(columns: Columns) -> list[NDArray[np.float64]]:
    """Equal codes for equal values, -1 where missing: of yes and no where all values are words for them, or of texts.

    Capitals, spaces and hyphens tell no two texts apart, and a number is one however it is written.
    """
    texts = pd.concat([_known(column).map(str, na_action="ignore") for column in columns])
    words = texts.map(plain_word, na_action="ignore")
    if words.dropna().isin([*TRUE_WORDS, *FALSE_WORDS]).all():
        folded = words.isin(TRUE_WORDS).astype(object).where(words.notna(), None)
    else:
        amounts = pd.to_numeric(texts, errors="coerce").astype(object)
        plain = texts.astype("string").str.casefold().str.replace(_GAPS, " ", regex=True).str.strip().astype(object)
        folded = amounts.where(amounts.notna(), plain).where(texts.notna(), None)
    codes = pd.factorize(folded.to_numpy(dtype=object))[0].astype(np.float64)
    return list(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]))


def shares_values(real: NDArray[np.float64], synthetic: NDArray[np.float64], *, is_number: bool) -> bool:
    """Whether a copy could be known by the column: some category stands in both tables, or their ranges meet."""
    here, there = (values[~np.isnan(values) & (is_number | (values >= 0))] for values in (real, synthetic))
    if not len(here) or not len(there):
        return True  # a column without values hides nothing
    if is_number:
        return bool(max(here.min(), there.min()) <= min(here.max(), there.max()))
    return bool(np.isin(here, there).any())


def _plain_name(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum()) or name


def _known(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Plain objects, with nothing in the place of the usual words for missing."""
    plain = column.astype(object).where(column.notna(), None)
    stripped = plain.map(lambda value: value.strip() if isinstance(value, str) else value)
    return stripped.where(~stripped.isin(MISSING_TEXTS), None)


def _numbers(known: "pd.Series[Any]") -> NDArray[np.float64]:
    return np.asarray(
        pd.to_numeric(known, errors="coerce").astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    )


def _bare(known: "pd.Series[Any]") -> "pd.Series[Any]":
    """Amounts without their units."""
    texts = known.map(str, na_action="ignore").astype("string")
    return texts.str.replace(_UNITS, "", regex=True)


def _point_decimals(known: "pd.Series[Any]") -> NDArray[np.float64]:
    """1,234.50"""
    bare = _bare(known)
    written = bare.str.fullmatch(r"[-+]?(\d{1,3}(,\d{3})*|\d+)(\.\d+)?").fillna(False)
    return _numbers(bare.str.replace(",", "", regex=False).where(written, None))


def _comma_decimals(known: "pd.Series[Any]") -> NDArray[np.float64]:
    """1.234,50"""
    bare = _bare(known)
    written = bare.str.fullmatch(r"[-+]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?").fillna(False)
    return _numbers(bare.str.replace(".", "", regex=False).str.replace(",", ".", regex=False).where(written, None))


def _days_first(known: "pd.Series[Any]") -> NDArray[np.float64]:
    return _dates(known, _DAYS_FIRST)


def _months_first(known: "pd.Series[Any]") -> NDArray[np.float64]:
    return _dates(known, _MONTHS_FIRST)


def _dates(known: "pd.Series[Any]", formats: Sequence[str]) -> NDArray[np.float64]:
    """Seconds since 1970, in UTC where no zone is named: ISO 8601, and what is none by the first format that reads it."""
    moments = pd.to_datetime(known, errors="coerce", utc=True, format="ISO8601")
    for form in (each + clock for each in formats for clock in ("", " %H:%M", " %H:%M:%S")):
        left = moments.isna() & known.notna()
        if not left.any():
            break
        texts = known[left].map(str)
        moments[left] = pd.to_datetime(texts, errors="coerce", utc=True, format=form)
    return np.asarray((moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=np.float64)
