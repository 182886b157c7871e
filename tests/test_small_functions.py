"""Small functions of the public room and of the pages, each by an example or two."""

import math

import dp_accounting as dpa
import numpy as np
import pytest

from sfumato.errors import BudgetError, PlanError, VerificationError
from sfumato.model import rows_counted
from sfumato.present.columns import value_text
from sfumato.present.pages import plain
from sfumato.present.report import odds_text, sure_text
from sfumato.public.accounting import calibrate, epsilon_of, event_to_json, least_cluster_size, rows_within
from sfumato.public.accounting.gdp import delta_of_mu, epsilon_of_mu, mu_of_budget
from sfumato.public.budget import Budget, PrivacyUnit, budget_of, default_delta
from sfumato.public.certificate.claim import exact_text
from sfumato.public.machine.exact_arithmetic import on_grid, squared_distances
from sfumato.public.machine.threads import in_threads
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Choice, Dense, Hot, Response
from sfumato.public.plan.choice import Expected, on_offer
from sfumato.public.plan.gradient_step import microbatch_rows
from sfumato.public.plan.grid import truth_in_parts, units_per_one
from sfumato.public.plan.outline import LeftOut
from sfumato.public.plan.plan import noise_growth
from sfumato.public.plan.probe import random_batch
from sfumato.public.plan.step import Poisson, Step
from sfumato.public.schema.column import Column, plain_word
from sfumato.public.schema.encoding import one_hot
from sfumato.public.schema.faults import lines_of
from sfumato.public.schema.one_of import OneOf, groups_declared
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.spelling import did_you_mean, hidden_character, words_of
from sfumato.public.schema.toml_text import from_toml
from sfumato.public.strict_json import parse_json

AGES = Hot(name="age", width=20)


def test_words_of_a_name_are_told_by_marks_and_capitals() -> None:
    assert words_of("PatientId") == ["patient", "id"]
    assert words_of("date_of birth") == ["date", "of", "birth"]
    assert words_of("icd10-chapter") == ["icd10", "chapter"]
    assert plain_word(" Ja ") == "ja"
    assert plain_word("1.0") == "1"


def test_hidden_characters_are_seen() -> None:
    assert not hidden_character("weight (kg)")
    assert hidden_character("age\u202e")
    assert hidden_character("a\x07")


def test_the_nearest_word_is_guessed_where_one_is_near() -> None:
    assert did_you_mean("bound", ["type", "bounds"]) == " Did you mean 'bounds'?"
    assert did_you_mean("colour", ["type", "bounds"]) == ""


def test_groups_are_lists_or_lists_of_lists() -> None:
    assert groups_declared(["a", "b"], key="one_of") == (("a", "b"),)
    assert groups_declared([["a", "b"], ["c", "d"]], key="one_of") == (("a", "b"), ("c", "d"))
    rows = {"a": np.array([0, 0, 1]), "b": np.array([1, 0, 1])}
    assert OneOf(("a", "b")).code(rows).tolist() == [1, 0, 0]
    assert OneOf(("a", "b"), or_none=True).code(rows).tolist() == [1, 2, 0]


def test_lines_and_declarations_of_a_schema_file() -> None:
    assert lines_of('[columns."a b"]\ntype = "boolean"') == {("columns", "a b"): 1, ("columns", "a b", "type"): 2}
    assert from_toml('[columns.y]\ntype = "boolean"').columns[0].categories == ("false", "true")


def test_rows_as_vectors_and_made_up() -> None:
    assert one_hot(np.array([1, 0]), size=2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 9)),))
    assert random_batch(schema, n_rows=2, seed=0)["age"].shape == (2,)


def test_numbers_as_texts() -> None:
    assert [exact_text(value) for value in (1.0, 1e-6, 0.12345678)] == ["1", "1e-06", "0.12345678"]
    assert [value_text(v) for v in (1234.0, 27.256, 0.00012344, -0.0)] == ["1,234", "27.26", "0.0001234", "0"]
    assert [sure_text(v) for v in (0.731, 0.5, 0.99966, 1.0)] == ["73 %", "50 %", "99.97 %", "more than 99.99 %"]
    assert [odds_text(v) for v in (1e-6, 3.3e-5)] == ["one in 1,000,000", "one in 30,000"]
    assert plain({"a": (1, math.inf)}) == {"a": [1, None]}


def test_exact_products_by_example() -> None:
    assert (on_grid(np.array([0.1, -7.0])) * 2**22).tolist() == [419430.0, -4194304.0]
    centres = np.array([[0.0, 0.0], [1.0, 0.0]])
    assert squared_distances(np.array([[1.0, 0.0]]), centres).tolist() == [[0.0, -1.0]]
    assert in_threads(abs, [3, -4]) == [3, 4]


def test_candidates_are_whole_numbers() -> None:
    (candidate,) = on_offer(Choice(name="c", widths=(2, 2)), {1: Expected(np.array([1.5, 0.5]), weight=0.25)})
    assert (candidate.index, candidate.weight, candidate.offset) == (1, 16384, 0)
    assert candidate.counts.tolist() == [1536, 512]


def test_norms_of_persons_and_their_noise() -> None:
    step = Step(name="s", blocks=(AGES,), person_bound=2.5)
    assert [step.norm_of(PrivacyUnit(person="p", max_rows=rows)) for rows in (1, 2, 4)] == [1, 2, 2.5]
    steps = [Step(name="s", blocks=(AGES,)), Step(name="t", blocks=(AGES,), person_bound=2.0)]
    growth = noise_growth(steps, unit=PrivacyUnit(person="p", max_rows=4))
    assert growth == pytest.approx(math.sqrt((16 + 4) / 2))


def test_the_grid_by_example() -> None:
    assert units_per_one(Hot(name="count", width=1), noise_multiplier=10.0) == 104857.0
    parts = truth_in_parts(Response(name="label", categories=2), noise_multiplier=1.0)
    assert round(parts / 2**32, 4) == 0.5205  # so that p = Phi(m / 2) = .7602


def test_blocks_that_settle_nothing_are_refused() -> None:
    with pytest.raises(PlanError, match=r"block 'mean': l2_bound = 0\.0 must lie between 1e-100 and 1e100\."):
        Dense(name="mean", width=3, l2_bound=0.0)
    with pytest.raises(PlanError, match=r"block 'label': a response needs at least 2 categories, and has 1\."):
        Response(name="label", categories=1)


def test_answers_are_kept_by_step_use_and_block() -> None:
    answers = Answers()
    answers.add("counts", 0, "age", np.array([5, 7]))
    assert answers.of("counts", 0, "age").tolist() == [5, 7]


def test_what_is_left_out_is_a_sentence() -> None:
    left_out = LeftOut("Interactions of two columns", "80 columns, and they are asked for up to 64")
    assert left_out.sentence == "Interactions of two columns: 80 columns, and they are asked for up to 64."


def test_microbatches_hold_no_more_than_are_expected() -> None:
    step = Step(name="s", blocks=(Dense(name="g", width=1000, l2_bound=1.0),), sampling=Poisson(0.01))
    assert microbatch_rows(step, declared=None, asked=None) == 256
    assert microbatch_rows(step, declared=3_000, asked=None) == 32


def test_costs_by_example() -> None:
    assert round(delta_of_mu(1.0, mu=0.26805), 8) == 1e-05
    assert round(epsilon_of_mu(0.26805, delta=1e-5), 3) == 1.0
    assert round(mu_of_budget(8.0, delta=1e-5), 5) == 1.66603
    assert event_to_json(dpa.GaussianDpEvent(2.0)) == {"event": "gaussian", "noise_multiplier": 2.0}
    event = dpa.SelfComposedDpEvent(dpa.GaussianDpEvent(7.4613), 4)
    assert round(epsilon_of(event, delta=1e-5, relation="add_or_remove").epsilon, 2) == 1.0
    scale = calibrate(dpa.GaussianDpEvent, epsilon=1.0, delta=1e-5, relation="add_or_remove")
    assert round(scale, 4) == 3.7306


def test_clusters_and_rows_by_example() -> None:
    assert least_cluster_size(epsilon=1.0, delta=1e-5, sigma_max=0.2, sensitivity=14.0, share=0.5) == 370
    assert [rows_within(noise, sigma_max=0.25) for noise in (10.0, 10.1)] == [40, 41]
    assert rows_counted(20_013.4, stddev=50.0) == 20013
    assert rows_counted(1.4e6, stddev=1e6) == 1000
    assert rows_counted(-7.0, stddev=5.0) == 1


def test_budgets_as_people_ask_for_them() -> None:
    assert budget_of(1, rows=50_000_000) == Budget(epsilon=1.0, delta=2e-09)
    assert [default_delta(rows) for rows in (None, 60_000, 50_000_000)] == [1e-06, 1e-06, 2e-09]
    with pytest.raises(BudgetError, match="a budget of type str is not known"):
        budget_of("1", rows=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, "a": 2}', "note.json names the key 'a' twice."),
        ('{"a": NaN}', "note.json holds NaN, which is no number"),
    ],
)
def test_odd_json_is_refused(text: str, said: str) -> None:
    with pytest.raises(VerificationError, match=said):
        parse_json(text, what="note.json")
