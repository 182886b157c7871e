"""Settings of a mechanism from the command line: `--set mixtures=500`, read by the type of the field."""

import dataclasses
import types
import typing
from collections.abc import Sequence
from typing import Any, Literal, TypeVar, cast

from sfumato.errors import PlanError
from sfumato.mechanism import Mechanism, learner_for, mechanism_for, refuse_learner
from sfumato.public.schema.schema import Schema

M = TypeVar("M")


def chosen_mechanism(name: str, *, schema: Schema, settings: Sequence[str]) -> Mechanism:
    """The mechanism of that name with some of its settings replaced."""
    mechanism = mechanism_for(name, schema)
    refuse_learner(mechanism)
    return with_settings(mechanism, settings)


def chosen_learner(name: str, *, settings: Sequence[str]) -> Mechanism:
    """The learner of that name with some of its settings replaced."""
    return with_settings(learner_for(name), settings)


def with_settings(mechanism: M, settings: Sequence[str]) -> M:
    """The same with some of its settings replaced."""
    fields: Any = mechanism
    if not settings:
        return mechanism
    known = {field.name for field in dataclasses.fields(fields)}
    hints = typing.get_type_hints(type(mechanism))
    changed: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not known:
            raise PlanError(f"{fields.name} has no settings. Leave out --set {setting}.")
        if not equals or key not in known:
            raise PlanError(
                f"{setting!r} is no setting of {fields.name}. Write KEY=VALUE; known: {', '.join(sorted(known))}."
            )
        changed[key] = _parse(text, hints[key], key=key)
    return cast(M, dataclasses.replace(fields, **changed))


def _parse(text: str, kind: Any, *, key: str) -> Any:
    """Read a value by the type of its field.

    >>> _parse("500", int, key="mixtures"), _parse("none", float | None, key="l2_clip")
    (500, None)
    >>> _parse("many", int, key="mixtures")
    Traceback (most recent call last):
    sfumato.errors.PlanError: mixtures = 'many' must be a whole number.
    """
    options = typing.get_args(kind)
    if isinstance(kind, types.UnionType) or typing.get_origin(kind) is typing.Union:
        if type(None) in options and text.lower() == "none":
            return None
        return _parse(text, next(option for option in options if option is not type(None)), key=key)
    if typing.get_origin(kind) is Literal:
        if text not in options:
            raise PlanError(f"{key} = {text!r} must be one of {', '.join(map(str, options))}.")
        return text
    if kind is bool:
        return _parse_bool(text, key=key)
    if kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            what = "a whole number" if kind is int else "a number"
            raise PlanError(f"{key} = {text!r} must be {what}.") from None
    if kind is str:
        return text
    raise PlanError(f"{key} cannot be set from the command line. Set it in Python.")


def _parse_bool(text: str, *, key: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise PlanError(f"{key} = {text!r} must be true or false.")
    return text.lower() == "true"
