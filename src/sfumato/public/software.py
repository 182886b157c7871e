"""The versions of what a release is made with: noise, numbers, files and drawings."""

import importlib.metadata
from functools import cache

SOFTWARE = (
    "cryptography",
    "dp-accounting",
    "jinja2",
    "matplotlib",
    "numpy",
    "pandas",
    "pillow",
    "pyarrow",
    "scipy",
    "sfumato",
)
#: The same rows and words give the same bytes only under the same versions of these.
DRAWN_BY = ("jinja2", "matplotlib", "numpy", "pandas", "pillow", "sfumato")
WRITTEN_BY = ("numpy", "pandas", "pyarrow", "sfumato")


def installed_software() -> dict[str, str]:
    """What runs here."""
    return {name: _version(name) for name in SOFTWARE}


@cache  # a process keeps the version that it has loaded
def _version(name: str) -> str:
    return importlib.metadata.version(name)
