"""What a mechanism is: steps, measure, build. It never sets a noise scale, nor sees an array that it could keep."""

import dataclasses
import json
import typing
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from sfumato.errors import PlanError, VerificationError
from sfumato.model import Classifier, Product, Weights
from sfumato.public.budget import Budget
from sfumato.public.certificate.certificate import MechanismRecord
from sfumato.public.certificate.non_private import BASELINES, why_no_mechanism
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema, schema_of
from sfumato.public.schema.wide import has_few_rows_each, is_wide
from sfumato.public.spelling import did_you_mean
from sfumato.public.strict_json import read_fields

#: What `measure` makes of the doors' answers, by name: a function of these noisy numbers and of public facts alone.
Measurements = Mapping[str, Any]


class Mechanism(Protocol):
    """A frozen dataclass of public settings with three methods; docs/guide/add-a-mechanism.md writes one."""

    name: ClassVar[str]

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Every planned access to private rows. Public: it sees no data."""

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Use the doors. The only method that comes near private rows."""

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> Product:
        """Turn noisy numbers into a model: post-processing, free of cost."""


@runtime_checkable
class Learner(Protocol):
    """A mechanism whose model is a classifier: what is released are its weights, and no rows."""

    def classifier(self, weights: Weights, schema: Schema, budget: Budget) -> Classifier:
        """The classifier of weights that were read from a file."""


class Named(Protocol):
    """All that is asked of a mechanism where its steps are known already: a mechanism, or the record of one."""

    @property
    def name(self) -> str:
        """The name that it is registered by."""


#: Mechanisms that release mixtures of rows, or means of clusters, in the place of rows.
_MIXING = ("dpmix", "clustmix", "kip", "dp-kip")
_REGISTRY: dict[str, type[Mechanism]] = {}
M = TypeVar("M", bound=type[Mechanism])


def register(cls: M) -> M:
    """Make a mechanism known by its name, so that releases made with it can be loaded."""
    if cls.name in BASELINES:
        raise PlanError(why_no_mechanism(cls.name))
    _load(cls.name)  # the package's own comes first, and gives way
    _REGISTRY[cls.name] = cls
    return cls


def _load(name: str) -> None:
    """Import the package's own mechanism of that name, which registers itself, if there is one and it was not asked for yet."""
    if name not in _REGISTRY:
        import_module("sfumato.mechanisms").load(name)


def registered(name: str) -> type[Mechanism]:
    """The mechanism class of that name."""
    if name in BASELINES:
        raise PlanError(why_no_mechanism(name))
    _load(name)
    if name not in _REGISTRY:
        known = registered_names()
        raise PlanError(f"there is no mechanism {name!r}.{did_you_mean(name, known)} Known: {', '.join(known)}.")
    return _REGISTRY[name]


def mechanism_for(name: str, schema: Schema | str | Path) -> Mechanism:
    """A mechanism with its default settings. `auto` chooses from the schema alone."""
    if name == "auto":
        declared = schema_of(schema)
        by_moments = is_wide(declared) or has_few_rows_each(declared)
        alone = "3a-image" if declared.images else "moments" if by_moments else "3a-table"
        name = "3a-tables" if declared.tables else alone
    return registered(name)()


def as_mechanism(asked: Mechanism | str, schema: Schema) -> Mechanism:
    """A mechanism as people ask for one: itself, or its name. Anything else is answered with what to give."""
    if isinstance(asked, str):
        asked = mechanism_for(asked, schema)
    if hasattr(asked, "steps") and not getattr(asked, "takes_tables", False):
        schema.require_one_table(asked.name)  # a mechanism from elsewhere may not ask
    if isinstance(asked, type) and hasattr(asked, "steps"):
        raise PlanError(f"{asked.__name__} is a class of mechanisms. Give one of them: {asked.__name__}().")
    if not hasattr(asked, "steps"):
        raise PlanError(
            f"a mechanism of type {type(asked).__name__} is not known. Give one, or its name, such as 'auto', before the data; "
            "or call sf.synthesize(data, schema, epsilon=1), which chooses for you."
        )
    if schema.rules and asked.name in _MIXING and getattr(asked, "releases", "means") == "means":
        raise PlanError(
            f"{asked.name} releases mixtures of rows, in which no rules can hold. Take the rules out of the schema, or use another "
            "mechanism, such as auto."
        )
    return asked


def learner_for(name: str, schema: Schema | None = None) -> Mechanism:
    """A learner with its default settings; `auto` is the one for pictures, or for tables, as the schema has them."""
    if name == "auto" and schema is not None:
        name = "scattering" if schema.images else "logistic"
    mechanism = registered(name)()
    if not isinstance(mechanism, Learner):
        raise PlanError(f"{name} releases rows and trains no model. Learners: {', '.join(learner_names())}.")
    return mechanism


def refuse_learner(mechanism: Mechanism) -> None:
    """Where rows are wanted."""
    if isinstance(mechanism, Learner):
        raise PlanError(
            f"{mechanism.name} trains a model and releases no rows. Use sfumato train --learner {mechanism.name}."
        )


def learner_names() -> tuple[str, ...]:
    """The names of all learners."""
    return tuple(name for name in registered_names() if issubclass(registered(name), Learner))


def settings_of(mechanism: Named) -> dict[str, Any]:
    """The public settings of whatever has a name. Of settings in groups only those that are not the default ones."""
    settings: Any = mechanism
    if not dataclasses.is_dataclass(settings) or isinstance(settings, type):
        raise PlanError(f"mechanism {mechanism.name!r} must be a frozen dataclass of its public settings.")
    own = {entry.name: getattr(settings, entry.name) for entry in dataclasses.fields(settings)}
    groups = {name: value for name, value in own.items() if dataclasses.is_dataclass(value)}
    plain = {name: value for name, value in own.items() if name not in groups}
    return plain | {name: changed for name, group in groups.items() if (changed := _changed(group))}


def _changed(group: Any) -> dict[str, Any]:
    """The settings of a group that are not those of a fresh one, and groups within it likewise."""
    fresh, found = type(group)(), {}
    for entry in dataclasses.fields(group):
        value, default = getattr(group, entry.name), getattr(fresh, entry.name)
        if value != default:
            found[entry.name] = _changed(value) if dataclasses.is_dataclass(value) else value
    return found


def record_of(mechanism: Mechanism) -> MechanismRecord:
    """Its name and public settings for the certificate, as JSON gives them back: lists in the place of tuples."""
    return MechanismRecord(mechanism.name, json.loads(json.dumps(settings_of(mechanism))))


def mechanism_from(record: MechanismRecord) -> Mechanism:
    """The mechanism of a certificate, with exactly the settings that are listed, each of its type."""
    mechanism: Mechanism = made_from(registered(record.name), record.parameters, what=f"mechanism {record.name!r}")
    return mechanism


def made_from(cls: Any, body: Any, *, what: str, is_group: bool = False) -> Any:
    """A dataclass with the settings that are listed, each of its type: all but groups of them; of a group, any."""
    if not isinstance(body, dict):
        raise VerificationError(f"{what} must be a JSON object.")
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # types that only its own module knows
        hints = {}
    wanted = {entry.name: hints.get(entry.name, Any) for entry in dataclasses.fields(cls)}
    groups = {name: kind for name, kind in wanted.items() if dataclasses.is_dataclass(kind)}
    inner = {
        name: made_from(kind, body[name], what=f"{what}, {name}", is_group=True)
        for name, kind in groups.items()
        if name in body
    }
    plain = {name: kind for name, kind in wanted.items() if name not in groups and (name in body or not is_group)}
    listed = {name: value for name, value in body.items() if name not in inner}
    return cls(**read_fields(listed, plain, what=what), **inner)


def registered_names() -> tuple[str, ...]:
    """The names of all mechanisms."""
    return tuple(sorted({*import_module("sfumato.mechanisms").PLACES, *_REGISTRY}))
