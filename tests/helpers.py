"""Small things that several tests need."""

import importlib

from sfumato.check.instruments import fresh


def set_constant(monkeypatch, name: str, value) -> None:
    """Change a public constant of the package, also in the fresh processes of the contract suite."""
    module, _, constant = name.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), constant, value)
    monkeypatch.setitem(fresh.CONSTANTS, name, value)
