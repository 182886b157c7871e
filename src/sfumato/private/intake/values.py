"""Raw values of any make as numbers or as texts; every value alone decides what it becomes.

Nothing here raises because of a value: what cannot be read is missing. Speed comes from doing the work once
for each distinct value of a chunk, and from Arrow where its answer is the same as Python's.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.private.intake import scalars

#: A column of raw rows: a NumPy array, an Arrow array, or `Coded`.
Values = Any


class UnreadableTypeError(SourceError):
    """A column's type (public structure, not a value) is neither numbers nor texts. It travels from workers, as a sentence."""


def unreadable(kind: object) -> UnreadableTypeError:
    """The refusal of a type."""
    return UnreadableTypeError(
        f"values of type {kind} cannot be read as numbers or texts. Split them into columns, or write them as texts."
    )


@dataclass(frozen=True, repr=False)
class Coded:
    """Values that are stored once, and for every row the place of its value (-1: missing)."""

    private_values: Values
    private_codes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.private_codes)

    def compact(self) -> "Coded":
        """Only the values that occur: a file's dictionary may be far larger than one chunk of its rows."""
        if len(self.private_values) <= max(len(self), 1):
            return self
        used, codes = np.unique(self.private_codes, return_inverse=True)
        gap = int(used.size > 0 and used[0] < 0)
        values = _with_kernels(self.private_values)
        places = used[gap:]
        return Coded(values.take(places) if isinstance(values, pa.Array) else values[places], codes - gap)


def to_numbers(values: Values, *, parse: scalars.Parser = scalars.parse_number) -> NDArray[np.float64]:
    """Every value as a float64, dates as seconds since 1970, NaN where there is no number.

    >>> to_numbers(np.array(["7", 2.5, None, "x"], dtype=object))
    array([7. , 2.5, nan, nan])
    """
    values = _plain(values)
    if isinstance(values, Coded):
        coded = values.compact()
        return np.append(to_numbers(coded.private_values, parse=parse), np.nan)[coded.private_codes]
    if isinstance(values, pa.Array):
        return _numbers_from_arrow(values, parse)
    kind = values.dtype.kind
    if kind in "biuf":
        with np.errstate(all="ignore"):
            return np.asarray(values, dtype=np.float64)
    if kind in "mM":
        return scalars.seconds_of_numpy(values)
    flat = np.fromiter(
        (scalars.number_of(value, parse) for value in _objects(values).flat), np.float64, count=values.size
    )
    return flat.reshape(values.shape)


def to_texts(values: Values, *, write: Callable[[Any], Any] = scalars.text_of) -> Coded:
    """Every distinct value as a text (or None), and for every row the place of its text (-1: missing).

    A whole number is written without a point, whatever its type, so that 3, 3.0 and "3" can meet. `write` makes something
    else of each value; it is handed the bytes of an Arrow text.

    >>> coded = to_texts(np.array([3.0, np.nan, 3.0, 0.5]))
    >>> coded.private_values, coded.private_codes
    (['3', '0.5'], array([ 0, -1,  0,  1]))
    """
    values = _plain(values)
    if isinstance(values, Coded):
        outer = values.compact()
        inner = to_texts(outer.private_values, write=write)
        return Coded(inner.private_values, np.append(inner.private_codes, -1)[outer.private_codes])
    if isinstance(values, pa.Array):
        return _texts_from_arrow(values, write)
    if values.dtype.kind in "biuf" and values.dtype.itemsize <= 8 and values.dtype.isnative:
        small = values.astype(np.float32) if values.dtype == np.float16 else values
        codes, distinct = pd.factorize(small)
        plain = distinct if small.dtype.kind == "f" else distinct.tolist()  # whose types say nothing beyond the values
        return Coded([write(value) for value in plain], codes.astype(np.int64))
    if values.dtype.kind in "mM":
        codes, distinct = pd.factorize(values.view(np.int64))
        return Coded([write(value) for value in distinct.view(values.dtype)], codes.astype(np.int64))
    # Objects are written out before they are compared: 1, 1.0 and True are equal keys but different texts.
    texts = np.fromiter((write(value) for value in _objects(values)), object, count=len(values))
    codes, distinct = pd.factorize(texts)
    return Coded(list(distinct), codes.astype(np.int64))


def rows_where(values: Values, mask: NDArray[np.bool_]) -> Values:
    """The values of some rows, in the form that they have."""
    if isinstance(values, Coded):
        return Coded(values.private_values, values.private_codes[mask])
    values = _with_kernels(values)
    return values.filter(pa.array(mask)) if isinstance(values, pa.Array | pa.ChunkedArray) else values[mask]


def _with_kernels(values: Values) -> Values:
    """The same in an older type, where Arrow cannot take or filter rows of the type that they have."""
    kind = values.type if isinstance(values, pa.Array | pa.ChunkedArray) else pa.null()
    if pa.types.is_string_view(kind):
        return values.cast(pa.large_string())
    if pa.types.is_binary_view(kind):
        return values.cast(pa.large_binary())
    return pc.run_end_decode(values) if pa.types.is_run_end_encoded(kind) else values


def _plain(values: Values) -> Values:
    """Unwrap Arrow's containers, and refuse a type (public structure) that holds no single value."""
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.RunEndEncodedArray):
        values = _with_kernels(values)
    if isinstance(values, pa.DictionaryArray):
        codes = pc.fill_null(values.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        inside = codes < len(values.dictionary)  # a library of another make may have checked nothing
        return Coded(values.dictionary, np.where(inside, np.maximum(codes, -1), -1))
    if isinstance(values, np.ndarray) and values.dtype.kind in "cV":
        raise unreadable(values.dtype)
    return values


def _numbers_from_arrow(values: Values, parse: scalars.Parser) -> NDArray[np.float64]:
    kind = values.type
    if _is_text(kind):
        return _numbers_from_texts(values.cast(pa.binary()), parse)
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_decimal(kind):
        values = values.cast(pa.float64())
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
        wide = values.cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(pa.int64())
        ticks = pc.fill_null(wide, np.iinfo(np.int64).min).to_numpy(zero_copy_only=False)
        return scalars.seconds_of_ticks(ticks, unit)
    elif pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise unreadable(kind)
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=np.float64)


def _numbers_from_texts(values: Values, parse: scalars.Parser) -> NDArray[np.float64]:
    # Where Arrow reads a whole chunk it reads each text as float() does: which way is taken changes no value.
    # A text it cannot read sends the chunk the slow way; the usual words for "missing" must not.
    trimmed = pc.ascii_trim_whitespace(values.view(pa.string()))
    for missing in ([], sorted(scalars.MISSING_TEXTS)):
        if missing:
            absent = pc.is_in(trimmed, value_set=pa.array(missing))
            trimmed = pc.if_else(absent, pa.scalar(None, pa.string()), trimmed)
        with suppress(pa.ArrowInvalid):
            return np.asarray(trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    coded = _texts_from_arrow(values, scalars.text_of)
    table = [parse(text) for text in coded.private_values]
    return np.array([*table, np.nan], dtype=np.float64)[coded.private_codes]


def _texts_from_arrow(values: Values, write: Callable[[Any], Any]) -> Coded:
    kind = values.type
    if pa.types.is_null(kind):
        return Coded([], np.full(len(values), -1))
    if pa.types.is_time(kind):
        return to_texts(_numbers_from_arrow(values, scalars.parse_number), write=write)
    if pa.types.is_floating(kind) or (pa.types.is_temporal(kind) and not pa.types.is_interval(kind)):
        # By way of NumPy: Python's dates end at the year 9999, where they raise.
        return to_texts(values.to_numpy(zero_copy_only=False), write=write)
    is_exact = pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_decimal(kind)
    if not (_is_text(kind) or is_exact):
        raise unreadable(kind)
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        values = values.cast(pa.decimal128(kind.precision, kind.scale))  # Arrow has no dictionaries of short ones
    # Read as bytes: a text that is not valid UTF-8 is repaired, not refused.
    coded = (values.cast(pa.binary()) if _is_text(kind) else values).dictionary_encode()
    codes = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return Coded([write(value) for value in coded.dictionary.to_pylist()], codes)


def _is_text(kind: Any) -> bool:
    texts = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view", "fixed_size_binary")
    return any(getattr(pa.types, f"is_{name}")(kind) for name in texts)


def _objects(values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind != "U" or not values.dtype.itemsize:
        return values if values.dtype == object else values.astype(object)
    # A file may hold numbers that are no characters, at which Python raises: such a text is missing.
    points = np.ascontiguousarray(values).view(f"{values.dtype.byteorder}u4").reshape(*values.shape, -1)
    broken = (points > sys.maxunicode).any(axis=-1)
    objects = np.where(broken, "", values).astype(object)
    objects[broken] = None
    return objects
