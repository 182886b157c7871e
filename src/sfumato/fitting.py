"""From private rows to a fitted release: one straight line for every mechanism."""

import dataclasses
import importlib.metadata
import os
from collections.abc import Callable
from typing import Any

import dp_accounting as dpa
import numpy as np

from sfumato.errors import PlanError
from sfumato.fitted import Fitted
from sfumato.mechanism import Mechanism, registered
from sfumato.private.kernel.discovery import run_discovery
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.view import View
from sfumato.private.sensitive import Sensitive
from sfumato.public.budget import Budget
from sfumato.public.certificate import Status, make_certificate
from sfumato.public.plan import Plan, make_plan, refuse_sampling
from sfumato.public.schema import Schema, sketch


def plan(mechanism: Mechanism | str, schema: Schema, budget: Budget, *, prior: dpa.DpEvent | None = None) -> Plan:
    """Every access to private rows and its noise, before any row is read."""
    chosen = method(mechanism, schema) if isinstance(mechanism, str) else mechanism
    if schema.unknown:
        names = ", ".join(column.name for column in schema.unknown)
        raise PlanError(f"bounds or categories of {names} are to be discovered first, so the plan is not known yet.")
    return make_plan(chosen.steps(schema), budget=budget, unit=schema.unit, rows=schema.rows, prior=prior)


def method(name: str, schema: Schema) -> Mechanism:
    """A mechanism with its default settings. `auto` chooses from the schema alone."""
    if name == "auto":
        name = "3a-image" if schema.images else "3a-table"
    return registered(name)()


def fit(
    mechanism: Mechanism | str,
    data: Sensitive,
    budget: Budget,
    *,
    seed: int | None = None,
    source: NoiseSource | None = None,
    on_step: Callable[[str], None] = lambda name: None,
    view_type: type[View] = View,
) -> Fitted:
    """Measure private rows within the budget and build a model from what was measured.

    Args:
        mechanism: A mechanism, or the name of one (`auto` for the default).
        data: The private rows.
        budget: The guarantee to meet.
        seed: Public randomness of the model. Drawn afresh where it is not given, and written into the certificate.
        source: Privacy randomness. The default is secure; a seeded one stamps the certificate `research`.
        on_step: Told the name of each step as it begins.
        view_type: The doors. Another type than View stamps the certificate `non_private`.
    """
    schema = data.schema
    chosen = method(mechanism, schema) if isinstance(mechanism, str) else mechanism
    source = source or NoiseSource()
    seed = int.from_bytes(os.urandom(4), "little") if seed is None else seed

    if schema.unknown:
        refuse_sampling(chosen.steps(sketch(schema)))  # before any row is read
    discovered = run_discovery(data, budget=budget, source=source, on_step=on_step) if schema.unknown else None
    prior = None
    if discovered is not None:
        schema, data, prior = discovered.schema, discovered.data, discovered.event
    planned = plan(chosen, schema, budget, prior=prior)
    view = view_type(data, plan=planned, source=source, schema=schema, on_step=on_step)
    measurements = chosen.measure(view, schema)
    del view  # and with it the rows that it kept in memory

    # ------------------------------------------------------------------------------------------------------------
    # The privacy boundary. Above: private rows behind doors. Below: a function of noisy numbers and public facts.
    # ------------------------------------------------------------------------------------------------------------

    on_step("build")
    measurements = {name: np.asarray(values) for name, values in measurements.items()}
    model = chosen.build(measurements, schema, seed=seed)
    certificate = make_certificate(
        plan=planned,
        schema=schema,
        mechanism=mechanism_to_json(chosen),
        seed=seed,
        randomness=source.description,
        status=_status(source, view_type),
        software=_software(),
        discovery=None if discovered is None else discovered.to_json(),
    )
    return Fitted(chosen, schema, planned, measurements, model, certificate)


def mechanism_to_json(mechanism: Mechanism) -> dict[str, Any]:
    """The mechanism's name and public settings."""
    settings: Any = mechanism
    if not dataclasses.is_dataclass(settings) or isinstance(settings, type):
        raise PlanError(f"mechanism {mechanism.name!r} must be a frozen dataclass of its public settings.")
    return {"name": mechanism.name, "parameters": dataclasses.asdict(settings)}


def _status(source: NoiseSource, view_type: type[View]) -> Status:
    if view_type is not View:
        return "non_private"
    return "certified" if source.is_secure else "research"


def _software() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in ("sfumato", "dp-accounting", "numpy", "cryptography")}
