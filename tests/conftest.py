"""What all tests share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from forked_command import forked_command

settings.register_profile("sfumato", deadline=None, max_examples=60)
settings.load_profile("sfumato")


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of benchmark datasets; tests that need it are skipped, visibly, where there is none."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        pytest.skip("SFUMATO_DATA is not set: tests on real datasets are skipped")
    return Path(folder)


@pytest.fixture(scope="session")
def sfumato_command() -> Iterator[Path]:
    """The command, in a folder that can be put on the PATH."""
    with forked_command() as command:
        yield command
