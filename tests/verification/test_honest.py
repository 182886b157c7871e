"""Honest releases of every kind are borne out, with nothing ticked that was not recomputed."""

import pytest

import forger
import sfumato as sf
from sfumato.mechanisms import ThreeATable


@pytest.mark.slow
@pytest.mark.parametrize("kind", forger.KINDS)
def test_an_honest_release_is_borne_out(kind, tmp_path):
    folder = forger.make(kind, tmp_path / "release").path
    found = sf.verify(folder)
    assert found.ok, found.problems
    assert found.replayed_epsilon == pytest.approx(1.0, rel=2e-3)
    assert found.different == 0
    assert found.signature == "absent"
    assert "who published it: the release is not signed" in found.declared
    assert not any("secret" in sentence for sentence in found.checked)
    assert (kind == "discovery") == any("discovered bounds" in sentence for sentence in found.checked)


@pytest.mark.slow
def test_a_release_in_which_everybody_is_shortened_is_borne_out(tmp_path):
    """Everyone has eight rows that are all the same: with so little noise one sees by how much they are shortened."""
    budget = sf.Budget(epsilon=30.0, delta=1e-6)
    fitted = sf.fit(ThreeATable(), forger.sensitive(forger.COPIES), budget)
    release = forger.Forged(sf.release(fitted, to=tmp_path / "release", rows=60).path)
    (fine,) = [step for step in release.body["steps"] if step["name"] == "fine"]
    counted = release.answers["fine/0/fine"].sum() / release.body["grid"]["fine/fine"]
    in_full = fine["blocks"][0]["n_hot"] * forger.COPIES.rows
    assert counted / in_full == pytest.approx(fine["person_bound"] / forger.COPIES.unit.max_rows, rel=0.05)
    found = sf.verify(release.path)
    assert found.ok, found.problems
    assert found.different == 0
