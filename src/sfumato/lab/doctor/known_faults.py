"""The known faults of a tool, by its name: a table of facts with their sources."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sfumato.errors import SfumatoError


@dataclass(frozen=True)
class KnownFault:
    """One fault: what it is, who found it, and which tests of the panel it would show in."""

    tools: tuple[str, ...]
    fault: str
    source: str
    look: tuple[str, ...]


@cache
def all_faults() -> tuple[KnownFault, ...]:
    """Every fault of the table."""
    text = (files("sfumato.lab.doctor") / "known_faults.toml").read_text(encoding="utf-8")
    return tuple(
        KnownFault(tuple(entry["tools"]), entry["fault"], entry["source"], tuple(entry["look"]))
        for entry in tomllib.loads(text)["fault"]
    )


def faults_of(tool: str) -> tuple[KnownFault, ...]:
    """Those of a tool, whatever its capitals; refused where nothing is known of it, which is not the same as none.

    >>> faults_of("DataSynthesizer")[0].look
    ('exact extremes', 'rare categories', 'row count')
    """
    name = tool.strip().lower().replace(" ", "-").replace("_", "-")
    found = tuple(fault for fault in all_faults() if name in fault.tools)
    if not found:
        known = sorted({name for fault in all_faults() for name in fault.tools})
        raise SfumatoError(
            f"no fault is known of {tool!r}, which does not mean that it has none. Known: {', '.join(known)}."
        )
    return found
