"""The versions of what a release is made with: noise, numbers, files and drawings."""

import importlib.metadata
from collections.abc import Mapping, Sequence
from functools import cache

SOFTWARE = (
    *("cryptography", "dp-accounting", "jinja2", "matplotlib", "numpy"),
    *("pandas", "pillow", "pyarrow", "scipy", "sfumato"),
)
#: The same rows give the same bytes of Parquet only under the same versions of these.
WRITTEN_BY = ("pandas", "pyarrow")


def installed_software() -> dict[str, str]:
    """What runs here."""
    return {name: _version(name) for name in SOFTWARE}


def others_than_here(software: Mapping[str, str], names: Sequence[str]) -> list[str]:
    """Which of these have another version in a release than here; none where it was made by the very same."""
    here = installed_software()
    return [f"{name} {software.get(name)}" for name in names if software.get(name) != here[name]]


@cache  # a process keeps the version that it has loaded
def _version(name: str) -> str:
    return importlib.metadata.version(name)
