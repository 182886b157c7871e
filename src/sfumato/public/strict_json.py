"""JSON as a certificate needs it: no key twice, no number that is none, nothing deep or huge, every field of its type.

A certificate may have been written by anybody. What is read here is either exactly what was asked for, or refused with one
sentence; no other error comes out.
"""

import dataclasses
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
    """Read JSON that anybody may have written."""

    def no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        for key, value in pairs:
            if key in seen:
                raise VerificationError(f"{what} names the key {_short(key)} twice.")
            seen[key] = value
        return seen

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
        case str() if len(tree) > _LONGEST_TEXT or not _can_be_written(tree):
            raise VerificationError(f"{what} holds a text that is too long or no Unicode: {_short(tree)}.")
        case float() if not math.isfinite(tree):
            raise VerificationError(f"{what} holds a number too large to be one.")
        case float() if tree == 0 and math.copysign(1, tree) < 0:
            raise VerificationError(f"{what} holds minus zero, which none of ours does.")
        case int() if abs(tree) > _LARGEST_WHOLE:
            raise VerificationError(f"{what} holds a whole number above 2^63.")


def _can_be_written(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a pair of surrogates
        return False
    return True


def read_fields(body: Any, wanted: Mapping[str, Any], *, what: str) -> dict[str, Any]:
    """The fields of a JSON object, which a refusal calls `what`, if they are exactly the wanted ones, each of its type.

    Types are `str`, `int`, `float` (finite), `bool`, `dict`, `dict[str, str]`, `list`, a `Literal`, a tuple such as
    `tuple[int, int]` or `tuple[str, ...]`, a dataclass, which is an object of its fields, one of several dataclasses, which
    has the name of its own under `kind`, or any of these `| None`.
    What is `NotRequired` may be left out.
    """
    if not isinstance(body, dict):
        raise VerificationError(f"{what} must be a JSON object with the keys {', '.join(wanted)}.")
    missing = [key for key in wanted if key not in body]
    for key in missing:
        if typing.get_origin(wanted[key]) is not typing.NotRequired:
            raise VerificationError(f"{what} lacks {key!r}.")
    for key in body:
        if key not in wanted:
            raise VerificationError(f"{what} has a key that it should not have: {_short(key)}.")
    out = {}
    for key, kind in wanted.items():
        if key in missing:
            continue
        if typing.get_origin(kind) is typing.NotRequired:
            kind = typing.get_args(kind)[0]
        if not _fits(body[key], kind):
            name = getattr(kind, "__name__", str(kind)) if not typing.get_args(kind) else str(kind)
            raise VerificationError(f"{what}: {key} is {_short(body[key])}, which is not of the type {name}.")
        out[key] = _converted(body[key], kind, what=f"{what}: {key}")
    return out


def types_of(kind: type[Any]) -> dict[str, Any]:
    """The type of each field of a dataclass; one whose metadata says `optional` is written only where it says something."""
    hints = typing.get_type_hints(kind)
    return {
        field.name: typing.NotRequired[hints[field.name]] if field.metadata.get("optional") else hints[field.name]
        for field in dataclasses.fields(kind)
    }


def tagged(value: Any) -> dict[str, Any]:
    """A dataclass that is one of several: its fields after the name of its kind."""
    return {"kind": type(value).__name__, **dataclasses.asdict(value)}


def _converted(value: Any, kind: Any, *, what: str) -> Any:
    """A value that fits, with tuples in the place of lists and dataclasses in that of objects."""
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        kinds = [parts[0]] * len(value) if parts[-1] is Ellipsis else parts
        return tuple(_converted(entry, part, what=what) for entry, part in zip(value, kinds, strict=True))
    known: list[Any] = [part for part in parts or (kind,) if dataclasses.is_dataclass(part)]
    if not known or value is None:
        return value
    body = dict(value)
    if len(known) > 1:
        name = body.pop("kind", None)
        known = [part for part in known if part.__name__ == name]
        if not known:
            raise VerificationError(f"{what} is of no kind that is known.")
    made = known[0]
    return made(**read_fields(body, types_of(made), what=what))


def _fits(value: Any, kind: Any) -> bool:
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, part) for part in parts)
    if dataclasses.is_dataclass(kind):
        return isinstance(value, dict)
    if origin is dict:
        return isinstance(value, dict) and all(_fits(entry, parts[1]) for entry in value.values())
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
