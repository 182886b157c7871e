"""What the tests of the laboratory share."""

from typing import Any

import pytest

from sfumato.lab.benchmark import child, protocol


@pytest.fixture
def _releases_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases of the benchmark in this process: a fresh one takes seconds of imports, and has tests of its own."""

    def release(*asked: Any, seed: int, on_step: Any) -> child.Outcome:
        return child._release(*asked, seed, on_step)

    monkeypatch.setattr(protocol, "release_in_child", release)
