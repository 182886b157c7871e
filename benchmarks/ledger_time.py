"""How long a charge takes, on both databases: what a ledger adds to a release before its first row.

    PYTHONPATH=tests python benchmarks/ledger_time.py >> benchmarks/results/ledger-time.jsonl

The median of 100 charges, the processor's part of it, and beside it how long the disk takes for one sync, of which SQLite's
journal needs three or four. The PostgreSQL of the tests runs without syncs: a real one adds its own.
"""

import json
import os
import statistics
import tempfile
import time

import dp_accounting as dpa

from postgres_server import programs, running
from sfumato.ledger.booking import Booking
from sfumato.ledger.ledger import Ledger
from sfumato.public.budget import Budget, PrivacyUnit


def sync_ms(folder):
    times = []
    with open(f"{folder}/sync", "wb", buffering=0) as file:
        for _ in range(30):
            file.write(b"x" * 4096)
            start = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - start)
    return round(1000 * statistics.median(times), 2)


def run(database, url, sync):
    ledger = Ledger.create(url)
    ledger.add("patients", epsilon=2.0, delta=1e-6)
    walls, cpus = [], []
    for _ in range(100):
        account = ledger.dataset("patients")
        event, budget = dpa.GaussianDpEvent(150.0), Budget(epsilon=0.05, delta=1e-6)
        booking = Booking(account, event=event, unit=PrivacyUnit(), budget=budget, mechanism="time")
        wall, cpu = time.perf_counter(), time.process_time()
        booking()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    facts = {"charge_ms": statistics.median(walls) * 1000, "processor_ms": statistics.median(cpus) * 1000}
    facts["quickest_tenth_ms"] = sorted(walls)[len(walls) // 10] * 1000  # where nobody else wants the processor
    load = round(os.getloadavg()[0], 1)
    line = {"database": database, **{k: round(v, 1) for k, v in facts.items()}, "sync_ms": sync, "load": load}
    print(json.dumps(line), flush=True)


with tempfile.TemporaryDirectory() as folder:
    run("sqlite", f"sqlite:///{folder}/ledger.db", sync_ms(folder))
with running(programs()) as (server, _):
    run("postgresql", server, None)
