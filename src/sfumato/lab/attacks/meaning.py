"""One column of several tables, read as what it means: tools spell numbers, dates, yes and no, and missing differently.

Everything here reads real rows WITHOUT privacy.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.private.intake.scalars import FALSE_WORDS, MISSING_TEXTS, TRUE_WORDS
from sfumato.public.schema.column import plain_word

Columns = Sequence["pd.Series[Any]"]


def as_numbers(columns: Columns) -> list[NDArray[np.float64]] | None:
    """Numbers and dates, NaN where missing; nothing where a value is neither."""
    if any(pd.api.types.is_bool_dtype(column) for column in columns):
        return None
    read = _dates if any(pd.api.types.is_datetime64_any_dtype(column) for column in columns) else _numbers
    parsed: list[NDArray[np.float64]] = []
    for column in columns:
        known = _known(column)
        values = read(known)
        if np.isnan(values[known.notna().to_numpy()]).any():
            return None
        parsed.append(values)
    # What one tool kept in four bytes cannot equal what another kept in eight.
    narrow = any(column.dtype == np.float32 for column in columns)
    return [values.astype(np.float32).astype(np.float64) for values in parsed] if narrow else parsed


def as_codes(columns: Columns) -> list[NDArray[np.float64]]:
    """Equal codes for equal values, -1 where missing: of yes and no where all values are words for them, or of texts."""
    texts = pd.concat([_known(column).map(str, na_action="ignore") for column in columns])
    words = texts.map(plain_word, na_action="ignore")
    if words.dropna().isin([*TRUE_WORDS, *FALSE_WORDS]).all():
        texts = words.isin(TRUE_WORDS).astype(object).where(words.notna(), None)
    codes = pd.factorize(texts.to_numpy(dtype=object))[0].astype(np.float64)
    return list(np.split(codes, np.cumsum([len(column) for column in columns])[:-1]))


def shares_values(real: NDArray[np.float64], synthetic: NDArray[np.float64], *, is_number: bool) -> bool:
    """Whether a copy could be known by the column: some category stands in both tables, or their ranges meet."""
    here, there = (values[~np.isnan(values) & (is_number | (values >= 0))] for values in (real, synthetic))
    if not len(here) or not len(there):
        return True  # a column without values hides nothing
    if is_number:
        return bool(max(here.min(), there.min()) <= min(here.max(), there.max()))
    return bool(np.isin(here, there).any())


def _known(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Plain objects, with nothing in the place of the usual words for missing."""
    plain = column.astype(object).where(column.notna(), None)
    stripped = plain.map(lambda value: value.strip() if isinstance(value, str) else value)
    return stripped.where(~stripped.isin(MISSING_TEXTS), None)


def _numbers(known: "pd.Series[Any]") -> NDArray[np.float64]:
    return np.asarray(
        pd.to_numeric(known, errors="coerce").astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    )


def _dates(known: "pd.Series[Any]") -> NDArray[np.float64]:
    """Seconds since 1970, in UTC where no zone is named."""
    moments = pd.to_datetime(known, errors="coerce", utc=True, format="ISO8601")
    return np.asarray((moments - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1), dtype=np.float64)
