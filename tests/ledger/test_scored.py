"""A release with a private score: the dearer of its two sides is charged, before a row of either is read; and twins that get it wrong."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from books import new_ledger

import sfumato as sf
from sfumato import fitting
from sfumato.errors import BudgetExceeded, PlanError
from sfumato.ledger.booking import Booking
from sfumato.ledger.rules import Request
from sfumato.private.intake.sensitive import open_batches
from sfumato.public.accounting.charging import charge_for
from sfumato.public.accounting.spend import Spend
from sfumato.scoring import step
from sfumato.scoring.step import events_of

COLUMNS = (sf.Column(name="age", kind="integer", bounds=(0, 99)), sf.Column(name="ill", kind="boolean"))
SCHEMA = sf.Schema(columns=COLUMNS, target="ill", rows=3000)
#: What is discovered makes the measured side cheaper in mu than the score, and dearer in failures.
OPEN = sf.Schema(columns=(*COLUMNS, sf.Column(name="town", kind="categorical", discover=True)), target="ill", rows=3000)
METHOD = "independent-histograms"


def rows(n=3000):
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {"age": rng.integers(0, 99, n), "ill": rng.random(n) < 0.3, "town": rng.choice(["rome", "milan"], n)}
    )


def costs(certificate):
    told = certificate.ledger
    return [
        charge_for(event, unit=certificate.claim.unit, counted=told.unit, delta=told.delta)
        for event in events_of(certificate)
    ]


@pytest.mark.parametrize("schema", [SCHEMA, OPEN], ids=["known", "discovered"])
def test_the_dearer_side_is_charged_once_for_both(sqlite, tmp_path, schema):
    ledger = new_ledger(sqlite, epsilon=2.0)
    fitted = sf.fit(METHOD, rows(), 1.0, schema=schema, ledger=ledger, dataset="patients", score=0.3)
    told = fitted.certificate.ledger
    measured, tested = costs(fitted.certificate)
    charged = Spend(*told.charged)
    assert measured.fits(charged)
    assert tested.fits(charged)
    assert charged.mu_squared < 1.01 * max(measured.mu_squared, tested.mu_squared)  # the larger one, and not both
    assert (charged.failure > 0) == (schema is OPEN)
    written = sf.release(fitted, to=tmp_path / "out")
    assert sf.verify(written.path).ok, sf.verify(written.path).problems
    assert ledger.verify(releases=[written.path]).ok
    assert ledger.state("patients").releases == 1


class ChargesTheReleaseAlone(Booking):
    """A twin that books what is measured, and not the score, which costs more where something is discovered."""

    def __init__(self, account, *, apart=None, **asked):
        super().__init__(account, **asked)


def test_a_twin_that_charges_the_release_alone_tests_no_row(sqlite, monkeypatch):
    ledger, opened = new_ledger(sqlite, epsilon=2.0), []
    monkeypatch.setattr(fitting, "Booking", ChargesTheReleaseAlone)
    with pytest.raises(PlanError, match="cost more than the ledger was charged"):
        sf.fit(METHOD, rows(), 1.0, schema=OPEN, ledger=ledger, dataset="patients", score=0.3, on_step=opened.append)
    assert step.SCORE not in opened


def test_a_charge_that_leaves_out_the_score_is_found_afterwards(sqlite, tmp_path, monkeypatch):
    """Twin: nothing stops it while it is made. `verify`, and the ledger's own check, say that it was not paid for."""
    ledger = new_ledger(sqlite, epsilon=2.0)
    monkeypatch.setattr(fitting, "Booking", ChargesTheReleaseAlone)
    covers = "sfumato.ledger.accounts.Account.covers"
    monkeypatch.setattr(covers, lambda *args, **options: True)
    fitted = sf.fit(METHOD, rows(), 1.0, schema=OPEN, ledger=ledger, dataset="patients", score=0.3)
    written = sf.release(fitted, to=tmp_path / "out")
    assert any("the ledger was charged mu" in problem for problem in sf.verify(written.path).problems)
    assert "cost more than its charge" in ledger.verify().problem


def test_neither_side_is_read_before_the_charge(sqlite, monkeypatch):
    ledger, read = new_ledger(sqlite), []
    sides = fitting.set_apart

    def noting(data, **options):
        both = sides(data, **options)
        read.extend(both)
        return both

    monkeypatch.setattr(fitting, "set_apart", noting)
    monkeypatch.setattr("sfumato.ledger.accounts.Account.check", lambda self, asked: None)
    with pytest.raises(BudgetExceeded):
        sf.fit(METHOD, rows(), 9.0, schema=SCHEMA, ledger=ledger, dataset="patients", score=True)
    for side in read:  # each of the two charges first, and is refused
        with pytest.raises(BudgetExceeded):
            next(iter(open_batches(side)))
    assert len(read) == 2
    assert ledger.state("patients").releases == 0


def test_a_request_without_rows_set_apart_is_written_as_before():
    request = Request(event={"a": 1}, unit=sf.PrivacyUnit(), epsilon=1.0, delta=1e-6, mechanism="m")
    assert "apart" not in request.to_json()
    assert Request.from_json(request.to_json()) == request
    both = replace(request, apart={"b": 2})
    assert Request.from_json(both.to_json()) == both
    assert both.events == ({"a": 1}, {"b": 2})


def test_the_cost_of_both_sides_is_the_larger_one_in_each_number():
    assert Spend(3, 1).or_else(Spend(2, 5)) == Spend(3, 5)
