"""The id of a person as bytes: what it is written with, exactly, so that no two persons meet and nobody is two.

A text is its UTF-8, without blanks around it; bytes are themselves; a number is its plain decimal writing, whatever its type,
so that 7, 7.0 and "7" are one person. That is the unit of privacy, and it depends on one value alone: never on what else a
column holds. What has no such writing is nobody's id. docs/proofs/persons.md says why this suffices.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any
from uuid import UUID

import pyarrow as pa

from sfumato.private.intake.scalars import MISSING_TEXTS, text_of
from sfumato.private.intake.values import Coded, Values, to_texts, unreadable

_BLANKS = b" \t"
_MISSING = frozenset(text.encode() for text in MISSING_TEXTS)
#: Tuples in tuples; deeper ones are nobody's id.
_DEPTH = 4


def to_ids(values: Values) -> Coded:
    """Every distinct id of a column, and for every row the place of its own (-1, or None there: nobody)."""
    kind = _type_of(values)
    if pa.types.is_null(kind) or pa.types.is_time(kind) or getattr(values, "ndim", 1) != 1:
        raise unreadable(kind)  # the type of a column is public
    is_words = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    # The bytes of a text may be no valid UTF-8.
    return to_texts(values, write=(lambda value: id_of(value.strip(_BLANKS))) if is_words else id_of)


def _type_of(values: Values) -> Any:
    """The Arrow type of the single values; that of bytes where there is no Arrow."""
    if isinstance(values, Coded):
        return _type_of(values.private_values)
    kind = getattr(values, "type", pa.binary())
    while isinstance(kind, pa.BaseExtensionType | pa.DictionaryType):
        kind = kind.value_type if isinstance(kind, pa.DictionaryType) else kind.storage_type
    return kind


def id_of(value: Any, depth: int = _DEPTH) -> bytes | None:
    r"""The id as bytes, None where it is nobody's.

    >>> id_of(" 7"), id_of(7.0), id_of(b"7\xff"), id_of(float("nan")), id_of(("a", 7))
    (b'=7', b'=7', b'=7\xff', None, b'(2:=a,2:=7,)')
    """
    kind = type(value)
    if kind is int and int.bit_length(value) < 64:  # most keys are such numbers: they go the short way
        return b"=%d" % value
    if issubclass(kind, tuple):
        return _joined(tuple.__iter__(value), b"(%b)", depth)
    if issubclass(kind, frozenset):
        return _joined(frozenset.__iter__(value), b"{%b}", depth)
    written = _written(value)
    return None if written is None or written.strip(_BLANKS) in _MISSING else b"=" + written


def _joined(values: Iterable[Any], brackets: bytes, depth: int) -> bytes | None:
    """Each part with its length before it, so that no two lists are written the same way."""
    parts = [id_of(value, depth - 1) for value in values] if depth else [None]
    known = [part for part in parts if part is not None]
    ordered = sorted(known) if brackets == b"{%b}" else known
    return brackets % b"".join(b"%d:%b," % (len(part), part) for part in ordered) if len(known) == len(parts) else None


def _written(value: Any) -> bytes | None:
    kind = type(value)
    if issubclass(kind, bytes):
        return bytes.__getitem__(value, slice(None))
    if issubclass(kind, str):
        return str.encode(value, "utf-8", "surrogatepass").strip(_BLANKS)
    if kind is UUID:
        return str(value).encode()
    if kind is Fraction and value.denominator != 1:
        return b"%x/%x" % (value.numerator, value.denominator)
    text = text_of(value)
    return None if text is None else text.encode()
