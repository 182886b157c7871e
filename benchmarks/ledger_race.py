"""32 processes race for one budget with 10,000 attempts, on both databases, also where a tenth of the connections is cut.

    PYTHONPATH=tests python benchmarks/ledger_race.py >> benchmarks/results/ledger-race.jsonl

A line for each race: what the racers were told, what the ledger holds, and its limit. `ok` means that the two sums are the same
integer, that it is within the limit, that one more charge would not have been, and that `verify` bears out the whole history.
"""

import argparse
import contextlib
import json
import multiprocessing
import random
import tempfile
import time

import dp_accounting as dpa
import sqlalchemy as sa

from postgres_server import programs, running
from sfumato.errors import BudgetExceeded
from sfumato.ledger import store
from sfumato.ledger.booking import Booking
from sfumato.ledger.ledger import Ledger
from sfumato.public.budget import Budget, PrivacyUnit

EVENT = dpa.GaussianDpEvent(150.0)
BUDGET = Budget(epsilon=0.05, delta=1e-6)
LOST = sa.exc.OperationalError("", {}, Exception("server closed the connection unexpectedly"))


def cut_connections(share: float) -> None:
    """Half of the cuts come before the commit, where nothing is stored; half after it, where nobody hears of it."""
    real, chance = store.Store._transaction, random.Random()

    @contextlib.contextmanager
    def transaction(self, *, writes):
        drawn = chance.random()
        with real(self, writes=writes) as connection:
            yield connection
            if drawn < share / 2:
                connection.connection.dbapi_connection.close()
                raise LOST
        if drawn > 1 - share / 2:
            raise LOST

    store.Store._transaction = transaction


def race(url, attempts, cuts, gate, results):
    if cuts:
        cut_connections(cuts)
    account = Ledger(url).dataset("patients")
    booking = Booking(account, event=EVENT, unit=PrivacyUnit(), budget=BUDGET, mechanism="race")
    gate.wait()
    told = []
    for _ in range(attempts):
        try:
            booking._statement = None  # another attempt, without the look beforehand that would refuse it early
            booking()
            told.append(booking._statement.charged[0])
        except BudgetExceeded:
            told.append(0)
    results.put(told)


def run(database, url, *, processes, attempts, cuts):
    ledger = Ledger.create(url)
    ledger.add("patients", epsilon=2.0, delta=1e-6)
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(processes), context.Queue()
    shares = [attempts // processes + (at < attempts % processes) for at in range(processes)]
    start = time.perf_counter()
    racers = [context.Process(target=race, args=(url, share, cuts, gate, results)) for share in shares]
    for racer in racers:
        racer.start()
    told = [charged for _ in racers for charged in results.get()]
    for racer in racers:
        racer.join()
    seconds = time.perf_counter() - start
    state = ledger.state("patients")
    held, limit = state.spent[""]["total"].mu_squared, state.policy.limit.mu_squared
    is_verified = ledger.verify().ok
    ok = sum(told) == held <= limit < held + max(told) and sum(t > 0 for t in told) == state.releases and is_verified
    print(
        json.dumps(
            {
                **{"database": database, "processes": processes, "attempts": len(told), "cut": cuts},
                **{"charged": state.releases, "told": sum(told), "held": held, "limit": limit, "verified": is_verified},
                **{"ok": ok, "seconds": round(seconds, 1)},
            }
        ),
        flush=True,
    )


parser = argparse.ArgumentParser()
parser.add_argument("--processes", type=int, default=32)
parser.add_argument("--attempts", type=int, default=10_000)
parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
parser.add_argument("--cuts", nargs="+", type=float, default=[0.0, 0.1])
asked = parser.parse_args()
for cuts in asked.cuts:
    for database in asked.databases:
        with contextlib.ExitStack() as stack:
            if database == "sqlite":
                url = f"sqlite:///{stack.enter_context(tempfile.TemporaryDirectory())}/ledger.db"
            else:
                url = stack.enter_context(running(programs()))[0]
            run(database, url, processes=asked.processes, attempts=asked.attempts, cuts=cuts)
