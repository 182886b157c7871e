"""The door noisy_choice: scores that a row moves by one at most, and a choice whose odds are exactly those of its rate."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import log_ndtr, ndtri

import choosing
import schemas
import sfumato as sf
import twins
from sfumato import Budget, PrivacyUnit
from sfumato.check import CHECKS
from sfumato.check.instruments.rows import made_up, read
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, ReleaseError
from sfumato.extending import Choice, Expected, Hot, Step
from sfumato.folder.contents import arrays_of
from sfumato.folder.releasing import ANSWERS
from sfumato.private.kernel import choice
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.view import View
from sfumato.public.plan.answers import AnsweredDoors, Answers
from sfumato.public.plan.choice import LOSS, PARTS, ROW, WEIGHTS, on_offer
from sfumato.public.plan.grid import NOISE_STDDEV
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import Poisson, step_from_json
from sfumato.verification.answer_checks import _unplanned

BUDGET = Budget(epsilon=1.0, delta=1e-6)
TABLES = Choice(name="t", widths=(3, 2, 4))
FALSE_ALARM = 1e-6


# The sampler.


def odds_of(scores, rate):
    weights = [math.exp(rate * (score - max(scores)) / LOSS) for score in scores]
    return np.array(weights) / sum(weights)


def p_value(scores, rate, *, drawn_at):
    """How well 5,000 choices at one rate fit the odds of another."""
    source = NoiseSource(research_seed=11)
    found = np.bincount(
        [choice.chosen(scores, rate=drawn_at, source=source) for _ in range(5_000)], minlength=len(scores)
    )
    return stats.chisquare(found, 5_000 * odds_of(scores, rate)).pvalue


@pytest.mark.parametrize("losses", [(0, 0.3, 1, 1.7, 3.5), (2.5, 2.5, 2.5), (0, 1)])
def test_a_choice_has_the_odds_of_its_rate(losses) -> None:
    rate = 41_943
    scores = [round(-loss * LOSS / rate) for loss in losses]
    assert p_value(scores, rate, drawn_at=rate) > FALSE_ALARM


@pytest.mark.parametrize("twin", [2.0, 0.5, 1.4])
def test_another_rate_is_noticed(twin) -> None:
    rate = 41_943
    scores = [round(-loss * LOSS / rate) for loss in (0, 0.3, 1, 1.7, 3.5)]
    assert p_value(scores, rate, drawn_at=round(twin * rate)) < FALSE_ALARM


def test_scores_far_apart_need_no_more_time_than_there_are_candidates() -> None:
    scores = [0] * 500 + [ROW * 2**40]
    assert choice.chosen(scores, rate=NOISE_STDDEV, source=NoiseSource(research_seed=1)) == 500


# Scores.


def counted(rows, tables=TABLES):
    counts = np.zeros(sum(tables.widths), dtype=np.int64)
    choice.add_rows(counts, np.array(rows, dtype=float).reshape(-1, len(tables.widths)), tables=tables)
    return counts


codes = st.one_of(st.integers(-2, 6), st.sampled_from([math.nan, math.inf, -math.inf, 0.5, 1e300]))
row = st.tuples(codes, codes, codes)
numbers = st.floats(-1e6, 1e6)
offers = st.tuples(
    st.lists(numbers, min_size=9, max_size=9), st.lists(st.floats(0, 1), min_size=3, max_size=3), numbers
)


def score(rows, offer):
    counts, weights, offset = offer
    parts = np.split(np.array(counts), np.cumsum(TABLES.widths)[:-1])
    expected = {i: Expected(parts[i], weights[i], offset) for i in range(3)}
    return choice.scores(counted(rows), on_offer(TABLES, expected), tables=TABLES)


def moved(rows, extra, offer):
    return max(abs(a - b) for a, b in zip(score(rows, offer), score([*rows, *extra], offer), strict=True))


@given(st.lists(row, max_size=6), st.lists(row, min_size=1, max_size=3), offers)
def test_a_row_moves_a_score_by_one_at_most(rows, extra, offer) -> None:
    assert moved(rows, extra, offer) <= len(extra) * ROW


def test_a_row_can_move_a_score_by_one() -> None:
    assert moved([], [(0, 0, 0)], ([0.0] * 9, [1.0] * 3, 0.0)) == ROW


def test_a_code_that_strays_into_the_next_table_would_move_it_by_two(monkeypatch) -> None:
    twins.counts_outside_its_table(monkeypatch)
    assert moved([], [(4, 1, 0)], ([0.0] * 9, [1.0] * 3, 0.0)) == 2 * ROW


def test_a_score_is_weight_times_distance_less_offset() -> None:
    expected = {0: Expected(np.array([1.5, 0.0, 0.25]), weight=0.5, offset=0.25), 2: Expected(np.zeros(2))}
    found = choice.scores(counted([(0, 1, 3), (2, 1, 3)]), on_offer(TABLES, expected), tables=TABLES)
    # |1 - 1.5| + 0 + |1 - .25| - .25 = 1 at half its weight; two rows where none was expected
    assert found == [PARTS * WEIGHTS // 2, 2 * PARTS * WEIGHTS]


# What it costs: docs/proofs/noisy-choice.md.


def gdp_of(p, q):
    """The smallest mu for which two coins with these odds are mu-GDP."""
    return float(ndtri(p) - ndtri(q))


def coins(t, epsilon):
    """The pair of coins whose losses are t and t - epsilon."""
    q = -math.expm1(t - epsilon) / (math.exp(t) - math.exp(t - epsilon))
    return math.exp(t) * q, q


@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.5, 3.0])
def test_the_middle_is_the_worst_of_all_pairs_of_bounded_range(mu) -> None:
    epsilon = 2 * float(log_ndtr(mu / 2) - log_ndtr(-mu / 2))
    found = [gdp_of(*coins(part * epsilon, epsilon)) for part in np.linspace(0.001, 0.999, 999)]
    assert max(found) == pytest.approx(mu, rel=1e-6)
    assert np.argmax(found) == 499


@pytest.mark.parametrize(
    "unit", [PrivacyUnit(), PrivacyUnit(person="p", max_rows=3), PrivacyUnit(relation="replace_one")]
)
def test_the_worst_neighbours_cost_what_was_accounted_and_hardly_less(unit) -> None:
    """Two candidates, of which one gains and the other loses all that a unit can move."""
    plan = make_plan((Step(name="c", blocks=(TABLES,), uses=5),), budget=BUDGET, unit=unit, rows=None)
    rate, moves = (
        plan.units_per_one("c", "t") / NOISE_STDDEV,
        unit.max_rows * (2 if unit.relation == "replace_one" else 1),
    )
    worst = gdp_of(1 / (1 + math.exp(-rate * moves)), 1 / (1 + math.exp(rate * moves)))
    accounted = 1 / plan.event.event.noise_multiplier
    assert 0.99 * accounted < worst <= accounted


def test_choices_and_sums_share_one_budget() -> None:
    sums = Step(name="s", blocks=(Hot(name="h", width=3),))
    plan = make_plan((sums, Step(name="c", blocks=(TABLES,), uses=4)), budget=BUDGET, unit=PrivacyUnit(), rows=None)
    alone = make_plan((sums,), budget=BUDGET, unit=PrivacyUnit(), rows=None)
    assert plan.noise_multiplier("s") == pytest.approx(math.sqrt(2) * alone.noise_multiplier("s"))
    assert plan.spent.accountant == "gdp"


# The door.


def view_of(schema=schemas.TABLE):
    plan = make_plan(choosing.TellingColumns().steps(schema, BUDGET), budget=BUDGET, unit=schema.unit, rows=None)
    data = read(made_up(schema, n_rows=200, seed=1), schema)
    return View(data, plan=plan, primitives=Primitives(NoiseSource(research_seed=1)), schema=schema)


def zeros(batch):
    return {"tables": np.zeros((len(batch["age"]), 5), dtype=np.int64)}


def test_the_best_is_chosen_where_it_stands_out() -> None:
    offered = {i: Expected(np.array([200.0])) for i in range(5)} | {3: Expected(np.array([-(2.0**30)]))}
    assert view_of().noisy_choice("choice", zeros, offered) == 3


def test_it_is_charged_and_refused_when_it_is_used_up() -> None:
    view = view_of()
    for _ in range(2):
        view.noisy_choice("choice", zeros, {0: Expected(np.zeros(1))})
    with pytest.raises(PlanError, match="planned for 2 uses"):
        view.noisy_choice("choice", zeros, {0: Expected(np.zeros(1))})


def test_rows_are_counted_once_for_one_map_and_anew_for_another() -> None:
    calls = []

    def noting(batch):
        calls.append(1)
        return zeros(batch)

    offered = {i: Expected(np.zeros(1)) for i in range(5)}
    view = view_of()
    view.noisy_choice("choice", noting, offered)
    before = len(calls)
    view.noisy_choice("choice", noting, offered)
    assert len(calls) == before
    view = view_of()
    view.noisy_choice("choice", noting, offered)
    view.noisy_choice("choice", lambda batch: noting(batch), offered)
    assert len(calls) == 3 * before


@pytest.mark.parametrize(
    ("offered", "message"),
    [
        ({}, "nothing is on offer"),
        ({7: Expected(np.zeros(1))}, "not among its 5 tables"),
        ({0: Expected(np.zeros(99))}, "expects 99 cells"),
        ({0: Expected(np.array([np.nan]))}, "no table can have"),
        ({0: Expected(np.array([2.0**41]))}, "no table can have"),
        ({0: Expected(np.zeros(1), weight=1.5)}, "weight must lie in"),
        ({0: Expected(np.zeros(1), weight=math.nan)}, "weight must lie in"),
        ({0: Expected(np.zeros(1), offset=math.inf)}, "offset must be finite"),
    ],
)
def test_what_cannot_be_expected_is_refused(offered, message) -> None:
    with pytest.raises(PlanError, match=message):
        view_of().noisy_choice("choice", zeros, offered)


def test_every_door_keeps_to_its_steps() -> None:
    with pytest.raises(PlanError, match="Use the door noisy_choice"):
        view_of().noisy_sum("choice", zeros)
    with pytest.raises(PlanError, match="Use the door noisy_choice"):
        view_of().noisy_mixtures("choice", zeros)
    with pytest.raises(PlanError, match="no choice"):
        view_of().noisy_choice("margins", zeros, {0: Expected(np.zeros(1))})


@pytest.mark.parametrize(
    "settings",
    [
        {"blocks": (TABLES, Hot(name="h", width=2, share=0.5))},
        {"blocks": (Hot(name="h", width=2, share=0.5), TABLES)},
        {"blocks": (TABLES,), "sampling": Poisson(0.5)},
        {"blocks": (TABLES,), "mixtures": 3},
        {"blocks": (TABLES,), "person_bound": 2.0},
    ],
)
def test_a_choice_is_made_over_everyone_and_alone(settings) -> None:
    with pytest.raises(PlanError):
        Step(name="c", **settings)


def test_tables_that_memory_does_not_hold_are_refused() -> None:
    with pytest.raises(PlanError, match="more than memory holds"):
        Choice(name="t", widths=(2**25, 2**25, 1))


def test_a_budget_in_which_a_choice_drowns_is_refused() -> None:
    with pytest.raises(PlanError, match="drowns in its noise"):
        make_plan(
            (Step(name="c", blocks=(TABLES,), uses=10**9),), budget=Budget(0.01, 1e-6), unit=PrivacyUnit(), rows=None
        )


def test_a_step_of_a_choice_survives_json() -> None:
    step = Step(name="c", blocks=(TABLES,), uses=3)
    assert step_from_json(json.loads(json.dumps(step.to_json()))) == step


# What a release holds of it.


def test_a_release_verifies_and_a_choice_that_was_not_on_offer_does_not(tmp_path) -> None:
    data = read(made_up(schemas.TABLE, n_rows=300, seed=2), schemas.TABLE)
    fitted = sf.fit(choosing.TellingColumns(), data, BUDGET, seed=1)
    sf.release(fitted, to=tmp_path / "release", rows=20)
    assert sf.verify(tmp_path / "release", rebuild=True).ok
    arrays = arrays_of((tmp_path / "release" / ANSWERS).read_bytes())
    plans = [fitted.plan]
    assert not _unplanned(Answers.from_arrays(arrays), plans)
    for forged in (-1, 5):
        answers = Answers.from_arrays({**arrays, "choice/0/tables": np.array([forged], dtype=np.int32)})
        assert any("no candidate of the choice" in problem for problem in _unplanned(answers, plans))
    twice = Answers.from_arrays({**arrays, "choice/1/tables": arrays["choice/0/tables"]})
    with pytest.raises(ReleaseError, match="was not on offer"):
        choosing.TellingColumns().measure(AnsweredDoors(fitted.plan, twice), schemas.TABLE)


def test_neighbours_of_a_table_that_leaks_into_the_next_are_caught(monkeypatch) -> None:
    twins.counts_outside_its_table(monkeypatch)
    (clause,) = [check for check in CHECKS if check.name == "neighbouring data differ by at most the bound"]

    class Strays(choosing.TellingColumns):
        def measure(self, view, schema):
            class Straying(twins.Through):
                def noisy_choice(self, step, per_record, expected):
                    def astray(batch):
                        codes = per_record(batch)["tables"].copy()
                        codes[:, 0] = codes[:, 1] + 8  # into the second table
                        return {"tables": codes}

                    return self.view.noisy_choice(step, astray, expected)

            return super().measure(Straying(view), schema)

    with pytest.raises(ContractError, match="moves a sum by"):
        clause.run(Setting(Strays(), schemas.TABLE, BUDGET, 300))
    monkeypatch.undo()
    clause.run(Setting(Strays(), schemas.TABLE, BUDGET, 300))
