"""Honest releases of every kind are borne out, with nothing ticked that was not recomputed."""

import pytest

import forger
import sfumato as sf


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
