"""Policies: budgets by recipient and purpose, who may release, two signatures, end dates, periods; tighter at once, looser signed."""

import re

import dp_accounting as dpa
import pytest
from books import QUARTER, charge, new_ledger

from sfumato.errors import BudgetExceeded, LedgerError
from sfumato.folder.signing import load_signing_key, new_keys
from sfumato.ledger.ledger import Ledger
from sfumato.ledger.policy import Policy
from sfumato.ledger.rules import ApprovalNeeded
from sfumato.public.budget import PrivacyUnit

TOTAL = "[total]\nepsilon = 3\ndelta = 1e-6\n"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: load_signing_key(new_keys(folder / name)[0]) for name in ("office", "board", "stranger")}


def ledger_with(sqlite, text, keys=None) -> Ledger:
    address = sqlite()
    file = (keys["office"].path if keys else __import__("pathlib").Path(address.removeprefix("sqlite:///"))).with_name(
        "policy.toml"
    )
    file.write_text(TOTAL + text)
    ledger = Ledger.create(address)
    ledger.add("patients", policy=file)
    return ledger


def test_budgets_by_recipient_and_purpose(sqlite):
    ledger = ledger_with(sqlite, "[recipients]\nuniversity = 1.2\ncity = 3\n[purposes]\nresearch = 2\n")
    charge(ledger, recipient="university", purpose="research")
    with pytest.raises(BudgetExceeded, match="'recipient university'"):
        charge(ledger, recipient="university", purpose="research")
    charge(ledger, recipient="city", purpose="research")
    charge(ledger, recipient="city", purpose="research")
    with pytest.raises(BudgetExceeded, match="'purpose research'"):
        charge(ledger, recipient="city", purpose="research")
    with pytest.raises(LedgerError, match="none for 'newspaper'"):
        charge(ledger, recipient="newspaper", purpose="research")
    with pytest.raises(LedgerError, match="none for None"):
        charge(ledger, recipient="city")
    assert ledger.verify().ok


def test_the_largest_release(sqlite):
    ledger = ledger_with(sqlite, "[release]\nlargest = 1.0\n")
    with pytest.raises(BudgetExceeded, match="more than the largest") as refused:
        charge(ledger, dpa.GaussianDpEvent(3.0))
    assert refused.value.fits == 1.0
    charge(ledger, dpa.GaussianDpEvent(4.3))


def test_who_may_release(sqlite, keys):
    ledger = ledger_with(sqlite, "[release]\nkeys = ['office.pub']\n", keys)
    with pytest.raises(LedgerError, match="nobody signs"):
        charge(ledger)
    with pytest.raises(LedgerError, match="none of those"):
        charge(ledger, sign=keys["stranger"])
    told = charge(ledger, sign=keys["office"])
    assert told.key == keys["office"].public_text
    assert told.signature


def test_two_signatures_above_a_threshold(sqlite, keys):
    ledger = ledger_with(sqlite, "[approval]\nabove = 0.5\nsignatures = 2\nkeys = ['office.pub', 'board.pub']\n", keys)
    charge(ledger, dpa.GaussianDpEvent(20.0))  # small
    with pytest.raises(ApprovalNeeded, match="1 more signature") as needed:
        charge(ledger, QUARTER, sign=keys["office"])
    digest = needed.value.digest
    assert ledger.show()["patients"]["pending"] == {digest: 0}
    with pytest.raises(LedgerError, match="none of those that may approve"):
        ledger.approve("patients", digest, sign=keys["stranger"])
    with pytest.raises(LedgerError, match="nothing with the digest"):
        ledger.approve("patients", "0" * 64, sign=keys["board"])
    ledger.approve("patients", digest, sign=keys["office"])
    with pytest.raises(ApprovalNeeded):  # the same key twice is one signature
        charge(ledger, QUARTER, sign=keys["office"])
    ledger.approve("patients", digest, sign=keys["board"])
    charge(ledger, QUARTER, sign=keys["office"])
    with pytest.raises(ApprovalNeeded):  # it was for once
        charge(ledger, QUARTER, sign=keys["office"])
    assert ledger.state("patients").releases == 2
    assert ledger.verify().ok


def test_an_end_date(sqlite):
    ledger = ledger_with(sqlite, "[release]\nuntil = 2020-01-01\n")
    with pytest.raises(LedgerError, match="ends on 2020-01-01"):
        charge(ledger)


def test_outputs_without_privacy(sqlite):
    ledger = ledger_with(sqlite, "")
    with pytest.raises(LedgerError, match="no outputs without privacy"):
        ledger.dataset("patients").without_privacy("ads-gan")
    free = ledger_with(sqlite, "[release]\nnon_private = true\n")
    free.dataset("patients").without_privacy("ads-gan")
    assert "not private at all" in charge(free).in_words
    assert free.verify().ok


def test_each_period_is_a_block_of_its_own(sqlite):
    ledger = ledger_with(sqlite, "[release]\nperiods = 'month'\n")
    wide = dpa.GaussianDpEvent(2.0)
    charge(ledger, wide, epsilon=2.4, periods=["2026-01"])
    with pytest.raises(BudgetExceeded, match="total of 2026-01"):
        charge(ledger, wide, epsilon=2.4, periods=["2026-01", "2026-02"])
    told = charge(ledger, wide, epsilon=2.4, periods=["2026-02", "2026-03"])
    assert "of one period" in told.in_words
    with pytest.raises(BudgetExceeded):  # it was charged to both
        charge(ledger, wide, epsilon=2.4, periods=["2026-03"])
    for wrong in ([], ["2026"], ["2026-13"], ["2026-04", "2026-04"]):
        with pytest.raises(LedgerError, match="month"):
            charge(ledger, periods=wrong)
    assert ledger.verify().ok
    with pytest.raises(LedgerError, match="from one period and go to another"):
        ledger.add("others", policy=ledger.state("patients").policy, unit=PrivacyUnit("replace_one"))
    plain = ledger_with(sqlite, "")
    with pytest.raises(LedgerError, match="not counted by periods"):
        charge(plain, periods=["2026-01"])


def test_a_person_with_rows_in_several_periods_costs_twice_the_mu(sqlite):
    """Taking out the rows of one period is not taking out the person: the other rows stay."""
    ledger, person = ledger_with(sqlite, "[release]\nperiods = 'year'\n"), PrivacyUnit(person="id", max_rows=3)
    ledger.add("persons", policy=ledger.state("patients").policy, unit=person)
    one = charge(ledger, dataset="persons", unit=person, periods=["2025"])
    two = charge(ledger, dataset="persons", unit=person, periods=["2026", "2027"])
    assert two.charged[0] == pytest.approx(4 * one.charged[0], rel=1e-9)
    assert ledger.verify().ok


def test_a_closed_dataset(sqlite):
    ledger = new_ledger(sqlite)
    charge(ledger)
    ledger.close("patients")
    with pytest.raises(LedgerError, match="is closed"):
        charge(ledger)


BASE = {"epsilon": 3.0, "delta": 1e-6, "failures": 5e-7}
FULL = {
    **{"largest": 1.0, "recipients": {"a": 1.0, "b": 2.0}, "purposes": {"x": 1.0}, "until": "2027-01-01"},
    **{"releasers": ("k1", "k2"), "approve_above": 0.5, "approvals": 1, "approvers": ("k1", "k2")},
    **{"changes": 1, "changers": ("k1",)},
}


@pytest.mark.parametrize(
    ("change", "loosened"),
    [
        ({"epsilon": 2.0}, []),
        ({"epsilon": 3.1}, ["total"]),
        ({"failures": 6e-7}, ["total"]),
        ({"delta": 2e-6, "failures": 1.5e-6}, ["total"]),
        ({"largest": 0.5}, []),
        ({"largest": None}, ["largest"]),
        ({"recipients": {"a": 1.0}}, []),
        ({"recipients": {}}, ["recipients"]),
        ({"recipients": {"a": 1.0, "c": 0.1}}, ["recipients"]),
        ({"recipients": {"a": 1.1}}, ["recipients"]),
        ({"purposes": {}}, ["purposes"]),
        ({"releasers": ("k1",)}, []),
        ({"releasers": ()}, ["keys"]),
        ({"releasers": ("k1", "k3")}, ["keys"]),
        ({"until": "2026-06-01"}, []),
        ({"until": None}, ["until"]),
        ({"non_private": True}, ["non_private"]),
        ({"approve_above": 0.4}, []),
        ({"approve_above": 0.6}, ["approval"]),
        ({"approve_above": None, "approvals": 0}, ["approval"]),
        ({"approvals": 2}, []),
        ({"approvers": ("k1",)}, ["approval"]),
        ({"changes": 0}, ["change"]),
        ({"changers": ("k3",)}, ["change"]),
    ],
)
def test_what_loosens_a_policy(change, loosened):
    old = Policy(**BASE, **FULL)
    assert old.loosened_by(Policy(**{**BASE, **FULL, **change})) == loosened


def test_tighter_at_once_and_looser_with_signatures(sqlite, keys):
    ledger = ledger_with(sqlite, "[change]\nsignatures = 2\nkeys = ['office.pub', 'board.pub']\n", keys)
    policy = ledger.state("patients").policy
    tighter, looser = (
        Policy(**{**policy.to_json(), "epsilon": epsilon, "changers": policy.changers}) for epsilon in (2.0, 5.0)
    )
    ledger.change_policy("patients", tighter)
    assert ledger.state("patients").version == 2
    with pytest.raises(ApprovalNeeded, match=r"loosening the policy \(total\)") as needed:
        ledger.change_policy("patients", looser, sign=keys["stranger"])
    ledger.approve("patients", needed.value.digest, sign=keys["board"])
    with pytest.raises(ApprovalNeeded, match="1 more"):
        ledger.change_policy("patients", looser, sign=keys["board"])
    ledger.change_policy("patients", looser, sign=keys["office"])
    assert ledger.state("patients").policy.epsilon == 5.0
    assert ledger.verify().ok


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[total]\nepsilon = 1\n", "delta"),
        ("[total]\nepsilon = nan\ndelta = 1e-6\n", "must be a number"),
        ("[total]\nepsilon = -1\ndelta = 1e-6\n", "epsilon"),
        ("[total]\nepsilon = 1\ndelta = 0.5\n", "too large"),
        (TOTAL + "failures = 1e-6\n", "part of delta"),
        (TOTAL + "[nonsense]\n", "no section"),
        (TOTAL + "[release]\nlargst = 1\n", "no key 'largst'"),
        (TOTAL + "[release]\nuntil = 'soon'\n", "must be a date"),
        (TOTAL + "[release]\nperiods = 'week'\n", "one of"),
        (TOTAL + "[release]\nnon_private = 1\n", "true or false"),
        (TOTAL + "[release]\nkeys = ['nobody.pub']\n", "no key file"),
        (TOTAL + "[recipients]\na = 0\n", "above 0"),
        (TOTAL + "[approval]\nabove = 1\n", "both"),
        (TOTAL + "[approval]\nabove = 1\nsignatures = 2\n", "enough different keys"),
        ("epsilon = ", "not TOML"),
    ],
)
def test_policies_that_are_none_are_refused_with_a_sentence(tmp_path, text, why):
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(LedgerError, match=re.escape(why)):
        Policy.load(file)
    with pytest.raises(LedgerError, match="cannot be read"):
        Policy.load(tmp_path / "nothing.toml")
