"""Small things that several tests need."""

import importlib

from sfumato.check.instruments import fresh

#: The helper processes of the contract suite, by what they change before they serve: a start takes seconds of imports.
_helpers: dict[str, fresh._Helper] = {}


def set_constant(monkeypatch, name: str, value) -> None:
    """Change a public constant of a mechanism that has no setting for it, also in the fresh processes of the contract suite."""
    module, _, constant = name.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), constant, value)
    change = f"import importlib; importlib.import_module({module!r}).{constant} = {value!r}; "
    monkeypatch.setattr(fresh, "_SERVE", change + fresh._SERVE)
    monkeypatch.setattr(fresh, "_helper", _helpers.setdefault(fresh._SERVE, fresh._Helper()))
