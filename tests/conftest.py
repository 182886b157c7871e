"""What all tests share."""

import gc
import os
from collections.abc import Iterator
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from entropy import FRESH, Entropy
from forked_command import forked_command
from sfumato.check.instruments import fresh


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--entropy",
        default="0",
        help="a word that all noise of the tests and the examples of Hypothesis follow from; 'fresh': other ones each time",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Nothing that a test draws differs between two runs, and no test fails because the machine is busy."""
    word = config.getoption("--entropy")
    os.urandom = Entropy(word, place="the session")
    config.pluginmanager.register(os.urandom)
    settings.register_profile(
        "sfumato",
        deadline=None,
        max_examples=60,
        derandomize=word != FRESH,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("sfumato")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What the imports have left lives to the end: the garbage collector need not go through it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def benchmark_data() -> Path:
    """The folder of benchmark datasets; tests that need it are skipped, visibly, where there is none."""
    folder = os.environ.get("SFUMATO_DATA")
    if not folder:
        pytest.skip("SFUMATO_DATA is not set: tests on real datasets are skipped")
    return Path(folder)


@pytest.fixture(scope="session")
def sfumato_command(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The command, in a folder that can be put on the PATH."""
    with forked_command(request.config.getoption("--entropy")) as command:
        yield command


@pytest.fixture(scope="session")
def quick_python(sfumato_command: Path) -> str:
    """As sys.executable for a program by `-c`, with the imports of sfumato made already."""
    return str(sfumato_command.with_name("python"))


@pytest.fixture(scope="session", autouse=True)
def _fresh_processes_are_forked(request: pytest.FixtureRequest) -> None:
    """The helper of the contract suite, by the command above: each one that is started takes seconds of imports.

    It has seen no rows, as a process of its own. That one starts from nothing is for the tests of scripts, in tests/check.
    """

    def start(command: list[str], **options: Any) -> Popen[str]:
        return Popen([request.getfixturevalue("quick_python"), *command[1:]], **options)

    fresh.Popen = start
