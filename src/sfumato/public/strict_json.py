"""JSON as a certificate needs it: no key twice, no number that is none, nothing deep or huge, every field of its type.

A certificate may have been written by anybody. What is read here is either exactly what was asked for, or refused with one
sentence; no other error comes out.
"""

import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any

from sfumato.errors import VerificationError

_MOST_BYTES = 32 * 2**20
_DEEPEST = 40
_LARGEST_WHOLE = 2**63
_LONGEST_TEXT = 10_000


def parse_json(text: str, *, what: str) -> Any:
    """Read JSON that anybody may have written.

    >>> parse_json('{"a": 1, "a": 2}', what="note.json")
    Traceback (most recent call last):
    sfumato.errors.VerificationError: note.json names the key 'a' twice.
    >>> parse_json('{"a": NaN}', what="note.json")
    Traceback (most recent call last):
    sfumato.errors.VerificationError: note.json holds NaN, which is no number.
    """

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise VerificationError(f"{what} names the key {_short(key)} twice.")
            found[key] = value
        return found

    def no_constant(name: str) -> Any:
        raise VerificationError(f"{what} holds {name}, which is no number.")

    if len(text) > _MOST_BYTES:
        raise VerificationError(f"{what} is larger than {_MOST_BYTES >> 20} MB, which none of ours is.")
    try:
        tree = json.loads(text, object_pairs_hook=no_key_twice, parse_constant=no_constant)
    except json.JSONDecodeError as error:
        raise VerificationError(f"{what} is not JSON (line {error.lineno}). Get the release again.") from None
    except (RecursionError, ValueError):  # nested without end, or a number of thousands of digits
        raise VerificationError(f"{what} is JSON that nobody writes by accident. Get the release again.") from None
    _check_leaves(tree, what=what, depth=0)
    return tree


def _check_leaves(tree: Any, *, what: str, depth: int) -> None:
    if depth > _DEEPEST:
        raise VerificationError(f"{what} is nested more than {_DEEPEST} deep, which none of ours is.")
    match tree:
        case dict():
            for key, value in tree.items():
                _check_leaves(key, what=what, depth=depth + 1)
                _check_leaves(value, what=what, depth=depth + 1)
        case list():
            for value in tree:
                _check_leaves(value, what=what, depth=depth + 1)
        case str():
            if len(tree) > _LONGEST_TEXT or not _can_be_written(tree):
                raise VerificationError(f"{what} holds a text that is too long or no Unicode: {_short(tree)}.")
        case float() if not math.isfinite(tree):
            raise VerificationError(f"{what} holds a number too large to be one.")
        case int() if abs(tree) > _LARGEST_WHOLE:
            raise VerificationError(f"{what} holds a whole number above 2^63.")


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a pair of surrogates
        return False
    return True


def read_fields(body: Any, wanted: Mapping[str, Any], *, what: str) -> dict[str, Any]:
    """The fields of a JSON object, if they are exactly the wanted ones, each of its type.

    Args:
        body: What should be a JSON object.
        wanted: The type of each field: `str`, `int`, `float` (finite), `bool`, `dict`, `list`, a `Literal`,
            a tuple such as `tuple[int, int]` or `tuple[str, ...]`, or any of these `| None`.
        what: How to speak of the object.

    >>> read_fields({"rate": 0.5}, {"rate": float}, what="the sampling")
    {'rate': 0.5}
    >>> read_fields({"rate": "0.5"}, {"rate": float}, what="the sampling")
    Traceback (most recent call last):
    sfumato.errors.VerificationError: the sampling: rate is '0.5', which is not of the type float.
    """
    if not isinstance(body, dict):
        raise VerificationError(f"{what} must be a JSON object with the keys {', '.join(wanted)}.")
    for key in wanted:
        if key not in body:
            raise VerificationError(f"{what} lacks {key!r}.")
    for key in body:
        if key not in wanted:
            raise VerificationError(f"{what} has a key that it should not have: {_short(key)}.")
    out = {}
    for key, kind in wanted.items():
        if not _fits(body[key], kind):
            name = getattr(kind, "__name__", str(kind)) if not typing.get_args(kind) else str(kind)
            raise VerificationError(f"{what}: {key} is {_short(body[key])}, which is not of the type {name}.")
        out[key] = _frozen(body[key]) if typing.get_origin(kind) is tuple else body[key]
    return out


def _frozen(value: Any) -> Any:
    """Lists as tuples, also within."""
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def fields_of(kind: type[Any], body: Any, *, what: str) -> dict[str, Any]:
    """The arguments of a dataclass from a JSON object that holds all of its fields and nothing else."""
    return read_fields(body, typing.get_type_hints(kind), what=what)


def _fits(value: Any, kind: Any) -> bool:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, part) for part in parts)
    if origin is typing.Literal:
        return isinstance(value, str) and value in parts
    if origin is tuple:
        if not isinstance(value, list):
            return False
        if len(parts) == 2 and parts[1] is Ellipsis:
            return all(_fits(entry, parts[0]) for entry in value)
        return len(value) == len(parts) and all(_fits(entry, part) for entry, part in zip(value, parts, strict=True))
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind in (str, int, bool, dict, list, types.NoneType):
        return type(value) is kind
    return True  # a type of somebody else's mechanism, whose own business it is


def _short(value: Any) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
