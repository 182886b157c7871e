"""Rows under a condition: those of the model given it, quickly where it is rare, and refused where no row can be so."""

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato import conditions
from sfumato.errors import ModelError, SchemaError
from sfumato.mechanisms.table.model import copies_for
from sfumato.model import FixedModel, Synthetic
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.schema import Column, Schema

COLUMNS = (
    Column(name="ill", kind="boolean"),
    Column(name="age", kind="integer", bounds=(0, 100)),
    Column(name="weight", kind="numeric", bounds=(20, 200), decimals=1),
    Column(name="ward", kind="categorical", categories=("icu", "main", "day"), missing=True),
    Column(name="seen", kind="datetime", bounds=("2020-01-01", "2020-12-31")),
    Column(name="begin", kind="integer", bounds=(0, 50)),
    Column(name="end", kind="integer", bounds=(0, 50), missing=True),
)
SCHEMA = Schema(columns=COLUMNS, target="ill", rows=4_000, rules=("begin <= end",))


def frame(n_rows: int = 4_000) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = np.clip(rng.normal(50, 18, n_rows), 0, 100).round()
    begin = rng.integers(0, 40, n_rows)
    return pd.DataFrame(
        {
            "ill": rng.random(n_rows) < age / 120,
            "age": age,
            "weight": rng.normal(50 + age / 3, 10, n_rows),
            "ward": np.where(rng.random(n_rows) < 0.01 + age / 400, "icu", rng.choice(["main", "day"], n_rows)),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 365, n_rows), unit="D"),
            "begin": begin,
            "end": begin + rng.integers(0, 10, n_rows),
        }
    )


@pytest.fixture(scope="module")
def fitted() -> sf.Fitted:
    return sf.fit("independent-histograms", frame(), 3.0, schema=SCHEMA, seed=1)


@pytest.fixture(scope="module", params=["mst", "3a-table"])
def narrowing(request) -> sf.Fitted:
    """Models of columns that have to do with each other."""
    plain = Schema(columns=COLUMNS[:4], target="ill", rows=2_000)
    return sf.fit(request.param, frame(2_000), 3.0, schema=plain, seed=1)


def distance(one: pd.Series, two: pd.Series) -> float:
    counts = [values.value_counts(normalize=True, dropna=False) for values in (one, two)]
    return float(counts[0].sub(counts[1], fill_value=0).abs().sum() / 2)


def test_rows_are_those_of_the_model_given_the_condition(narrowing: sf.Fitted) -> None:
    text = "ward = 'icu' and age >= 60 and ill"
    part = narrowing.under(text)
    rows = part.sample(4_000, seed=2).table
    assert ((rows["ward"] == "icu") & (rows["age"] >= 60) & rows["ill"]).all()
    assert part.drawn < 20_000  # narrowed, and not only looked through
    every = narrowing.sample(150_000, seed=7).table
    same = every[(every["ward"] == "icu") & (every["age"] >= 60) & every["ill"]]
    assert abs(part.share - len(same) / len(every)) < 0.2 * part.share
    assert distance(rows["age"] // 10, same["age"] // 10) < 0.04
    assert distance((rows["weight"] // 20), (same["weight"] // 20)) < 0.04
    assert "real ones by noisy counts" in part.told


def test_a_part_of_the_rows_is_drawn_without_what_makes_all_of_them_even(narrowing: sf.Fitted) -> None:
    """Rows that are looked through are many, and no reason to draw each several times."""
    part, _ = narrowing.under("age < 20 or age > 80")._part
    if hasattr(part, "settings"):  # 3a-table, which balances and copies
        whole, _ = narrowing.under("ward = 'icu'")._part
        assert whole.settings.balances_rows
        assert not part.settings.balances_rows
        rates = np.array([0.9, 0.1])
        assert {copies_for(rates, 1_000_000, model.settings) for model in (part, whole)} == {1}
        assert copies_for(rates, 1_000_000, narrowing.sampled.settings) > 1


def test_given_texts_may_hold_any_marks() -> None:
    words = ("O'Hare", 'b "c" \'d', "plain")
    schema = Schema(
        columns=(Column(name="a`b", kind="categorical", categories=words), Column(name="plain", kind="boolean"))
    )
    rows = pd.DataFrame({"a`b": pd.Categorical(words, categories=words), "plain": [True, False, True]})
    for word in words:
        held = conditions.conditioned(FixedModel(Synthetic(table=rows)), schema, given={"a`b": word})
        assert held.sample(1, seed=0).table["a`b"].tolist() == [word]


def test_rules_hold_under_a_condition(fitted: sf.Fitted) -> None:
    rows = fitted.sample(500, where="ward = 'icu' and begin > 20").table
    assert (rows["begin"] <= rows["end"]).fillna(True).all()
    assert (rows["begin"] > 20).all()


def test_the_same_seed_gives_the_same_rows(fitted: sf.Fitted) -> None:
    one, two, three = (fitted.sample(50, where="age > 70", seed=seed).table for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(three)


def test_given_values_balanced_classes_and_rows_to_fill(fitted: sf.Fitted) -> None:
    rows = fitted.sample(30, given={"ward": "main", "weight": 81.5, "age": 40}).table
    assert (rows["ward"] == "main").all()
    assert (rows["weight"] == 81.5).all()
    assert (rows["age"] == 40).all()
    assert (fitted.sample(5, given={"weight": 79.9}, where="weight <= 80").table["weight"] == 79.9).all()
    even = fitted.sample(300, balance="ward", where="age > 30").table
    assert set(even["ward"].value_counts()) == {100}
    asked = pd.DataFrame({"ward": ["icu", None, "day"], "age": [50, 60, np.nan], "seen": [None, "2020-05-05", None]})
    filled = fitted.sample(given=asked).table
    assert filled["ward"].tolist()[::2] == ["icu", "day"]
    assert filled["age"].tolist()[:2] == [50, 60]
    assert filled["seen"][1] == pd.Timestamp("2020-05-05")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("agee > 3", "Did you mean 'age'"),
        ("age > 100", "no row can be so"),
        ("begin > 40 and end < 10", "the rules of the schema leave no row"),
        ("ward = 'icu' andd age > 3", "does not belong here"),
    ],
)
def test_what_cannot_be_is_refused(fitted: sf.Fitted, text: str, sentence: str) -> None:
    with pytest.raises(SchemaError, match=sentence):
        fitted.sample(10, where=text)


def test_keys_are_made_for_the_rows_that_are_kept_alone() -> None:
    """Thousands of rows are looked through, for which the pattern has too few keys; and parts that are put together share none."""
    schema = Schema(
        columns=(Column(name="age", kind="integer", bounds=(0, 999)), Column(name="ill", kind="boolean")),
        rules=(Rule(key="id", pattern="[0-9]{3}"),),
    )

    class Ages:
        default_rows = 100

        def sample(self, n_rows: int, *, seed: int) -> Synthetic:
            rng = np.random.default_rng(seed)
            return Synthetic(
                table=pd.DataFrame({"age": rng.integers(0, 1_000, n_rows), "ill": rng.random(n_rows) < 0.5})
            )

    rows = conditions.conditioned(Ages(), schema, where="age < 20").sample(100, seed=1).table
    even = conditions.sample_balanced(Ages(), schema, "ill", 900, seed=1).table
    begun = conditions.sample_filled(Ages(), schema, pd.DataFrame({"ill": [True, False] * 300}), seed=1).table
    for table in (rows, even, begun):
        assert list(table) == ["id", "age", "ill"]
        assert table["id"].is_unique


def test_what_is_given_must_fulfil_the_condition_itself(fitted: sf.Fitted, monkeypatch) -> None:
    monkeypatch.setattr(conditions, "MOST_IN_VAIN", 20_000)
    with pytest.raises(ModelError, match="0 rows that fulfil the condition"):
        fitted.sample(5, given={"weight": 79.9}, where="weight > 80")


def test_given_values_are_checked(fitted: sf.Fitted) -> None:
    for given, sentence in (
        ({"ward": "attic"}, "cannot be 'attic'"),
        ({"weight": 1_000}, "outside the bounds"),
        ({"weight": "heavy"}, "is no value of"),
    ):
        with pytest.raises(SchemaError, match=sentence):
            fitted.sample(10, given=given)
    with pytest.raises(SchemaError, match="no measured column"):
        fitted.sample(given=pd.DataFrame({"nothing": [1]}))
    with pytest.raises(SchemaError, match="only classes can be balanced"):
        fitted.sample(10, balance="age")


def test_a_model_that_gives_no_such_rows_is_given_up_on(monkeypatch) -> None:
    table = pd.DataFrame({"age": [1, 2, 3]})
    schema = Schema(columns=(Column(name="age", kind="integer", bounds=(0, 9)),))
    held = conditions.conditioned(FixedModel(Synthetic(table=table)), schema, where="age >= 2")
    assert held.sample(2, seed=0).table["age"].tolist() == [2, 3]
    with pytest.raises(ModelError, match="2 rows that fulfil the condition were found among 3"):
        conditions.conditioned(FixedModel(Synthetic(table=table)), schema, where="age >= 2").sample(3, seed=0)

    class Young:
        default_rows = 10

        def sample(self, n_rows: int, *, seed: int) -> Synthetic:
            return Synthetic(table=pd.DataFrame({"age": np.zeros(n_rows, dtype=np.int64)}))

    monkeypatch.setattr(conditions, "MOST_IN_VAIN", 10_000)
    with pytest.raises(ModelError, match="0 rows that fulfil the condition"):
        conditions.conditioned(Young(), schema, where="age > 5").sample(5, seed=0)
