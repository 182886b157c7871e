"""The door noisy_reports: every row by itself, a response as private as it is accounted, an order that shows nothing."""

import json
import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

import schemas
import sfumato as sf
import twins
from sfumato import Budget, PrivacyUnit
from sfumato.check.instruments.rows import made_up, read
from sfumato.errors import PlanError
from sfumato.extending import Dense, EachRow, Hot, Response, Step
from sfumato.mechanisms import LocalReports
from sfumato.private.doors import reports
from sfumato.private.kernel import responses
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.accounting import event_to_json
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.grid import RESPONSE_PARTS, truth_in_parts
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import step_from_json
from sfumato.verification.answer_checks import _responded, _unplanned
from sfumato.verification.noise_checks import Responded, implausible_responses
from sfumato.verification.replay import replay_epsilon

BUDGET = Budget(epsilon=1.0, delta=1e-6)
REPLACE = PrivacyUnit(relation="replace_one")
ROW = Dense(name="row", width=2, l2_bound=1.0, share=0.5)
LABEL = Response(name="label", categories=3, share=0.5)
FALSE_ALARM = 1e-6


def step_of(*blocks, rows=300, **settings):
    return Step(name="reports", blocks=blocks or (ROW, LABEL), sampling=EachRow(), mixtures=rows, **settings)


def view_of(step, *, rows=300, data=None, primitives=Primitives):
    plan = make_plan((step,), budget=BUDGET, unit=REPLACE, rows=300)
    data = read(data or made_up(schemas.REPLACE, n_rows=rows, seed=1), schemas.REPLACE)
    return View(data, plan=plan, primitives=primitives(NoiseSource(research_seed=1)), schema=schemas.REPLACE)


def far(batch):
    """A vector that no clip leaves as it is, and a code."""
    return {"row": np.full((len(batch["age"]), 2), 5.0), "label": batch["age"] % 3}


# Responses.


def gdp_of(categories, truth):
    """The smallest mu for which a response is mu-GDP: the largest over all corners of its curve of errors."""
    other = (1 - truth) / categories
    own = other + truth
    corners = [(own, other), (1 - other, 1 - own)]
    return max(ndtri(p) - ndtri(q) for p, q in corners)


@pytest.mark.parametrize("categories", [2, 3, 10, 100])
@pytest.mark.parametrize("noise", [0.3, 1.0, 7.0, 200.0])
def test_a_response_costs_what_was_accounted_and_hardly_less(categories, noise) -> None:
    block = Response(name="label", categories=categories, share=0.25)
    truth = truth_in_parts(block, noise_multiplier=noise) / RESPONSE_PARTS
    accounted = math.sqrt(2 * 0.25) / noise
    assert 0.999 * accounted < gdp_of(categories, truth) <= accounted


@pytest.mark.parametrize("categories", [2, 5])
def test_no_test_of_a_response_beats_the_gaussian(categories) -> None:
    """The whole curve: for any a, H_a of two rows' responses is at most that of the Gaussian pair."""
    truth = truth_in_parts(Response(name="label", categories=categories), noise_multiplier=1.0) / RESPONSE_PARTS
    one, two = np.full((2, categories), (1 - truth) / categories)
    one[0], two[1] = one[0] + truth, two[1] + truth
    mu = math.sqrt(2)
    for a in np.exp(np.linspace(-4, 4, 81)):
        found = np.maximum(one - a * two, 0).sum()
        gaussian = ndtr(mu / 2 - np.log(a) / mu) - a * ndtr(-mu / 2 - np.log(a) / mu)
        assert found <= gaussian + 1e-12


def test_two_categories_tell_the_truth_by_the_formula_of_pure_epsilon() -> None:
    truth = truth_in_parts(Response(name="label", categories=2), noise_multiplier=1.0) / RESPONSE_PARTS
    assert (1 + truth) / 2 == pytest.approx(ndtr(math.sqrt(2) / 2), abs=1e-8)


@pytest.mark.parametrize(("parts", "drawn_at", "fits"), [(2**30, 2**30, True), (2**30, 2**31, False)])
def test_a_response_has_its_odds(parts, drawn_at, fits) -> None:
    own = np.arange(40_000)[:, None] % 4
    given = responses.randomised(own, categories=4, parts=drawn_at, source=NoiseSource(research_seed=3))
    odds = np.full(4, (1 - parts / RESPONSE_PARTS) / 4)
    odds[0] += parts / RESPONSE_PARTS
    turned = np.bincount(((given - own) % 4).ravel(), minlength=4)
    assert (stats.chisquare(turned, 40_000 * odds).pvalue > FALSE_ALARM) == fits
    assert stats.chisquare(np.bincount(given.ravel(), minlength=4)).pvalue > FALSE_ALARM  # each is thrown as often


def test_a_response_that_drowns_is_refused() -> None:
    with pytest.raises(PlanError, match="drowns in its noise"):
        truth_in_parts(Response(name="label", categories=2), noise_multiplier=1e10)


# Responses of rows with several codes, and pure ones.


def exact_odds(own, *, categories, parts):
    """The odds of every answer for a row with these codes, in whole numbers over their sum."""
    codes = len(own)
    die = codes * (RESPONSE_PARTS - parts)
    return [die + (categories * parts if code in own else 0) for code in range(categories)]


@pytest.mark.parametrize(("categories", "codes"), [(2, 1), (6, 1), (6, 2), (6, 3), (1024, 64)])
@pytest.mark.parametrize("noise", [0.05, 1.0, 7.0])
def test_a_pure_response_has_its_epsilon_exactly_and_hardly_less(categories, codes, noise) -> None:
    block = Response(name="row", categories=categories, codes=codes, share=0.5, pure=True)
    parts = truth_in_parts(block, noise_multiplier=noise)
    accounted = 2 * 0.5 / noise
    rows = list(combinations(range(categories), codes)) if categories < 10 else [range(codes), range(codes, 2 * codes)]
    odds = [exact_odds(own, categories=categories, parts=parts) for own in rows]
    assert {sum(each) for each in odds} == {categories * codes * RESPONSE_PARTS}
    worst = max(Fraction(max(answer), min(answer)) for answer in zip(*odds, strict=True))
    with mpmath.workprec(200):
        ratio = mpmath.log(mpmath.mpf(worst.numerator) / worst.denominator)
        assert 0.999 * accounted < ratio <= accounted


def test_a_code_twice_would_cost_more_and_never_gets_that_far() -> None:
    """The twin: without the door's check, a row whose two codes are the same would be told twice as often."""
    block = Response(name="row", categories=6, codes=2, pure=True)
    parts = truth_in_parts(block, noise_multiplier=2.0)
    doubled = Fraction(2 * (RESPONSE_PARTS - parts) + 2 * 6 * parts, 2 * (RESPONSE_PARTS - parts))
    assert math.log(doubled) > 1.3  # accounted: 1
    given = np.array([[4, 4], [4, 5], [4.2, 4.7], [-1, 3], [3, 6], [np.nan, 3], [3, 0]])
    assert reports._codes(given, block=block).tolist() == [[0, 1], [4, 5], [0, 1], [0, 1], [0, 1], [0, 1], [3, 0]]


@pytest.mark.parametrize("codes", [1, 3])
def test_no_test_of_a_response_with_several_codes_beats_the_gaussian(codes) -> None:
    truth = truth_in_parts(Response(name="row", categories=8, codes=codes), noise_multiplier=1.0) / RESPONSE_PARTS
    mu, curves = math.sqrt(2), []
    for shared in range(codes + 1):
        one, two = np.full((2, 8), (1 - truth) / 8)
        one[:codes] += truth / codes
        two[codes - shared : 2 * codes - shared] += truth / codes
        for a in np.exp(np.linspace(-4, 4, 41)):
            gaussian = ndtr(mu / 2 - np.log(a) / mu) - a * ndtr(-mu / 2 - np.log(a) / mu)
            curves.append(np.maximum(one - a * two, 0).sum() - gaussian)
    assert max(curves) <= 1e-12
    assert max(curves) > -1e-3  # and it is met somewhere


@pytest.mark.parametrize(("drawn_at", "fits"), [(2**30, True), (2**31, False)])
def test_each_code_of_a_row_is_told_as_often(drawn_at, fits) -> None:
    first = np.arange(40_000)[:, None]
    own = (first + np.array([0, 2, 3])) % 8
    given = responses.randomised(own, categories=8, parts=drawn_at, source=NoiseSource(research_seed=3))
    assert given.shape == (40_000, 1)
    odds = np.full(8, 0.75 / 8)
    odds[[0, 2, 3]] += 0.25 / 3
    turned = np.bincount(((given - first) % 8).ravel(), minlength=8)
    assert (stats.chisquare(turned, 40_000 * odds).pvalue > FALSE_ALARM) == fits


def test_pure_responses_cost_an_epsilon_that_adds_up_and_no_delta() -> None:
    blocks = [
        Response(name=name, categories=8, codes=c, share=s, pure=True) for name, c, s in (("a", 2, 0.3), ("b", 1, 0.7))
    ]
    plan = make_plan((step_of(*blocks),), budget=BUDGET, unit=REPLACE, rows=300)
    found = event_to_json(plan.event)
    assert found["event"] == "epsilon_delta"
    assert (found["epsilon"], found["delta"]) == (pytest.approx(1.0, rel=1e-9), 0.0)
    assert plan.spent.epsilon <= 1.0
    assert replay_epsilon(found, delta=1e-6, relation="replace_one") == pytest.approx(1.0, rel=1e-6)
    both = make_plan((step_of(*blocks, uses=4),), budget=BUDGET, unit=REPLACE, rows=300)
    assert 0.999 < both.spent.epsilon <= 1.0
    assert event_to_json(both.event)["inner"]["epsilon"] == pytest.approx(0.25, rel=1e-9)
    step = step_of(*blocks)
    assert step_from_json(json.loads(json.dumps(step.to_json()))) == step


@pytest.mark.parametrize(
    "make",
    [
        lambda: step_of(ROW, Response(name="label", categories=3, share=0.5, pure=True)),
        lambda: step_of(
            Response(name="a", categories=3, share=0.5), Response(name="b", categories=3, share=0.5, pure=True)
        ),
        lambda: Response(name="a", categories=8, codes=0),
        lambda: Response(name="a", categories=8, codes=5),
    ],
)
def test_what_has_no_odds_is_refused(make) -> None:
    with pytest.raises(PlanError, match=r"for themselves|up to half"):
        make()


# The order.


def test_every_order_is_as_likely_as_any() -> None:
    source = NoiseSource(research_seed=5)
    found = np.zeros(24)
    for _ in range(4800):
        order = responses.secret_order(4, source=source)
        found[sum(int(np.sum(order[i + 1 :] < order[i])) * math.factorial(3 - i) for i in range(4))] += 1
    assert stats.chisquare(found).pvalue > FALSE_ALARM


def test_equal_words_are_drawn_again() -> None:
    class Twice(NoiseSource):
        calls = 0

        def words(self, count):
            Twice.calls += 1
            return np.array([3, 3, 1] if Twice.calls == 1 else [5, 2, 9], dtype=np.uint64)

    assert responses.secret_order(3, source=Twice()).tolist() == [1, 0, 2]
    assert Twice.calls == 2


def test_reports_leave_in_the_secret_order() -> None:
    step, age = step_of(Dense(name="row", width=1, l2_bound=100.0)), {}

    def ages(batch):
        age["first"] = batch["age"][:300].copy()
        return {"row": batch["age"]}

    found = view_of(step, primitives=twins.Silent).noisy_reports("reports", ages)["row"].values[:, 0]
    assert np.sort(found) == pytest.approx(np.sort(age["first"]), abs=1e-3)
    assert np.mean(np.abs(found - age["first"]) < 1) < 0.2


# The door.


def test_every_row_is_clipped_and_has_noise_of_its_own() -> None:
    exact = view_of(step_of(), primitives=twins.Silent).noisy_reports("reports", far)["row"].values
    assert np.linalg.norm(exact, axis=1) == pytest.approx(np.ones(300), rel=1e-4)
    noisy = view_of(step_of()).noisy_reports("reports", far)["row"]
    assert np.unique(noisy.values).size == 600
    assert noisy.values.std() == pytest.approx(noisy.stddev, rel=0.15)


class Truthful(twins.Silent):
    """No noise and no dice: for arithmetic only."""

    def respond(self, private_codes, *, step, block, categories, parts):
        return private_codes


def test_codes_that_are_none_count_as_the_first() -> None:
    codes = np.array([np.nan, np.inf, -1.0, 3.0, 2.0])

    def odd(batch):
        return {"row": np.full((len(batch["age"]), 2), np.nan), "label": codes[batch["age"].astype(int) % 5]}

    found = view_of(step_of(), primitives=Truthful).noisy_reports("reports", odd)
    assert set(np.unique(found["label"].values)) == {0.0, 2.0}
    assert not found["row"].values.any()


def test_a_row_over_which_the_map_stumbles_is_reported_as_nothing() -> None:
    raw = made_up(schemas.REPLACE, n_rows=300, seed=1)
    raw["pressure"] = np.where(np.arange(300) == 7, 123.456, 100.0)

    def stumbling(batch):
        if (batch["pressure"] == 123.456).any():
            raise ValueError(batch["pressure"])
        return {"row": np.ones((len(batch["age"]), 2)), "label": np.full(len(batch["age"]), 2)}

    found = view_of(step_of(), data=raw, primitives=Truthful).noisy_reports("reports", stumbling)
    nothing = ~found["row"].values.any(axis=1)
    assert nothing.sum() == 1
    assert found["label"].values[nothing, 0].tolist() == [0.0]
    assert (found["label"].values[~nothing] == 2).all()


@pytest.mark.parametrize("rows", [0, 299, 301])
def test_another_number_of_rows_than_declared_is_refused(rows) -> None:
    with pytest.raises(PlanError, match="the plan says 300 rows"):
        view_of(step_of(), rows=rows).noisy_reports("reports", far)


def test_it_is_charged() -> None:
    view = view_of(step_of())
    view.noisy_reports("reports", far)
    with pytest.raises(PlanError, match="planned for 1 uses"):
        view.noisy_reports("reports", far)


def test_every_door_keeps_to_its_steps() -> None:
    with pytest.raises(PlanError, match="Use the door noisy_reports"):
        view_of(step_of()).noisy_sum("reports", far)
    with pytest.raises(PlanError, match="Use the door noisy_reports"):
        view_of(step_of()).noisy_mixtures("reports", far)
    sums = Step(name="reports", blocks=(ROW,))
    with pytest.raises(PlanError, match="Use the door noisy_sum"):
        view_of(sums).noisy_reports("reports", lambda batch: {"row": far(batch)["row"]})


# What it costs.


def test_a_replaced_row_costs_the_diameter_of_its_report() -> None:
    plan = make_plan((step_of(),), budget=BUDGET, unit=REPLACE, rows=300)
    vector = 2 / plan.noise_stddev("reports", "row")  # two rows of norm 1 on opposite sides
    label = gdp_of(3, truth_in_parts(LABEL, noise_multiplier=plan.noise_multiplier("reports")) / RESPONSE_PARTS)
    accounted = 1 / plan.event.noise_multiplier
    assert 0.999 * accounted < math.hypot(vector, label) <= accounted * (1 + 1e-4)  # the grid is whole units


@pytest.mark.parametrize(
    ("unit", "message"),
    [
        (PrivacyUnit(), 'relation = "replace_one"'),
        (PrivacyUnit(relation="replace_one", person="patient", max_rows=3), "one row for each person"),
        (PrivacyUnit(relation="replace_one", person="patient"), "one row for each person"),
    ],
)
def test_units_that_reports_do_not_protect_are_refused(unit, message) -> None:
    with pytest.raises(PlanError, match=message):
        make_plan((step_of(),), budget=BUDGET, unit=unit, rows=300)


@pytest.mark.parametrize(
    ("blocks", "settings"),
    [
        ((Hot(name="h", width=3),), {"sampling": EachRow()}),
        ((ROW,), {"sampling": EachRow(), "groups": 2}),
        ((ROW,), {"sampling": EachRow(), "person_bound": 2.0}),
        ((LABEL,), {}),
    ],
)
def test_what_is_no_report_is_refused(blocks, settings) -> None:
    with pytest.raises(PlanError):
        Step(name="s", blocks=blocks, **settings)


def test_a_step_of_reports_survives_json() -> None:
    step = step_of(uses=2)
    assert step_from_json(json.loads(json.dumps(step.to_json()))) == step


# What a release holds of it.


def test_a_release_verifies_and_forged_responses_do_not(tmp_path) -> None:
    schema = replace(schemas.REPLACE, rows=2_000)
    data = read(made_up(schema, n_rows=2_000, seed=2), schema)
    fitted = sf.fit(LocalReports(), data, BUDGET, seed=1)
    sf.release(fitted, to=tmp_path / "release", rows=20)
    assert sf.verify(tmp_path / "release", rebuild=True).ok
    honest = fitted.answers.integers
    assert not _unplanned(Answers(honest), [fitted.plan])
    assert not implausible_responses(_responded(fitted.answers, fitted.plan))
    forged = {**honest, "reports/0/label": honest["reports/0/label"] + 1}
    assert any("cannot give" in said for said in _unplanned(Answers(forged), [fitted.plan]))
    short = {**honest, "reports/0/row": honest["reports/0/row"][:-1]}
    assert any("another shape" in said for said in _unplanned(Answers(short), [fitted.plan]))
    kept = Answers({**honest, "reports/0/label": np.zeros_like(honest["reports/0/label"])})
    assert any("less chance" in said for said in implausible_responses(_responded(kept, fitted.plan)))


def test_honest_responses_pass_whatever_the_rows_hold() -> None:
    own = np.zeros((5_000, 1), dtype=np.int64)
    given = responses.randomised(own, categories=10, parts=2**31, source=NoiseSource(research_seed=8))
    assert not implausible_responses([Responded(given, 10, 0.05)])
    assert implausible_responses([Responded(given, 10, 0.10)])
