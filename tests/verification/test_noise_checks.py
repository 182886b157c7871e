"""The tests of the doors' integers: silent on honest noise, loud where it is missing."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.extending import Dense, Hot, NoiseSource, Step
from sfumato.private.kernel.gaussian import rounded_gaussian
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.view import View
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.plan import make_plan
from sfumato.verification.answer_checks import _answered
from sfumato.verification.noise_checks import Answered, _place, implausible_noise, unit_of

RNG = np.random.default_rng(3)


def noise(n):
    return rounded_gaussian(n, source=NoiseSource())


def counts(n, *, unit, most=100):
    return RNG.integers(0, most, n) * unit


@pytest.mark.parametrize("unit", [None, 64, 1000, 104_857, 2**18, 2**20, 2**22, 2**26])
@pytest.mark.parametrize("n", [1, 2, 10, 1000, 300_000])
def test_honest_noise_passes(n, unit):
    for sums in (np.zeros(n, dtype=np.int64), counts(n, unit=unit or 12_347)):
        assert implausible_noise([Answered(sums + noise(n), unit)]) == []


def test_nothing_is_nothing():
    assert implausible_noise([]) == []


@pytest.mark.parametrize("unit", [1000, 104_857, 2**20, 2**22])
@pytest.mark.parametrize("n", [10, 1000])
def test_exact_counts_are_told(n, unit):
    assert implausible_noise([Answered(counts(n, unit=unit), unit)])
    assert implausible_noise([Answered(np.arange(n) * unit, unit)])


def test_exact_sums_of_anything_small_are_told():
    assert implausible_noise([Answered(RNG.integers(-300, 300, 12), None)])


def test_a_few_exact_counts_among_many_are_told():
    answers = counts(5000, unit=104_857) + noise(5000)
    answers[:6] = np.array([1, 5, 9, 30, 7, 2]) * 104_857
    assert any("whole numbers" in said for said in implausible_noise([Answered(answers, 104_857)]))


@pytest.mark.parametrize("part", [2, 4, 100])
def test_weaker_noise_is_told_where_cells_are_empty(part):
    assert any("less noise" in said for said in implausible_noise([Answered(noise(2000) // part, None)]))


def test_weaker_noise_is_told_where_marks_are_far_apart():
    unit = 4 * NOISE_STDDEV
    answers = counts(2000, unit=unit, most=10**6) + noise(2000) // 2
    assert any("between whole numbers" in said for said in implausible_noise([Answered(answers, unit)]))


def test_weaker_noise_that_nobody_can_see_passes():
    """The limit that the module's text confesses: full cells, and marks much closer than the noise is wide."""
    answers = counts(2000, unit=10_000, most=10**6) + noise(2000) // 2
    assert implausible_noise([Answered(answers, 10_000)]) == []


def test_places_between_marks_are_uniform_for_any_unit():
    for unit in (2**18, 2**19, 2**20, 3 * 2**20, 2**24):
        places = _place(noise(100_000), unit=unit)
        assert np.histogram(places, bins=10, range=(0, 1))[0] == pytest.approx(10_000, rel=0.08)


def test_marks_are_those_of_counts():
    assert unit_of(Hot(name="n", width=2), 5000.0) == 5000
    assert unit_of(Hot(name="n", width=2, weighted=True), 5000.0) is None
    assert unit_of(Dense(name="n", width=2, l2_bound=1.0), 5000.0) is None
    assert unit_of(Hot(name="n", width=2), 0.5) is None


@pytest.mark.slow
def test_counts_in_which_persons_are_shortened_have_no_marks(monkeypatch) -> None:
    """Where there is so little noise that marks would show, a test of them would refuse honest answers."""
    unit = sf.PrivacyUnit(person="who", max_rows=4)
    schema = sf.Schema(columns=(sf.Column(name="x", kind="integer", bounds=(0, 499)),), unit=unit)
    step = Step(name="s", blocks=(Hot(name="b", width=500),), person_bound=1.5)
    plan = make_plan((step,), budget=sf.Budget(epsilon=200.0, delta=1e-6), unit=unit, rows=None)
    copies = {"x": np.repeat(np.arange(500), 4), "who": np.repeat(np.arange(500), 4)}
    view = View(sf.Sensitive.read(copies, schema), plan=plan, primitives=Primitives(NoiseSource()), schema=schema)
    view.noisy_sum("s", lambda batch: {"b": batch["x"]})
    assert implausible_noise(_answered(view.answers, plan)) == []
    monkeypatch.setattr(Step, "clips_persons", lambda self, unit: False)
    assert "do not lie between whole numbers" in implausible_noise(_answered(view.answers, plan))[0]
