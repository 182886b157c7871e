"""What the receiver sees: a statement that was changed, or that says too little, is refused by verify."""

import json
from dataclasses import replace

import pytest
from books import new_ledger
from killed import SCHEMA, rows

import sfumato as sf
from sfumato.errors import VerificationError
from sfumato.folder.signing import load_signing_key, new_keys
from sfumato.public.certificate.certificate import Certificate
from sfumato.verification.findings import Findings
from sfumato.verification.statement_checks import check_statement


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """The certificate of a second release, signed by an office."""
    folder = tmp_path_factory.mktemp("statement")
    key = load_signing_key(new_keys(folder / "office")[0])
    ledger = new_ledger(lambda: f"sqlite:///{folder}/ledger.db")
    for _ in range(2):
        account = ledger.dataset("patients", sign=key)
        fitted = sf.fit("independent-histograms", rows(), 1.0, schema=SCHEMA, ledger=account)
    return fitted.certificate


def problems(certificate):
    found = Findings()
    check_statement(certificate, found)
    return found.problems


def test_an_honest_statement_passes_and_says_what_it_cannot_show(certificate):
    found = Findings()
    check_statement(certificate, found)
    assert not found.problems
    assert any("signed with the key" in sentence for sentence in found.checked)
    assert any("holds every release of these rows" in sentence for sentence in found.declared)
    assert Certificate.from_text(certificate.to_text()) == certificate


def test_a_certificate_without_a_statement_is_as_before(certificate):
    bare = replace(certificate, ledger=None)
    assert "ledger" not in bare.to_json()
    assert Certificate.from_text(bare.to_text()) == bare
    assert problems(bare) == []


FORGED = {
    "a smaller charge": (lambda s: {"charged": (s.charged[0] // 2, 0)}, "was charged mu"),
    "sums below the charge": (lambda s: {"spent": (s.charged[0] - 1, 0)}, "smaller than what was added"),
    "sums of fewer releases": (lambda s: {"spent": s.charged}, "smaller than what was added"),
    "a first release": (lambda s: {"release": 1}, "not those of a first release"),
    "sums above the total": (lambda s: {"spent": (s.spent[0] * 9, 0)}, "above its own total"),
    "a smaller total": (lambda s: {"epsilon": 1.0}, "above its own total"),
    "another unit": (lambda s: {"unit": sf.PrivacyUnit(person="id", max_rows=2)}, "cannot be recomputed"),
    "another number": (lambda s: {"line": s.line + 1}, "does not fit it"),
    "another name": (lambda s: {"dataset": "others"}, "does not fit it"),
    "fewer outputs without privacy": (lambda s: {"non_private": 1}, "does not fit it"),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_forged_statement_is_refused(certificate, name):
    change, why = FORGED[name]
    forged = replace(certificate.ledger, **change(certificate.ledger))
    assert any(why in problem for problem in problems(replace(certificate, ledger=forged)))
    assert any("signature" in problem for problem in problems(replace(certificate, ledger=forged)))


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("spent", [1.5, 0]),
        ("spent", [-1, 0]),
        ("release", 0),
        ("ledger", "zz"),
        ("dataset", "a\nb"),
        ("signature", None),
        ("in_words", "release 1 of nothing"),
        ("format", "other/1"),
        ("extra", 1),
        ("epsilon", 0.0),
    ],
)
def test_a_statement_that_is_none_is_refused(certificate, key, value):
    body = json.loads(certificate.to_text())
    body["ledger"][key] = value
    with pytest.raises(VerificationError):
        Certificate.from_json(body)
