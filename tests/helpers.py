"""Small things that several tests need."""

import importlib

from sfumato.check.instruments import fresh

_patched: list[fresh._Helper] = []


def set_constant(monkeypatch, name: str, value) -> None:
    """Change a public constant of a mechanism that has no setting for it, also in the fresh processes of the contract suite."""
    module, _, constant = name.rpartition(".")
    monkeypatch.setattr(importlib.import_module(module), constant, value)
    change = f"import importlib; importlib.import_module({module!r}).{constant} = {value!r}; "
    monkeypatch.setattr(fresh, "_SERVE", change + fresh._SERVE)
    while _patched:
        _patched.pop()._close()
    _patched.append(fresh._Helper())
    monkeypatch.setattr(fresh, "_helper", _patched[-1])
