"""The filter on both databases: what is charged, refused, kept, and found again."""

import multiprocessing
import threading
from fractions import Fraction

import dp_accounting as dpa
import pytest
import sqlalchemy as sa
from books import QUARTER, ROW, book, charge, new_ledger

from sfumato.errors import AccountingError, BudgetError, BudgetExceeded, LedgerError
from sfumato.ledger import store as stores
from sfumato.ledger.ledger import Ledger
from sfumato.public.accounting import EpsilonDeltaDpEvent, delta_of_mu, mu_of_budget
from sfumato.public.accounting.spend import FAILURE_UNITS, MU_SQUARED_UNITS, Spend, limit_of
from sfumato.public.budget import PrivacyUnit


def test_three_releases_fit_and_the_fourth_is_told_what_would(address):
    ledger = new_ledger(address)
    statements = [charge(ledger) for _ in range(3)]
    assert [s.release for s in statements] == [1, 2, 3]
    with pytest.raises(BudgetExceeded, match=r"mu 0\.25, and mu 0\.0\d+ is left \(total\)") as refused:
        charge(ledger)
    spent = ledger.state("patients").spent[""]["total"]
    assert spent.mu_squared == sum(s.charged[0] for s in statements)  # added up by this test, in integers
    # What is said to fit does fit, and hardly more does.
    mu = mu_of_budget(refused.value.fits, delta=1e-6)
    charge(ledger, dpa.GaussianDpEvent(1 / mu))
    with pytest.raises(BudgetExceeded):
        charge(ledger, dpa.GaussianDpEvent(1 / (0.3 * mu)))
    again = Ledger(ledger._book.store.url.render_as_string(hide_password=False))
    assert again.verify().ok
    assert again.state("patients").releases == 4


def test_the_limit_is_a_promise_by_another_formula():
    limit = limit_of(2.0, delta=1e-6, failures=5e-7)
    mu = float(Fraction(limit.mu_squared, MU_SQUARED_UNITS)) ** 0.5
    assert delta_of_mu(2.0, mu=mu) + limit.failure / FAILURE_UNITS <= 1e-6
    assert delta_of_mu(2.0, mu=mu * (1 + 1e-9)) + limit.failure / FAILURE_UNITS > 1e-6 * (1 - 1e-7)


def test_one_limit_does_not_make_up_for_the_other(sqlite):
    """The twin `TradesFailuresForMu` would allow this: all of it together is within (2, 1e-6) at this one epsilon."""
    ledger = new_ledger(sqlite)
    many = dpa.ComposedDpEvent([dpa.GaussianDpEvent(50.0), EpsilonDeltaDpEvent(0.0, 6e-7)])
    with pytest.raises(BudgetExceeded, match="left for failures"):
        charge(ledger, many)
    assert TradesFailuresForMu().allows(Spend(MU_SQUARED_UNITS // 2500, int(6e-7 * FAILURE_UNITS)))


class TradesFailuresForMu:
    """A filter that asks only whether the sums so far keep the total."""

    def allows(self, spent: Spend) -> bool:
        return spent.epsilon(1e-6) <= 2.0


def test_failures_add_up_beside_mu(sqlite):
    ledger = new_ledger(sqlite)
    discovery = dpa.ComposedDpEvent([dpa.GaussianDpEvent(20.0), EpsilonDeltaDpEvent(0.0, 2e-7)])
    charge(ledger, discovery)
    charge(ledger, discovery)
    with pytest.raises(BudgetExceeded, match="left for failures"):
        charge(ledger, discovery)
    charge(ledger, QUARTER)  # which cannot fail


def test_a_release_of_next_to_nothing_still_costs_one_unit(sqlite):
    ledger = new_ledger(sqlite)
    told = charge(ledger, dpa.GaussianDpEvent(1e200))  # its square is below every float
    assert told.charged == (1, 0)
    assert charge(ledger, EpsilonDeltaDpEvent(5e-324, 0.0)).charged[0] >= 1


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf")])
def test_totals_and_claims_that_are_no_numbers_are_refused(sqlite, epsilon):
    ledger = new_ledger(sqlite)
    with pytest.raises(BudgetError, match="epsilon"):
        ledger.add("others", epsilon=epsilon)
    with pytest.raises(BudgetError, match="epsilon"):
        charge(ledger, epsilon=epsilon)
    with pytest.raises(AccountingError):
        charge(ledger, dpa.GaussianDpEvent(-1.0))
    for broken in ((-1, 0), (0.5, 0), (2**63, 0), (1, -1)):
        with pytest.raises(AccountingError, match="whole number"):
            Spend(*broken)


@pytest.mark.parametrize(
    ("counted", "unit", "factor"),
    [
        (ROW, ROW, 1),
        (PrivacyUnit("replace_one"), ROW, 2),
        (ROW, PrivacyUnit(person="id", max_rows=5), 2),
        (PrivacyUnit("replace_one"), PrivacyUnit(person="id", max_rows=5), 4),
        (PrivacyUnit(person="id", max_rows=1), PrivacyUnit(person="id", max_rows=9), 1),
    ],
)
def test_another_unit_is_charged_by_its_factor(sqlite, counted, unit, factor):
    ledger = new_ledger(sqlite, epsilon=20.0, unit=counted)
    told = charge(ledger, QUARTER, unit=unit)
    assert told.charged[0] == pytest.approx(factor**2 / 16 * MU_SQUARED_UNITS, rel=1e-9)
    if factor > 1:
        failing = dpa.ComposedDpEvent([QUARTER, EpsilonDeltaDpEvent(0.0, 1e-9)])
        with pytest.raises(AccountingError, match="another unit"):
            charge(ledger, failing, unit=unit)


@pytest.mark.parametrize(
    ("counted", "unit"),
    [
        (ROW, PrivacyUnit("replace_one")),
        (PrivacyUnit(person="id", max_rows=3), ROW),
        (PrivacyUnit(person="id", max_rows=3), PrivacyUnit(person="house", max_rows=3)),
        (ROW, PrivacyUnit("replace_one", person="id", max_rows=3)),
    ],
)
def test_a_unit_without_a_bound_is_refused(sqlite, counted, unit):
    ledger = new_ledger(sqlite, unit=counted)
    with pytest.raises(AccountingError, match="No bound leads"):
        charge(ledger, QUARTER, unit=unit)
    assert ledger.state("patients").releases == 0


# ----------------------------------------------------------------------------------------------- races and lost lines


def _race(url: str, gate, results) -> None:
    account = Ledger(url).dataset("patients")
    gate.wait()
    for _ in range(6):
        try:
            booking = book(account, dpa.GaussianDpEvent(12.0))
            booking()
            results.put(booking.statement(dpa.GaussianDpEvent(12.0)).charged[0])
        except BudgetExceeded:
            results.put(0)


def test_processes_that_race_for_one_budget_never_pass_it(address):
    """The full race is benchmarks/ledger_race.py; this one is for every day."""
    ledger = new_ledger(address)
    url = ledger._book.store.url.render_as_string(hide_password=False)
    context = multiprocessing.get_context("fork")
    gate, results = context.Barrier(6), context.SimpleQueue()
    racers = [context.Process(target=_race, args=(url, gate, results)) for _ in range(6)]
    for racer in racers:
        racer.start()
    charges = [results.get() for _ in range(36)]
    for racer in racers:
        racer.join()
    assert {racer.exitcode for racer in racers} == {0}
    state, limit = ledger.state("patients"), ledger.state("patients").policy.limit
    assert sum(charges) == state.spent[""]["total"].mu_squared <= limit.mu_squared  # none lost, none too many
    assert sum(charges) + max(charges) > limit.mu_squared  # and nobody was refused too early
    assert sum(c > 0 for c in charges) == state.releases
    assert ledger.verify().ok


def test_a_connection_that_is_lost_after_the_commit_charges_once(address, monkeypatch):
    ledger = new_ledger(address)
    real, lost = stores.Store._transaction, []

    def cut_once(self, *, writes):
        import contextlib

        @contextlib.contextmanager
        def transaction():
            with real(self, writes=writes) as connection:
                yield connection
            if writes and not lost:
                lost.append(True)  # it was stored, and nobody hears of it
                raise sa.exc.OperationalError("commit", {}, Exception("server closed the connection unexpectedly"))

        return transaction()

    monkeypatch.setattr(stores.Store, "_transaction", cut_once)
    charge(ledger)
    assert lost
    assert ledger.state("patients").releases == 1
    assert ledger.verify().ok


def test_a_connection_that_is_lost_before_the_commit_charges_once(address, monkeypatch):
    ledger = new_ledger(address)
    real, lost = stores.Store._ends, []

    def cut_once(self, connection, dataset):
        if not lost:
            lost.append(True)
            raise sa.exc.OperationalError("select", {}, Exception("connection reset by peer"))
        return real(self, connection, dataset)

    account = ledger.dataset("patients")
    booking = book(account)
    monkeypatch.setattr(stores.Store, "_ends", cut_once)
    booking()
    assert lost
    assert ledger.state("patients").releases == 1


def test_a_booking_is_charged_once_whoever_asks(sqlite):
    ledger = new_ledger(sqlite)
    booking = book(ledger.dataset("patients"))
    threads = [threading.Thread(target=booking) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    booking()
    assert ledger.state("patients").releases == 1


def test_attempts_have_keys_of_their_own_even_without_chance(sqlite, monkeypatch):
    monkeypatch.setattr("os.urandom", lambda n: bytes(n))
    ledger = new_ledger(sqlite)
    charge(ledger)
    charge(ledger)
    assert ledger.state("patients").releases == 2


def test_names_are_one_line(sqlite):
    ledger = new_ledger(sqlite)
    for name in ("", " patients", "a\nb", "x" * 201):
        with pytest.raises(Exception, match="printable"):
            ledger.add(name, epsilon=1.0)
    with pytest.raises(LedgerError, match="in the ledger already"):
        ledger.add("patients", epsilon=9.0)
    with pytest.raises(LedgerError, match="no dataset 'others'"):
        ledger.dataset("others")
