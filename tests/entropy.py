"""Chance that is the same in every run: what the package asks the operating system for, drawn from a word and a test's name.

Releases stay certified, since the stream behind their noise is the package's own: only its key is known here. So a test that
passes once passes always, here as on any other machine, until what it draws is changed. Whoever else asks (Python, other
libraries, forked processes) is answered by the system.
"""

import os
import random
import sys

import pytest

FRESH = "fresh"


class Entropy:
    """In the place of `os.urandom`, and a plugin of pytest: every file and every test begins a stream of its own."""

    def __init__(self, word: str, *, place: str) -> None:
        self._word, self._system, self._process = word, os.urandom, os.getpid()
        self._begin(place)

    def __call__(self, size: int) -> bytes:
        asks = sys._getframe(1).f_globals.get("__name__", "")
        if self._word == FRESH or os.getpid() != self._process or not asks.startswith("sfumato."):
            return self._system(size)
        return self._stream.randbytes(size)

    def pytest_collectstart(self, collector: pytest.Collector) -> None:
        self._begin(collector.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Before its fixtures, so that theirs is fixed as well."""
        self._begin(item.nodeid)

    def _begin(self, place: str) -> None:
        self._stream = random.Random(f"{self._word} {place}")
