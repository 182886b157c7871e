"""Small things that several tests need."""

import importlib

from sfumato import Fitted
from sfumato.check import fresh
from sfumato.public.answers import AnsweredDoors


def measurements_of(fitted: Fitted):
    """What the mechanism measured, from the doors' answers."""
    return fitted.mechanism.measure(AnsweredDoors(fitted.plan, fitted.answers), fitted.schema)


def set_constant(monkeypatch, name: str, value) -> None:
    """Change a public constant of the package, also in the fresh processes of the contract suite."""
    module, _, constant = name.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), constant, value)
    monkeypatch.setitem(fresh.CONSTANTS, name, value)
