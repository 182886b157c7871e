"""What the tests of mechanisms share."""

import pytest

from helpers import set_constant


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same doors with fewer rows at a time: the contract suite measures some fifty times."""
    set_constant(monkeypatch, "sfumato.private.rows.batches._MOST_ROWS", 32)
