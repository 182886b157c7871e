"""Mechanisms on which a mutant is tried: the contract, the audit, and a release that is verified. Runs inside of the mutant."""

import contextlib
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.mechanisms import ClustMix, IndependentHistograms, LocalReports, Mst

#: What a killer found, or nothing.
Found = str
TRIALS = 4000
#: Loud enough for a small audit to hear a mutant by.
EPSILON, DELTA = 4.0, 1e-3


def probes() -> dict[str, tuple[Any, Any]]:
    """A mechanism and a schema by name."""
    import schemas
    from sfumato.mechanisms import DPMix

    mix = DPMix(mixtures=60, degree=30)
    return {
        "histograms": (IndependentHistograms(bins=8), schemas.TABLE),
        "persons": (IndependentHistograms(bins=8), schemas.PERSONS),
        "replace": (IndependentHistograms(bins=8), schemas.REPLACE),
        "mixtures": (mix, schemas.TABLE),
        "mixed persons": (mix, schemas.PERSONS),
        "fixed": (replace(mix, sampling="without_replacement"), schemas.REPLACE),
        "bins": (replace(mix, sampling="secret_bins"), schemas.TABLE),
        "clipped": (replace(mix, l2_clip=1.0, centre=0.0), schemas.IMAGES),
        "two blocks": (ClustMix(), schemas.TABLE),
        "reports": (LocalReports(), schemas.REPLACE),
        "choices": (Mst(), schemas.TABLE),
        "discovery": (IndependentHistograms(bins=8), schemas.OPEN),
    }


def by_contract(name: str) -> Found:
    """The clause of the contract that is broken."""
    from sfumato.check import check_mechanism

    mechanism, schema = probes()[name]
    return _first_line(lambda: check_mechanism(mechanism, schema, n_rows=60))


def by_audit(name: str) -> Found:
    """The lower bound, where it refutes the certificate."""
    from sfumato import Budget
    from sfumato.lab.audit.auditing import audit_mechanism

    mechanism, schema = probes()[name]
    found = []

    def run() -> None:
        found.append(audit_mechanism(mechanism, schema, Budget(epsilon=EPSILON, delta=DELTA), trials=TRIALS))

    stopped = _first_line(run)
    if stopped:
        return stopped
    return f"epsilon is at least {found[0].lower_bound:.2f}" if found[0].verdict == "refuted" else ""


def release(name: str, to: Path) -> Found:
    """A release made by the mutant. What stops it is found already."""
    import schemas
    import sfumato as sf
    from sfumato.check.instruments.rows import made_up
    from sfumato.extending import FixedModel

    mechanism, schema = probes()[name]

    def run() -> None:
        rows = schemas.open_rows() if schema.unknown else made_up(schema, n_rows=300, seed=1)
        data = sf.Sensitive.read(rows, schema)
        fitted = sf.fit(mechanism, data, sf.Budget(epsilon=1.0, delta=1e-6), seed=3)
        sf.release(fitted, to=to, rows=None if isinstance(fitted.model, FixedModel) else 50)

    return _first_line(run)


def by_verify(path: Path) -> Found:
    """What an honest verifier says of it."""
    import sfumato as sf

    return next(iter(sf.verify(path, rebuild=True).problems), "")


def by_tests(arguments: tuple[str, ...]) -> Found:
    """The first test that fails."""
    import pytest

    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        code = pytest.main(
            ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header", "--tb=no", *arguments]
        )
    failed = [line for line in said.getvalue().splitlines() if line.startswith(("FAILED", "ERROR"))]
    if code == 5:
        raise RuntimeError(f"no test is called {arguments}")
    return failed[0].removeprefix("FAILED ").split(" - ")[0] if failed else "" if code == 0 else f"exit {int(code)}"


def _first_line(run: Callable[[], None]) -> Found:
    try:
        run()
    except Exception as error:  # noqa: BLE001 - whatever a mutant raises has given it away
        return f"{type(error).__name__}: {error}".splitlines()[0]
    return ""
