"""kill -9 while charging, reading, writing: benchmarks/ledger_kill.py does it a thousand times."""

import random
import time

import pytest
from books import new_ledger
from killed import kill_at, problems, release

from sfumato.ledger.ledger import Ledger


@pytest.mark.slow
def test_a_release_that_is_killed_leaves_a_ledger_that_covers_every_folder(sqlite, tmp_path):
    ledger = new_ledger(sqlite)
    release(ledger.shown, tmp_path / "release-warm")  # what is imported late is imported here
    start = time.perf_counter()
    assert not kill_at(ledger.shown, tmp_path / "release-whole", 5.0)
    whole = min(5.0, time.perf_counter() - start)
    chance = random.Random(9)
    for number in range(10):
        kill_at(ledger.shown, tmp_path / f"release-{number}", chance.uniform(0.0, min(whole, 0.4)))
        assert Ledger(ledger.shown).state("patients").releases >= 1
    assert not problems(ledger, tmp_path)
    assert ledger.verify().ok
    release(ledger.shown, tmp_path / "release-after")
