"""The charge comes before the first row, at every way in, and covers what is released: and twins that get it wrong."""

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest
from books import new_ledger
from hypothesis import given
from hypothesis import strategies as st

import schemas
import sfumato as sf
from sfumato import fitting
from sfumato.check import check_mechanism
from sfumato.errors import BudgetExceeded, ContractError, LedgerError, PlanError, SourceError
from sfumato.ledger.booking import account_of
from sfumato.mechanisms import IndependentHistograms
from sfumato.private.intake import sensitive
from sfumato.private.intake.apart import set_apart
from sfumato.private.intake.histories import HistorySource
from sfumato.public.accounting.spend import NOTHING, Spend
from sfumato.public.plan.discovery import event_to_book

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 99)),
        sf.Column(name="ill", kind="boolean"),
    ),
    rows=300,
)
OPEN = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(0, 99)),
        sf.Column(name="town", kind="categorical", discover=True),
    ),
    rows=4000,
)
METHOD = "independent-histograms"


def rows(n=300):
    rng = np.random.default_rng(n)
    return pd.DataFrame({"age": rng.integers(0, 99, n), "ill": rng.random(n) < 0.3})


def towns(n=4000):
    rng = np.random.default_rng(n)
    return pd.DataFrame({"age": rng.integers(0, 99, n), "town": rng.choice(["rome", "milan"], n)})


def test_a_release_carries_its_statement_and_the_ledger_its_certificate(sqlite, tmp_path):
    ledger = new_ledger(sqlite)
    made = sf.synthesize(rows(), SCHEMA, epsilon=1.0, method=METHOD, ledger=ledger, dataset="patients")
    assert made.certificate.ledger.release == 1
    written = made.save(tmp_path / "out")
    assert sf.verify(written.path).ok
    assert [line.kind for line in ledger.lines()] == ["created", "added", "charge", "released"]
    assert ledger.verify(releases=[written.path]).ok
    assert any("holds every release" in sentence for sentence in sf.verify(written.path).declared)
    other = new_ledger(sqlite)
    assert "another history" in other.verify(releases=[written.path]).problem


def test_what_fails_before_a_row_is_read_is_not_charged(sqlite, tmp_path):
    ledger = new_ledger(sqlite)
    with pytest.raises(SourceError):
        sf.fit(METHOD, tmp_path / "nothing.csv", 1.0, schema=SCHEMA, ledger=ledger, dataset="patients")
    with pytest.raises(LedgerError, match="no dataset 'others'"):
        sf.fit(METHOD, rows(), 1.0, schema=SCHEMA, ledger=ledger, dataset="others")
    with pytest.raises(BudgetExceeded):
        sf.fit(METHOD, rows(), 9.0, schema=SCHEMA, ledger=ledger, dataset="patients")
    assert ledger.state("patients").releases == 0


def test_what_fails_afterwards_stays_charged(sqlite, monkeypatch):
    ledger = new_ledger(sqlite)

    def broken(*args, **options):
        raise PlanError("after the first row")

    monkeypatch.setattr(IndependentHistograms, "build", broken)
    with pytest.raises(PlanError):
        sf.fit(METHOD, rows(), 1.0, schema=SCHEMA, ledger=ledger, dataset="patients")
    assert ledger.state("patients").releases == 1


@pytest.mark.parametrize("way", ["open_batches", "open_persons", "open_parts", "open_stretches", "count_rows"])
def test_every_way_to_the_rows_charges_first(way):
    schema = sf.Schema(columns=SCHEMA.columns, unit=sf.PrivacyUnit("replace_one"), rows=300)
    noted = []

    class Source:
        parts = None

        def chunks(self, names, *, rows):
            noted.append("read")
            yield {name: np.zeros(3) for name in names}

    def refused():
        noted.append("charge")
        raise LedgerError("no")

    private = sensitive.charged_first(sensitive.Sensitive(Source(), schema=schema), refused)
    private = sensitive.with_schema(sensitive.with_key(private, b"k" * 32), schema)
    private = sensitive.resourced(private, lambda source: source)
    ways = {"open_batches": {}, "open_persons": {"rows": 10}, "open_parts": {}, "count_rows": {}}
    ways["open_stretches"] = {"stretches": 2, "least": 1}
    with pytest.raises(LedgerError, match="no"):
        list([getattr(sensitive, way)(private, **ways[way])][0] or ())
    assert noted == ["charge"]


@pytest.mark.parametrize("way", ["open_batches", "open_persons", "open_parts", "open_stretches"])
def test_several_tables_are_opened_behind_the_charge(way):
    """No row of any of them, no key and no order is read before."""
    noted = []

    class Noted:
        names = ("patient", "who", "day", "test", "value", "paid", "age", "sex", "died")

        def chunks(self, names, *, rows):
            noted.append("read")
            yield {name: np.zeros(3) for name in names}

    def refused():
        noted.append("charge")
        raise LedgerError("no")

    tables = HistorySource(Noted(), {"visits": Noted(), "bills": Noted()}, schema=schemas.HOSPITAL)
    private = sensitive.charged_first(sensitive.Sensitive(tables, schema=schemas.HOSPITAL), refused)
    private = sensitive.with_schema(sensitive.with_key(private, b"k" * 32), schemas.HOSPITAL)
    for side in (private, *set_apart(private, key=b"k" * 32, share=0.5)):
        noted.clear()
        options = {"open_persons": {"rows": 10}, "open_stretches": {"stretches": 2, "least": 1}}.get(way, {})
        with pytest.raises(LedgerError, match="no"):
            list(getattr(sensitive, way)(side, **options) or ())
        assert noted == ["charge"]


def test_no_other_function_takes_the_source_for_its_rows():
    """Whoever adds a way in has to go through `_rows_of`: only what reads no row may hold the source itself."""
    import ast
    import inspect

    tree = ast.parse(inspect.getsource(sensitive))
    users = {
        function.name
        for function in tree.body
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and node.id == "_source_of"
    }
    assert users == {"_rows_of", "charged_first", "with_schema", "with_key", "resourced"} | {
        "follows_values",
        "require_same_files",
    }


# ------------------------------------------------------------------------------------------------------ what is booked


def test_a_discovery_is_booked_with_all_that_may_follow(sqlite):
    ledger = new_ledger(sqlite, epsilon=4.0)
    fitted = sf.fit(METHOD, towns(), 2.0, schema=OPEN, ledger=ledger, dataset="patients")
    told = fitted.certificate.ledger
    assert told.charged[1] > 0  # categories may pass by chance
    booked = event_to_book(None, OPEN, sf.Budget(epsilon=2.0, delta=1e-6))
    assert told.charged[0] >= Spend(1, 0).mu_squared
    assert "epsilon_delta" in str([*ledger.lines()][-1].content["request"]["event"])
    assert booked is not None
    assert ledger.verify().ok


def ForgetsDiscovery(planned, schema, budget):
    """A twin that books the steps that follow a discovery, and not the discovery."""
    return dpa.GaussianDpEvent(1 / 0.3)


def test_a_twin_that_forgets_the_discovery_hands_nothing_out(sqlite, monkeypatch):
    ledger = new_ledger(sqlite, epsilon=4.0)
    monkeypatch.setattr(fitting, "event_to_book", ForgetsDiscovery)
    with pytest.raises(PlanError, match="cost more than the ledger was charged"):
        sf.fit(METHOD, towns(), 2.0, schema=OPEN, ledger=ledger, dataset="patients")


def ChargesAfterReading(data, charge):
    """A twin that opens rows first. The charge then comes with the certificate."""
    return data


def test_a_twin_that_charges_after_reading_breaks_the_contract(monkeypatch):
    monkeypatch.setattr(fitting, "charged_first", ChargesAfterReading)
    with pytest.raises(ContractError, match="before the ledger was charged"):
        check_mechanism(IndependentHistograms(), SCHEMA, n_rows=60)


def test_the_environment_names_a_ledger_that_nobody_gets_past(sqlite, monkeypatch):
    ledger = new_ledger(sqlite)
    monkeypatch.setenv("SFUMATO_LEDGER", ledger.shown)
    with pytest.raises(LedgerError, match="SFUMATO_LEDGER is set, and no dataset"):
        sf.fit(METHOD, rows(), 1.0, schema=SCHEMA)
    assert sf.fit(METHOD, rows(), 1.0, schema=SCHEMA, dataset="patients").certificate.ledger.release == 1
    monkeypatch.delenv("SFUMATO_LEDGER")
    with pytest.raises(LedgerError, match="no ledger"):
        account_of(None, "patients")
    assert account_of(None, None) is None


# ---------------------------------------------------------------------------------------------------------- sums


class AddsEpsilons:
    """A twin of the filter that adds up epsilons as floats, in the order in which they come."""

    def __init__(self, total):
        self.total, self.spent = total, 0.0

    def spend(self, epsilon):
        self.spent += epsilon
        return self.spent <= self.total


def test_a_twin_that_adds_floats_is_led_past_its_total():
    spends = [1e-17] * 1000
    twin = AddsEpsilons(1.0)
    assert twin.spend(1.0 - 1e-16)
    assert all(twin.spend(s) for s in spends)  # a thousand times the rest that was left
    a, b, c = AddsEpsilons(0.6), AddsEpsilons(0.6), Spend(0, 0)
    assert all(a.spend(s) for s in (0.3, 0.2, 0.1)) != all(b.spend(s) for s in (0.1, 0.2, 0.3))  # and the order matters
    for _ in range(1000):
        c = c + Spend(1, 0)
    assert not c.fits(Spend(999, 0))


@given(st.lists(st.tuples(st.integers(0, 2**50), st.integers(0, 2**50)), max_size=8), st.randoms())
def test_the_order_of_spends_does_not_matter(spends, random):
    ordered = sum((Spend(*s) for s in spends), NOTHING)
    random.shuffle(spends)
    assert sum((Spend(*s) for s in spends), NOTHING) == ordered
