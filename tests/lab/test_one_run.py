"""Audits by a single fit: the bound is that of fair coins where nothing is told, and honest fits hold."""

import sys
from pathlib import Path

import numpy as np
import pytest

import sfumato as sf

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from one_run import audit_in_one_run, cells_of_their_own, chance_of, one_run_epsilon


def test_the_bound_grows_with_right_guesses_and_with_delta() -> None:
    found = [
        one_run_epsilon(right, guesses=400, canaries=1000, delta=1e-6, confidence=0.95) for right in (200, 260, 390)
    ]
    assert found[0] == 0 < found[1] < found[2] < np.log(390 / 10)
    at = {"guesses": 400, "canaries": 1000, "epsilon": 1.0}
    assert chance_of(300, **at, delta=0.0) < chance_of(300, **at, delta=1e-3) <= 1


def test_randomised_response_is_refuted_as_seldom_as_it_should_be() -> None:
    """Guesses that are right with the very odds that epsilon allows."""
    rng, rate = np.random.default_rng(0), 1 / (1 + np.exp(-1.0))
    found = [
        one_run_epsilon(int(r), guesses=500, canaries=500, delta=0.0, confidence=0.9)
        for r in rng.binomial(500, rate, 100)
    ]
    assert 80 <= sum(epsilon <= 1.0 for epsilon in found) < 100
    assert np.mean(found) > 0.6


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_an_honest_fit_holds_and_says_something(epsilon: float) -> None:
    found = audit_in_one_run(cells_of_their_own(2000), sf.Budget(epsilon=epsilon, delta=1e-5), confidence=0.95, seed=3)
    assert found.verdict == "holds"
    assert 0 <= found.lower_bound <= epsilon
    if epsilon == 8.0:
        assert found.lower_bound > 1.0


def test_noise_that_is_left_out_is_refuted(monkeypatch) -> None:
    monkeypatch.setattr(
        "sfumato.private.kernel.primitives.Primitives.noise", lambda self, shape: np.zeros(shape, np.int64)
    )
    found = audit_in_one_run(cells_of_their_own(2000), sf.Budget(epsilon=1.0, delta=1e-5), confidence=0.95)
    assert found.verdict == "refuted"
