"""Audit by attack: the strongest canary, the optimal score, and a confidence bound on epsilon from many releases."""

import math

import numpy as np
import pytest

import twins
from attack import epsilon_lower_bound
from sfumato import Budget, Column, PrivacyUnit, Schema
from sfumato.check.instruments.rows import read
from sfumato.mechanisms import DPMix
from sfumato.private.intake.quiet import silence
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.plan.plan import make_plan

N_ROWS, WIDTH, DELTA, RELEASES = 60, 24, 1e-3, 1500
SCHEMA = Schema(columns=(Column(name="image", kind="image", shape=(4, 6), bounds=(0, 1)),), rows=N_ROWS)
MIX = DPMix(mixtures=40, degree=3)


@pytest.fixture(autouse=True)
def _cheap_releases(monkeypatch):
    """Many releases of few rows: a batch need not hold a thousand of them, and silence within silence costs nothing."""
    monkeypatch.setattr("sfumato.private.rows.batches._MOST_ROWS", 64)
    with silence():
        yield


def scores(primitives: type[Primitives], *, epsilon: float, canary: bool, releases: int = RELEASES) -> np.ndarray:
    """Log-likelihood ratios of the canary's presence, one for each release by the real code path.

    All other rows lie at the centre of the box and contribute nothing, so that nothing hides the canary.
    """
    rows = np.full((N_ROWS - 1 + canary, 4, 6), 0.5)
    if canary:
        rows[-1] = 1.0
    budget = Budget(epsilon=epsilon, delta=DELTA)
    plan = make_plan(MIX.steps(SCHEMA, budget), budget=budget, unit=PrivacyUnit(), rows=N_ROWS)
    noise, rate = plan.noise_multiplier("mixtures"), MIX.degree / N_ROWS
    direction, norm = np.full(WIDTH, 1 / math.sqrt(WIDTH)), 0.5 * math.sqrt(WIDTH)
    data, found = read({"image": rows}, SCHEMA), []
    for release in range(releases):
        # Known seeds, so that the test gives the same answer every time; both worlds draw from other streams.
        source = NoiseSource(research_seed=2 * release + canary)
        view = View(data, plan=plan, primitives=primitives(source), schema=SCHEMA)
        sums = MIX.measure(view, SCHEMA)["features"] * MIX.degree
        at = (sums @ direction) / norm
        found.append(np.log(1 - rate + rate * np.exp(at / noise**2 - 1 / (2 * noise**2))).sum())
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_attack_gets_no_further_than_the_claim(epsilon: float) -> None:
    present, absent = (scores(Primitives, epsilon=epsilon, canary=canary) for canary in (True, False))
    assert epsilon_lower_bound(present, absent) <= epsilon
    if epsilon == 4.0:
        assert present.mean() - absent.mean() > 6 * math.hypot(present.std(), absent.std()) / math.sqrt(RELEASES), (
            "no teeth"
        )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("primitives", "releases"), [(twins.SameCoinsForEveryMixture, RELEASES), (twins.EighthNoise, 400)]
)
def test_the_attack_refutes_broken_doors(primitives: type[Primitives], releases: int) -> None:
    worlds = (scores(primitives, epsilon=1.0, canary=present, releases=releases) for present in (True, False))
    assert epsilon_lower_bound(*worlds, confidence=0.95) > 1.0
