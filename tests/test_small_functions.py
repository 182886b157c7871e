"""Small functions of the public room and of the pages, each by an example or two."""

import math

import dp_accounting as dpa
import numpy as np
import pandas as pd
import pytest

from sfumato.cli.console import _rough
from sfumato.cli.interactive import _is_pair, _split
from sfumato.cli.options import _parse, asked_rows
from sfumato.errors import BudgetError, PlanError, VerificationError
from sfumato.model import Synthetic, rows_counted
from sfumato.present.columns import percent_text, value_text
from sfumato.present.histogram_drawing import date_marks, number_text, round_marks
from sfumato.present.loading import load_lines
from sfumato.present.marginals import marginal
from sfumato.present.pages import plain
from sfumato.present.report import odds_text, sure_text
from sfumato.public.accounting import calibrate, epsilon_of, event_to_json, least_cluster_size, rows_within
from sfumato.public.accounting.gdp import delta_of_mu, epsilon_of_mu, mu_of_budget
from sfumato.public.budget import Budget, PrivacyUnit, budget_of, default_delta
from sfumato.public.certificate.claim import exact_text
from sfumato.public.certificate.layout import Grid, Section, as_text
from sfumato.public.machine.exact_arithmetic import exact_products, on_grid, squared_distances
from sfumato.public.machine.threads import in_threads
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.block import Choice, Dense, Hot, Outer, Response, Votes
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
from sfumato.public.schema.proposals import propose
from sfumato.public.schema.schema import Schema
from sfumato.public.schema.toml_text import from_toml
from sfumato.public.spelling import did_you_mean, hidden_character, words_of
from sfumato.public.strict_json import parse_json, read_fields

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
    products = exact_products(np.array([[1.0, 2.0], [np.inf, 0.0]]), np.array([[1.0], [3.0]]))
    np.testing.assert_array_equal(products, [[7.0], [np.nan]])
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


def test_sizes_and_norms_of_blocks() -> None:
    assert Hot(name="age", width=20, n_hot=4).l2_bound == 2.0
    assert Outer(name="moments", shape=(2, 3), l2_bound=1.0, groups=4).width == 24
    assert Choice(name="pairs", widths=(4, 6)).columns == 2
    assert Votes(name="votes", teachers=50, queries=8, classes=2).l2_bound == 4.0


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


def test_fields_have_their_types() -> None:
    assert read_fields({"rate": 0.5}, {"rate": float}, what="the sampling") == {"rate": 0.5}
    with pytest.raises(VerificationError, match=r"the sampling: rate is '0\.5', which is not of the type float\."):
        read_fields({"rate": "0.5"}, {"rate": float}, what="the sampling")


def test_rows_are_asked_for_by_number_or_many() -> None:
    assert [asked_rows(text) for text in ("500", "many", None)] == [500, "many", None]


def test_names_propose_bounds_and_what_to_drop() -> None:
    assert propose("patient_age", "categorical", is_known=False).bounds == "[0, 110]"
    assert propose("PassengerId", "integer").dropped == "an identifier, it seems"


def test_columns_are_counted_and_loaded() -> None:
    counted = marginal("sex", {"synthetic": pd.Series(["f", "m", "f", "f"])})
    assert counted.heights["synthetic"].tolist() == [0.75, 0.25]
    schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 99)),))
    line = load_lines(Synthetic(table=pd.DataFrame({"age": [41], "ill": [True]})), schema)["pandas"]
    assert line == 'import pandas; rows = pandas.read_parquet("synthetic.parquet")'


def test_sections_as_text() -> None:
    grid = Grid(("column", "rows"), (("age", "7"),), numbers=1)
    assert as_text([Section(title="Noise", grid=grid, notes=("±",))]) == "Noise\n\ncolumn  rows\nage        7\n±"


def test_marks_of_an_axis() -> None:
    assert round_marks(17, 90, most=5) == [(20.0, "20"), (40.0, "40"), (60.0, "60"), (80.0, "80")]
    assert round_marks(0.1, 0.35, most=5) == [(0.1, "0.1"), (0.2, "0.2"), (0.3, "0.3")]
    texts = [number_text(12_000, 0), number_text(-0.0, 1), number_text(25_000_000, 0), number_text(2e-7, 7)]
    assert texts == ["12,000", "0.0", "2.5e+07", "2e-07"]
    assert date_marks(18262, 20089, most=4) == [(18262.0, "2020"), (18993.0, "2022"), (19723.0, "2024")]
    assert [text for _, text in date_marks(19360, 19450, most=4)] == ["2023-02", "2023-03", "2023-04"]


def test_shares_have_as_many_digits_as_tell_them_apart_from_nothing() -> None:
    shares = (0.7241, 0.0312, 0.0004, 0.0, 1.0, 0.99999, 0.000001)
    assert [percent_text(share) for share in shares] == [
        "72 %",
        "3.1 %",
        "0.04 %",
        "0 %",
        "100 %",
        ">99.9 %",
        "<0.01 %",
    ]


def test_answers_on_the_command_line_are_read_by_their_type() -> None:
    assert [_rough(seconds) for seconds in (7.2, 48, 200, 9_000)] == ["7 s", "50 s", "3 min", "2.5 h"]
    assert _split("a, b,c") == ("a", "b", "c")
    assert _split('["a, b", 3]') == ("a, b", "3")
    assert [_is_pair(text) for text in ("[0, 110]", "[60-220]", "[5]")] == [True, False, False]
    assert _parse("500", int, key="mixtures") == 500
    assert _parse("none", float | None, key="l2_clip") is None
    with pytest.raises(PlanError, match=r"mixtures = 'many' must be a whole number\."):
        _parse("many", int, key="mixtures")
