"""All that comes out of one run of `measure`: what it returns, asks, says, does, keeps and raises."""

import gc
import sys
import types
from dataclasses import dataclass, field

from sfumato.check.instruments.canonical import Leaf, digest, first_difference, leaves
from sfumato.check.instruments.noted import NotedDoors, NotedMap
from sfumato.check.instruments.watch import watched
from sfumato.errors import ContractError
from sfumato.mechanism import Measurements, Mechanism
from sfumato.public.schema.schema import Schema


@dataclass(frozen=True)
class Outcome:
    """What two runs under the same answers must have in common, to the last bit."""

    measurements: Measurements | None = field(repr=False)
    error: str | None
    measured: list[Leaf] = field(repr=False)
    calls: list[Leaf] = field(repr=False)
    said: list[Leaf] = field(repr=False)
    deeds: tuple[str, ...]
    changed: str | None
    maps: list[NotedMap] = field(repr=False)

    def differs_from(self, other: "Outcome") -> str | None:
        """What is different, in words; None if nothing is."""
        if self.error != other.error:
            return f"one run raises {self.error or 'nothing'}, the other {other.error or 'nothing'}"
        for one, two in ((self.calls, other.calls), (self.measured, other.measured), (self.said, other.said)):
            if (at := first_difference(one, two)) is not None:
                return f"{at} differs"
        return None

    def refuse_side_effects(self) -> None:
        """Raise if it did more than to return something."""
        if self.deeds:
            raise ContractError(
                f"measure acts on the world outside ({', '.join(sorted(set(self.deeds)))}): files, processes, connections "
                "and the garbage collector's lists are ways past the doors. Return what is needed instead."
            )
        if self.changed is not None:
            raise ContractError(
                f"measure changes {self.changed}: what is kept there was never noised. Return it from measure instead."
            )


def outcome_of(mechanism: Mechanism, doors: NotedDoors, schema: Schema) -> Outcome:
    """Run `measure` and note everything."""
    before = own_state(mechanism)
    measurements, error = None, None
    with watched() as heard:
        try:
            measurements = mechanism.measure(doors, schema)
        except (Exception, SystemExit) as raised:  # noqa: BLE001 - what a mechanism on trial raises is a finding
            error = _told(raised)
    changed = first_difference(before, own_state(mechanism))
    measured = digest(leaves(measurements, name="measurements"))
    return Outcome(measurements, error, measured, doors.calls, heard.said, tuple(heard.deeds), changed, doors.maps)


def _told(raised: BaseException) -> str:
    """An error with all that it was raised from: a message is an output."""
    told: list[str] = []
    seen: BaseException | None = raised
    while seen is not None and len(told) < 8:
        told.append(f"{type(seen).__name__}: {seen} {getattr(seen, '__notes__', '')}".strip())
        seen = seen.__cause__ or seen.__context__
    return ", after ".join(told)


def own_state(mechanism: Mechanism) -> list[Leaf]:
    """Whatever a mechanism could keep something in: itself, its classes, their modules, the defaults of functions."""
    found = leaves(vars(mechanism), name="the mechanism's settings", strangers_by_id=True)
    classes = [cls for cls in type(mechanism).__mro__ if cls.__module__ not in ("builtins", "typing", "abc")]
    for cls in classes:
        found += _contents(vars(cls), f"the class {cls.__qualname__}")
    for name in dict.fromkeys(cls.__module__ for cls in classes):
        module = sys.modules.get(name)
        if module is not None:
            found += _contents(vars(module), f"the module {name}")
    return digest(found)


def _contents(held: object, where: str) -> list[Leaf]:
    found: list[Leaf] = []
    for name, value in dict(held).items():  # type: ignore[call-overload]
        if name.startswith("__") or isinstance(value, types.ModuleType):
            continue
        at = f"{where}, {name}"
        found += leaves(value, name=at, strangers_by_id=True)
        if isinstance(value, type):
            for inner, part in vars(value).items():
                if not inner.startswith("__"):
                    found += leaves(part, name=f"{at}.{inner}", strangers_by_id=True)
    return found


def cached_by(mechanism: Mechanism) -> list[object]:
    """What the cached functions of a mechanism's modules remember: arguments and results."""
    modules = [sys.modules.get(cls.__module__) for cls in type(mechanism).__mro__ if cls.__module__ != "builtins"]
    functions = [value for module in modules if module for value in vars(module).values()]
    return [gc.get_referents(function) for function in functions if hasattr(function, "cache_info")]
