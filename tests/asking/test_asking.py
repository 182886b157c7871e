"""Questions to a release: answers from noisy measurements, intervals that hold the truth, and what cannot be said."""

import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from command_line import answer_of, run
from sfumato.asking import totals
from sfumato.asking.asking import Asker
from sfumato.asking.columns import MOST_COLUMNS, column_estimates
from sfumato.asking.noted_sums import EnoughNoted, NotingDoors
from sfumato.asking.questions import read_question
from sfumato.asking.totals import Measurements
from sfumato.errors import ModelError, SchemaError, SfumatoError
from sfumato.extending import NoiseSource
from sfumato.folder.releasing import report_of
from sfumato.mechanisms import DPMix, IndependentHistograms
from sfumato.public.plan.answers import Answers
from sfumato.public.plan.step import Step

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="age", kind="integer", bounds=(18, 90)),
        sf.Column(name="income", kind="numeric", bounds=(0, 100), missing=True),
        sf.Column(name="region", kind="categorical", categories=("north", "south", "nowhere")),
        sf.Column(name="smokes", kind="boolean"),
    )
)
BUDGET = sf.Budget(epsilon=3.0, delta=1e-5)


def people(n_rows: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(50, 15, n_rows).round(), 18, 90)
    south = rng.random(n_rows) < 0.4
    income = np.clip(20 + 0.5 * age + 10 * south + rng.normal(0, 8, n_rows), 0, 100)
    income[rng.random(n_rows) < 0.1] = np.nan
    smokes = rng.random(n_rows) < np.where(south, 0.4, 0.2)
    return pd.DataFrame(
        {"age": age.astype(int), "income": income, "region": np.where(south, "south", "north"), "smokes": smokes}
    )


def asker_of(fitted) -> Asker:
    return Asker(fitted.schema, fitted.mechanism, fitted.plan, fitted.answers, fitted.sample().table)


@pytest.fixture(scope="module")
def asked() -> Asker:
    return asker_of(
        sf.fit("3a-table", people(6000), BUDGET, schema=SCHEMA, seed=0, source=NoiseSource(research_seed=1))
    )


ROWS = people(6000)
MANY = people(400_000, seed=1)
SOUTH = MANY[MANY.region == "south"]
TRUTHS = {
    "count()": len(ROWS),
    "count() where age >= 65 and region = south": int(((ROWS.age >= 65) & (ROWS.region == "south")).sum()),
    "share(smokes) where region = south": SOUTH.smokes.mean(),
    "mean(income) where region = south": SOUTH.income.mean(),
    "sum(income)": ROWS.income.sum(),
    "quantile(income, 0.9)": MANY.income.quantile(0.9),
    "median(age) where region = south": SOUTH.age.median(),
    "difference(income, region = south, region = north)": SOUTH.income.mean()
    - MANY[MANY.region == "north"].income.mean(),
    "ratio(smokes, region = south)": MANY.smokes.sum() / len(SOUTH),
    "correlation(age, income)": MANY.age.corr(MANY.income),
}


@pytest.mark.parametrize("question", TRUTHS)
def test_every_kind_of_question_is_answered_near_the_truth(asked: Asker, question: str) -> None:
    (estimate,) = asked.ask(question)
    assert estimate.low <= estimate.value <= estimate.high
    width = (estimate.high - estimate.low) / 2
    assert abs(estimate.value - TRUTHS[question]) <= max(
        2.5 * width, 1.0 * question.startswith("median")
    )  # five standard errors: once in a million
    assert width < 0.2 * abs(TRUTHS[question])
    parts = (estimate.from_noise, estimate.from_model, estimate.from_sampling)
    assert math.isclose(sum(parts), 1, rel_tol=1e-9) or question.startswith("median")  # which moves by steps


def test_a_question_that_was_measured_rests_on_noise_alone(asked: Asker) -> None:
    for estimate in asked.ask("count() by region"):
        assert estimate.from_model < 0.1
        assert estimate.from_sampling == 0


def test_of_few_rows_a_model_is_not_believed_beyond_the_noise_that_it_was_fitted_to(
    asked: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fits a noisy count of one row in nine is off by the noise of this count."""
    few = replace(asked.measurements, n_rows=500, _systems={})
    system = few._system(("region", "smokes"), few.discrepancy)
    assert math.sqrt(system.loud / 9) > 0.98 * system.numbers.stddevs.mean()
    many = replace(few, n_rows=10**6, _systems={})
    assert few.missed(("region",), n_asked=1) / 500 > 1.1 * many.missed(("region",), n_asked=1) / 10**6
    assert np.isclose(many.missed(("region",), n_asked=1) / 10**6, many.discrepancy, rtol=0.01)

    def error(measured: Measurements) -> float:
        inside = (measured.rows.batch["region"] == 0).astype(np.float64)[:, None]
        found = measured.totals(inside * (measured.rows.batch["smokes"] == 1)[:, None], ("region", "smokes"))
        return math.sqrt(float(found.noise[0, 0] + found.model[0, 0]))

    # The model is as it is because of this noise: the two errors go along, more than two that may cancel.
    tied = error(replace(few, _systems={}))
    monkeypatch.setattr(totals, "_TIED", 0.0)
    assert 1.0 < tied / error(replace(few, _systems={})) <= math.sqrt(1.6)


def test_a_wider_confidence_and_the_population_are_wider(asked: Asker) -> None:
    def width(**options) -> float:
        (estimate,) = asked.ask("share(smokes)", **options)
        return estimate.high - estimate.low

    assert width(of="rows") < width() == width(of="population") < width(confidence=0.99)
    for options in ({"confidence": 1.0}, {"confidence": 0.1}, {"of": "everybody"}):
        with pytest.raises(ModelError, match="must be"):
            asked.ask("share(smokes)", **options)


def test_groups_have_an_answer_each_and_an_empty_one_is_not_divided_by(asked: Asker) -> None:
    answer = asked.ask("mean(income) by region")
    assert [one.group for one in answer] == [("north",), ("south",), ("nowhere",)]
    assert answer[2].value is None
    assert "as large as the number of rows" in answer[2].why
    assert list(answer.to_frame().columns) == ["region", "value", "low", "high", "naive", "why"]
    assert "cannot be said" in repr(answer)
    count = asked.ask("count() by region")[2]
    assert count.low == 0 < count.high < 400  # nobody is there, and noise hides how surely


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("", "1 to"),
        ("avg(income)", "no question 'avg'"),
        ("income", "begins with a function"),
        ("mean(income", "not closed"),
        ("mean(incme)", "incme"),
        ("mean(region)", "is a text"),
        ("mean(income) wher age > 3", "by, where, or nothing"),
        ("mean(income) where age >> 3", r"\^"),
        ("mean(income) where age > 200", "no row can be so"),
        ("mean(income) by age", "needs columns of categories"),
        ("mean(income) by regin", "no column 'regin'"),
        ("mean(income) by region, region", "twice"),
        ("mean(income, age)", "is written as"),
        ("quantile(income, 1.5)", "between 0 and 1"),
        ("quantile(income)", "between 0 and 1"),
        ("count(age)", "takes nothing"),
        ("difference(income, age, region = south)", "true or false"),
        ("mean(income) where __import__('os')", r"\^"),
        ("x" * 5000, "2,000"),
    ],
)
def test_what_is_no_question_is_refused_with_its_place(asked: Asker, question: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        asked.ask(question)


def test_an_image_cannot_be_asked_about() -> None:
    photo, kind = sf.Column(name="photo", kind="image", shape=(2, 2)), sf.Column(name="kind", kind="boolean")
    schema = sf.Schema(columns=(photo, kind), target="kind")
    with pytest.raises(SchemaError, match="holds images"):
        read_question("mean(photo)", schema)


def test_columns_that_were_not_measured_together_cannot_be_said() -> None:
    targeted = replace(SCHEMA, target="smokes")
    histograms = asker_of(sf.fit(IndependentHistograms(), people(3000), BUDGET, schema=targeted, seed=0))
    assert histograms.ask("mean(income) by smokes")[0].value is not None  # measured by class
    (estimate,) = histograms.ask("correlation(age, income)")
    assert estimate.value is None
    assert "not measured together" in estimate.why
    assert estimate.naive is not None


def test_noise_as_large_as_the_table_is_said_to_be_so() -> None:
    tiny = asker_of(
        sf.fit(
            IndependentHistograms(), people(100), sf.Budget(0.01, 1e-5), schema=replace(SCHEMA, target="smokes"), seed=0
        )
    )
    (estimate,) = tiny.ask("mean(income)")
    assert estimate.value is None
    assert "noise" in estimate.why


def test_a_release_without_rows_of_the_schema_is_refused() -> None:
    schema = replace(SCHEMA, target="smokes", rows=600)
    mixed = sf.fit(DPMix(mixtures=20), people(600), BUDGET, schema=schema, seed=0)
    with pytest.raises(ModelError, match="no column"):
        asker_of(mixed).ask("mean(income)")


class ForgetsTheNoise(Measurements):
    """A twin that takes the noisy numbers for exact ones."""

    def totals(self, *arguments, **options):
        return replace(super().totals(*arguments, **options), noise=np.zeros((1, 1)))


def times_held(kind: type[Measurements], monkeypatch: pytest.MonkeyPatch, *, releases: int) -> int:
    """How often an interval of a count holds it."""
    monkeypatch.setattr("sfumato.asking.asking.Measurements", kind)
    held = 0
    schema = sf.Schema(columns=SCHEMA.columns[2:], target="smokes")
    for seed in range(releases):
        rows = people(800, seed=seed)[["region", "smokes"]]
        source = NoiseSource(research_seed=seed)
        fitted = sf.fit(IndependentHistograms(), rows, sf.Budget(1.0, 1e-5), schema=schema, seed=0, source=source)
        estimate = asker_of(fitted).ask("count() where region = south")[0]
        held += estimate.low <= (rows.region == "south").sum() <= estimate.high
    return held


def test_intervals_of_what_was_measured_hold_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    assert times_held(Measurements, monkeypatch, releases=30) >= 24  # 28.5 are expected, fewer than 24 once in 5,000
    assert times_held(ForgetsTheNoise, monkeypatch, releases=30) < 24


def test_the_command_line_answers_and_refuses_forged_measurements(tmp_path) -> None:
    fitted = sf.fit(IndependentHistograms(), people(2000), BUDGET, schema=replace(SCHEMA, target="smokes"), seed=0)
    folder = tmp_path / "release"
    sf.release(fitted, to=folder)
    result = run("ask", folder, "count()", "mean(income) by smokes", "--json")
    assert result.exit_code == 0, result.output
    answers = answer_of(result)["answers"]
    assert [len(one["estimates"]) for one in answers] == [1, 2]
    shown = run("ask", folder, "mean(income) by smokes")
    assert "95% interval" in shown.output
    assert run("ask", folder, "mean(incme)").exit_code != 0
    content = bytearray((folder / "answers.npz").read_bytes())
    content[-200] ^= 1
    (folder / "answers.npz").write_bytes(content)
    assert run("ask", folder, "count()").exit_code != 0
    with pytest.raises(SfumatoError):
        sf.verify(folder).raise_if_bad()


def test_the_report_shows_every_column_with_intervals_that_verify_makes_again(tmp_path) -> None:
    rng = np.random.default_rng(3)
    n = 4000
    town, age = rng.choice(["rome", "milan", "bari"], n, p=[0.6, 0.3, 0.1]), rng.integers(18, 91, n)
    rows = pd.DataFrame({"town": town, "age": age, "seen": (age * 1e7).astype("datetime64[s]"), "ill": age > 60})
    schema = sf.Schema(
        columns=(
            sf.Column(name="town", kind="categorical", categories=("rome", "milan", "bari")),
            sf.Column(name="age", kind="integer", bounds=(18, 90)),
            sf.Column(name="seen", kind="datetime", bounds=(0, 1e9)),
            sf.Column(name="ill", kind="boolean"),
        ),
        target="ill",
    )
    fitted = sf.fit("mst", rows, sf.Budget(epsilon=2.0, delta=1e-5), schema=schema, seed=0)
    released = sf.release(fitted, to=tmp_path / "release")
    page = (released.path / "report.html").read_text(encoding="utf-8")
    assert sf.verify(released.path).ok
    assert page.count("Private rows, 95 % intervals") == 2  # age and seen; town and ill have lines on their bars
    assert len(re.findall(r"<small>[\d.<]+ to [\d.]+ %</small>", page)) == 5
    told = column_estimates(replace(released._asker, brief=True))
    shares = told["town"].estimates
    assert all(one.low <= share <= one.high for one, share in zip(shares.values(), (0.6, 0.3, 0.1), strict=True))
    middle = told["age"].estimates["half are at most"]
    assert middle.low <= 54 <= middle.high
    # Twin: other measurements give another page.
    wrong = replace(fitted.answers, integers={k: v + 40_000 for k, v in fitted.answers.integers.items()})
    other = report_of(released.certificate, schema=schema, synthetic=released.synthetic(), answers=wrong)
    assert other != (released.path / "report.html").read_bytes()


def test_a_report_says_why_nothing_can_be_said_and_is_never_lost() -> None:
    schema = sf.Schema(
        columns=(sf.Column(name="x", kind="integer", bounds=(0, 9)), sf.Column(name="y", kind="boolean")), target="y"
    )
    rows = pd.DataFrame({"x": np.arange(200) % 10, "y": np.arange(200) % 2 == 0})
    fitted = sf.fit("independent-histograms", rows, sf.Budget(epsilon=0.01, delta=1e-5), schema=schema, seed=0)
    page = report_of(fitted.certificate, schema=schema, synthetic=fitted.sample(50), answers=fitted.answers).decode()
    assert "cannot be said, because the noise is as large as the number of rows" in page
    page = report_of(fitted.certificate, schema=schema, synthetic=fitted.sample(50), answers=Answers()).decode()
    assert "cannot be said, because its measurements cannot be read" in page
    many = tuple(sf.Column(name=f"c{at}", kind="boolean") for at in range(MOST_COLUMNS + 1))
    asker = Asker(sf.Schema(columns=many), fitted.mechanism, fitted.plan, fitted.answers, pd.DataFrame(), brief=True)
    assert all(one.why.startswith("there are more than") for one in column_estimates(asker).values())


def test_of_shortened_persons_what_was_counted_in_full_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = people(300).loc[np.repeat(np.arange(300), 6)].assign(who=np.arange(1800) // 6)[["region", "smokes", "who"]]
    schema = sf.Schema(columns=SCHEMA.columns[2:], unit=sf.PrivacyUnit(person="who", max_rows=6))
    budget = sf.Budget(epsilon=20.0, delta=1e-5)
    fitted = sf.fit("3a-table", rows, budget, schema=schema, seed=0)
    (count,), (both,) = (asker_of(fitted).ask(text) for text in ("count()", _BOTH))
    assert count.low <= 1800 <= count.high
    assert both.value is None
    assert "in full: persons with many rows were shortened" in both.why
    # Twin: shortened sums taken for full ones find too few rows.
    monkeypatch.setattr(Step, "clips_persons", lambda self, unit: False)
    (both,) = asker_of(fitted).ask(_BOTH)
    true = ((rows["region"] == "south") & rows["smokes"]).sum()
    assert both.high < true
    # Other mechanisms count all rows of a person in full, with as much more noise.
    (both,) = asker_of(sf.fit("mst", rows, budget, schema=schema, seed=0)).ask(_BOTH)
    assert both.low <= true <= both.high


_BOTH = "count() where region = south and smokes = true"


@pytest.mark.parametrize("door", ["noisy_choice", "noisy_votes", "noisy_mixtures", "noisy_reports", "noisy_gradients"])
def test_a_report_does_not_train_again_on_what_other_doors_gave(door: str) -> None:
    fitted = sf.fit("independent-histograms", people(100), BUDGET, schema=SCHEMA, seed=0)
    brief = NotingDoors(fitted.plan, fitted.answers, is_enough=lambda sums: False)
    with pytest.raises(EnoughNoted):
        getattr(brief, door)(fitted.plan.steps[0].name, None, {})
