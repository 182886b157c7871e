"""Raw rows become encoded ones: clipped, mapped and repaired, but never refused for what they hold.

An error that one row can cause would tell whether that row is there. So every value has a place: a number
outside its bounds goes to the nearer bound, an unknown text to the code for missing values. Each row alone
decides its encoding.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sfumato.errors import SourceError
from sfumato.private.intake.scalars import (
    FALSE_WORDS,
    MISSING_TEXTS,
    TRUE_WORDS,
    number_of,
    parse_clock,
    parse_date,
    parse_number,
)
from sfumato.private.intake.values import UnreadableTypeError, Values, to_numbers, to_texts, unreadable
from sfumato.public.schema.clock import on_the_clock
from sfumato.public.schema.column import Column, plain_word
from sfumato.public.schema.schema import Schema

#: Undiscovered numbers are cut here, so that differences of two of them stay finite.
LARGEST = 1e300
_TRAILING_ZEROS = re.compile(r"([+-]?\d+)\.0*")
#: Categories that are matched whatever their capitals.
_TRUTHS = ("true", "yes", "1", "false", "no", "0")


def conform(raw: Mapping[str, Values], schema: Schema) -> dict[str, NDArray[Any]]:
    """Encode raw rows as `schema.Batch` describes; each row alone decides its result.

    Columns still to be discovered stay raw: numbers as finite float64 (NaN: missing), texts as an object
    array of str (None: missing).

    >>> schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 100)),
    ...                          Column(name="sex", kind="categorical", categories=("f", "m"), missing=True)))
    >>> batch = conform({"age": np.array(["37", "250", "?"]), "sex": np.array(["m ", "f", "x"])}, schema)
    >>> batch["age"], batch["sex"]
    (array([ 37., 100.,  50.]), array([1, 0, 2]))
    """
    batch = {}
    for column in schema.columns:
        if column.name not in raw:
            raise SourceError(
                f"column {column.name!r} of the schema is not in the data. Remove it, or add it to the data."
            )
        try:
            batch[column.name] = _conform_column(raw[column.name], column)
        except UnreadableTypeError as error:
            raise SourceError(f"column {column.name!r}: {error}") from None
    return batch


def _conform_column(values: Values, column: Column) -> NDArray[Any]:
    if column.kind == "image":
        return _conform_images(values, column)
    if isinstance(values, np.ndarray) and values.ndim != 1:
        raise SourceError(
            f"column {column.name!r} must hold one value for each row, and its array has more dimensions."
        )
    if column.is_number:
        numbers = to_numbers(values, parse=parser_of(column))
        if column.special:
            numbers = np.where(np.isin(numbers, column.special), np.nan, numbers)
        return np.clip(numbers, -LARGEST, LARGEST) if column.discover else _bounded(numbers, column)
    return _discoverable_texts(values, column) if column.discover else _codes(values, column)


def parser_of(column: Column) -> Callable[[str], float]:
    """How a column of numbers reads a text."""
    return {"datetime": parse_date, "time": parse_clock}.get(column.kind, parse_number)


def _bounded(numbers: NDArray[np.float64], column: Column) -> NDArray[np.float64]:
    low, high = column.low, column.high
    if column.kind == "integer" and math.ceil(low) <= math.floor(high):
        # Whole bounds first: rounding must not carry a value past a bound that is no whole number.
        low, high = math.ceil(low), math.floor(high)
    if column.kind == "time":
        numbers = on_the_clock(numbers, low, high)
    absent = np.isnan(numbers)
    clipped = np.clip(np.where(absent, column.centre, numbers), low, high)
    if column.kind == "integer":
        clipped = np.rint(clipped)
    return np.where(absent, np.nan, clipped) if column.missing else clipped


def _codes(values: Values, column: Column) -> NDArray[np.int64]:
    private_texts = to_texts(values)
    unknown = len(column.categories) if column.missing else 0
    read = coder(column)
    codes = [unknown if (code := read(text)) is None else code for text in private_texts.private_values]
    return np.array([*codes, unknown], dtype=np.int64)[private_texts.private_codes]


def coder(column: Column) -> Callable[[str | None], int | None]:
    """How a coded column reads a text: its code, or None where it knows no such value.

    >>> read = coder(Column(name="sex", kind="categorical", categories=("f", "m")))
    >>> read(" m "), read("x"), read(None)
    (1, None, None)
    """
    if column.kind == "boolean":
        truths = truth_table(column)
        return lambda text: None if text is None else truths.get(plain_word(text))
    table = _code_table(column)
    return lambda text: None if text is None else _code(text, table)


@lru_cache(maxsize=1024)
def truth_table(column: Column) -> Mapping[str, int]:
    """The code (0: false, 1: true) of every word that a boolean column understands; declared words go before the usual ones.

    >>> table = truth_table(Column(name="ill", kind="boolean", true_words=("Krank",), false_words=("N", "no news")))
    >>> table["krank"], table["no news"], table["ja"], table["non"]
    (1, 0, 1, 0)
    """
    usual = {word: code for code, words in enumerate((FALSE_WORDS, TRUE_WORDS)) for word in words}
    declared = (column.false_words, column.true_words)
    return usual | {plain_word(word): code for code, words in enumerate(declared) for word in words}


@lru_cache(maxsize=1024)
def _code_table(column: Column) -> dict[str, int]:
    """Every accepted spelling of a category; a declared spelling always goes before a derived one."""
    table = {category: code for code, category in enumerate(column.categories)}
    for code, category in enumerate(column.categories):
        for spelling in _spellings(category):
            table.setdefault(spelling, code)
    # A value written as True in one file and as 1 in another is the same, unless both are declared.
    for number, truth in (("1", "true"), ("0", "false")):
        if number in table:
            table.setdefault(truth, table[number])
    return table


def _code(text: str, table: Mapping[str, int]) -> int | None:
    if text in table:
        return table[text]
    return next((table[spelling] for spelling in _spellings(text) if spelling in table), None)


def _spellings(text: str) -> Iterator[str]:
    """What a text may also mean: without spaces around it, 3.0 as 3, True as true."""
    stripped = text.strip()
    yield stripped
    whole = _TRAILING_ZEROS.fullmatch(stripped)
    if whole:
        yield whole[1]
    lower = stripped.lower()
    if lower in _TRUTHS:
        yield lower


def _discoverable_texts(values: Values, column: Column) -> NDArray[Any]:
    private_texts = to_texts(values)
    kept = [_known_text(text, column) for text in private_texts.private_values]
    return np.fromiter([*kept, None], object, count=len(kept) + 1)[private_texts.private_codes]  # None for code -1


def _known_text(text: str | None, column: Column) -> str | None:
    if text is None or text in column.categories:
        return text
    stripped = text.strip()
    return None if stripped in MISSING_TEXTS and stripped not in column.categories else stripped


def _conform_images(values: Values, column: Column) -> NDArray[np.float32]:
    pixels = _pixels(values, column)
    low, high = np.float32(column.low), np.float32(column.high)
    if pixels.dtype.kind != "u":
        # Clipping comes before the narrowing to float32, where a huge number would overflow with a warning.
        pixels = np.clip(np.where(np.isnan(pixels), column.low, pixels), column.low, column.high)
    # The bounds themselves, narrowed, may lie just outside.
    low = np.nextafter(low, np.float32(np.inf)) if float(low) < column.low else low
    high = np.nextafter(high, np.float32(-np.inf)) if float(high) > column.high else high
    return np.clip(pixels.astype(np.float32), low, high).reshape(len(pixels), *column.shape)


def _pixels(values: Values, column: Column) -> NDArray[Any]:
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, pa.ExtensionArray):
        values = values.storage
    if isinstance(values, pa.Array):
        return _pixels_from_lists(values, column)
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
        return _pixels_from_objects(values, column)
    if not isinstance(values, np.ndarray) or values.ndim < 2:
        raise SourceError(f"column {column.name!r} is an image, and the data holds one value for each row there.")
    values = _arranged(values, column)
    return values if values.dtype == np.uint8 else to_numbers(values)


def _arranged(values: NDArray[Any], column: Column) -> NDArray[Any]:
    """Rows of pixels in the order of the schema's shape; the shape of an array is public structure."""
    shape = column.shape
    given = values.shape[1:]
    channels_first = len(shape) == 3 and given == (shape[2], *shape[:2]) and given != shape
    if channels_first:
        return np.moveaxis(values, 1, -1)
    same = [side for side in given if side != 1] == [side for side in shape if side != 1]
    if not same and not (len(given) == 1 and given[0] == math.prod(shape)):
        raise SourceError(
            f"column {column.name!r} is declared with shape {list(shape)}, and the data holds {list(given)} "
            "for each row. Correct the shape in schema.toml."
        )
    return values.reshape(len(values), *shape)


def _pixels_from_lists(values: Values, column: Column) -> NDArray[Any]:
    n_pixels = math.prod(column.shape)
    kind = values.type
    if pa.types.is_fixed_size_list(kind) and not pa.types.is_nested(kind.value_type) and kind.list_size != n_pixels:
        raise SourceError(
            f"column {column.name!r} is declared with shape {list(column.shape)}, and the data holds lists "
            f"of {kind.list_size} for each row. Correct the shape in schema.toml."
        )
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)):
        raise SourceError(f"column {column.name!r} is an image, and the data holds values of type {kind}. Store lists.")
    if pa.types.is_nested(kind.value_type):
        # Rows of rows: the same as lists of lists in an object array. Of numbers only, because Python has not every
        # date and text that Arrow has: one of those in one row would raise.
        inner, types = kind, pa.types
        while types.is_list(inner) or types.is_large_list(inner) or types.is_fixed_size_list(inner):
            inner = inner.value_type
        is_of = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal)
        if not any(is_kind(inner) for is_kind in is_of):
            raise unreadable(kind)
        return _pixels_from_objects(np.fromiter(values.to_pylist(), object, count=len(values)), column)
    # Here the length of a list belongs to its row, so a wrong one makes a blank picture and no error.
    right = pc.fill_null(pc.equal(pc.list_value_length(values), n_pixels), False)
    out = np.full((len(values), n_pixels), np.nan)
    out[right.to_numpy(zero_copy_only=False)] = to_numbers(values.filter(right).flatten()).reshape(-1, n_pixels)
    return out


def _pixels_from_objects(values: NDArray[Any], column: Column) -> NDArray[np.float64]:
    out = np.full((len(values), *column.shape), np.nan)
    for at, private_picture in enumerate(values):
        if _is_nested(private_picture):
            private_numbers = _ragged_numbers(private_picture)
            if private_numbers.size == math.prod(column.shape):
                out[at] = private_numbers.reshape(column.shape)
    return out


def _ragged_numbers(picture: Any) -> NDArray[np.float64]:
    """One picture as a flat array; nested lists are walked, so that uneven ones raise nothing."""
    if issubclass(type(picture), np.ndarray) and picture.dtype.kind in "biuf":
        return to_numbers(np.asarray(picture)).ravel()
    return np.array([number_of(leaf) for leaf in _leaves(picture, depth=4)], dtype=np.float64)


def _leaves(part: Any, *, depth: int) -> Iterator[Any]:
    if not _is_nested(part) or not depth:
        yield None if _is_nested(part) else part
        return
    is_array, base = issubclass(type(part), np.ndarray), list if issubclass(type(part), list) else tuple
    for inner in np.asarray(part).flat if is_array else base.__iter__(part):
        yield from _leaves(inner, depth=depth - 1)


def _is_nested(part: Any) -> bool:
    # By its type, as in `scalars`: what an object says of itself may be anybody's code.
    return issubclass(type(part), np.ndarray | list | tuple)
