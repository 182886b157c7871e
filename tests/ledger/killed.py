"""Releases that are killed at any moment, and what the ledger and the folders then say: for a test, and for a benchmark."""

import multiprocessing
import os
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd

import sfumato as sf
from sfumato.ledger.accounts import Account
from sfumato.ledger.ledger import Ledger

SCHEMA = sf.Schema(
    columns=(sf.Column(name="age", kind="integer", bounds=(0, 99)), sf.Column(name="ill", kind="boolean")), rows=300
)
EPSILON = 0.01


def rows():
    rng = np.random.default_rng(7)
    return pd.DataFrame({"age": rng.integers(0, 99, 300), "ill": rng.random(300) < 0.3})


class Marked(Account):
    """An account that touches a file before it is charged."""

    def __init__(self, ledger: Ledger, mark: Path) -> None:
        super().__init__(ledger._book, "patients", recipient=None, purpose=None, periods=(), sign=None)
        self._mark = mark

    def charge(self, asked):
        self._mark.touch()
        return super().charge(asked)


def release(url: str, folder: Path) -> None:
    """One release, as a command makes it. It leaves a mark at the moment at which it asks for its charge."""
    account = Marked(Ledger(url), folder.with_suffix(".asked"))
    sf.synthesize(rows(), SCHEMA, epsilon=EPSILON, method="independent-histograms", ledger=account).save(folder)


def kill_at(url: str, folder: Path, seconds: float) -> bool:
    """Start a release and kill it after so long. Returns whether it was still at work."""
    child = multiprocessing.get_context("fork").Process(target=release, args=(url, folder))
    child.start()
    time.sleep(seconds)
    was_alive = child.is_alive()
    if was_alive:
        os.kill(child.pid, signal.SIGKILL)
    child.join()
    return was_alive


def problems(ledger: Ledger, folder: Path) -> list[str]:
    """What must never be: a folder that the ledger does not cover, or a charge that nobody asked for."""
    found = []
    charges = {line.number: line for line in ledger.lines() if line.kind == "charge"}
    told = [sf.load_release(path).certificate.ledger for path in folder.glob("release-*") if path.is_dir()]
    held = ledger.state("patients").spent.get("", {}).get("total")
    if told and sum(t.charged[0] for t in told) > held.mu_squared:
        found.append("the ledger holds less than the folders claim")
    if len({t.line for t in told}) != len(told) or any(charges[t.line].digest != t.digest for t in told):
        found.append("two folders rest on one charge, or on none")
    if len(charges) > len([*folder.glob("*.asked")]):
        found.append("a charge was made that nobody had asked for")
    return found
