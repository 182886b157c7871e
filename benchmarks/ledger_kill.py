"""kill -9 at 1,000 random moments of a release: while charging, reading, writing.

    PYTHONPATH=tests:tests/ledger python benchmarks/ledger_kill.py >> benchmarks/results/ledger-kill.jsonl

One line: how many were killed, how many folders survived, how many charges there are, and what must be 0: folders that the
ledger does not cover, charges that nobody had asked for, commands that did not work afterwards.
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from killed import kill_at, problems, release

from postgres_server import programs, running
from sfumato.ledger.ledger import Ledger


def run(database, url, kills):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ledger = Ledger.create(url)
        ledger.add("patients", epsilon=50.0, delta=1e-6)
        release(url, folder / "release-warm")
        times = []
        for number in range(5):
            start = time.perf_counter()
            release(url, folder / f"release-timed-{number}")
            times.append(time.perf_counter() - start)
        whole = 1.5 * sorted(times)[2]
        chance, killed, broken = random.Random(), 0, 0
        for number in range(kills):
            killed += kill_at(url, folder / f"release-{number}", chance.uniform(0.0, whole))
            broken += Ledger(url).state("patients").releases < 1
        found = problems(ledger, folder)
        checked = ledger.verify()
        print(
            json.dumps(
                {
                    **{"database": database, "moments": kills, "killed": killed, "whole_seconds": round(whole, 3)},
                    "folders": len([path for path in folder.glob("release-*") if path.is_dir()]),
                    "asked": len([*folder.glob("*.asked")]),
                    **{"charges": ledger.state("patients").releases, "problems": found, "broken_commands": broken},
                    **{"verified": checked.ok, "ok": not found and not broken and checked.ok},
                }
            ),
            flush=True,
        )


parser = argparse.ArgumentParser()
parser.add_argument("--kills", type=int, default=1000)
parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
asked = parser.parse_args()
if "sqlite" in asked.databases:
    with tempfile.TemporaryDirectory() as place:
        run("sqlite", f"sqlite:///{place}/ledger.db", asked.kills)
if "postgresql" in asked.databases:
    with running(programs()) as (server, _):
        run("postgresql", server, asked.kills)
