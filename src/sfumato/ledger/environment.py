"""The ledger that everybody on this machine is to use."""

import os


def default_url() -> str | None:
    """The address that the variable SFUMATO_LEDGER names, if it is set."""
    return os.environ.get("SFUMATO_LEDGER") or None
