"""Rules hold in every row that leaves, columns keep their values, and a file in which they do not hold is refused."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato import obeying
from sfumato.errors import PlanError
from sfumato.lab.dry_run.reading import dry_run
from sfumato.model import Synthetic
from sfumato.obeying import with_rules
from sfumato.public.schema.rules import Rule
from sfumato.public.schema.schema import Column, Schema
from sfumato.verification.rule_checks import RuleCheck

COLUMNS = (
    Column(name="ill", kind="boolean"),
    Column(name="begin", kind="integer", bounds=(0, 100)),
    Column(name="end", kind="integer", bounds=(0, 100), missing=True),
    Column(name="admitted", kind="datetime", bounds=("2020-01-01", "2020-12-31")),
    Column(name="discharged", kind="datetime", bounds=("2020-01-01", "2020-12-31")),
    Column(name="height", kind="numeric", bounds=(50, 220), decimals=1),
    Column(name="weight", kind="numeric", bounds=(20, 300)),
    Column(name="systolic", kind="numeric", bounds=(60, 250), missing=True),
    Column(name="diastolic", kind="numeric", bounds=(30, 150), missing=True),
    Column(name="sex", kind="categorical", categories=("f", "m")),
    Column(name="pregnant", kind="boolean", missing=True),
    Column(name="region", kind="categorical", categories=("north", "south")),
    Column(name="city", kind="categorical", categories=("oslo", "rome", "bari"), missing=True),
    Column(name="group", kind="ordinal", categories=("minor", "adult", "old")),
    Column(name="bmi", kind="numeric", bounds=(5, 80), decimals=2),
    Column(name="stay", kind="integer", bounds=(0, 400)),
    Column(name="young", kind="boolean"),
)
RULES = (
    "begin <= end",
    "admitted <= discharged",
    "bmi = weight / (height / 100) ** 2",
    "stay = discharged - admitted",
    "young = (begin < 30)",
    "if pregnant = yes then sex = f",
    "if begin < 18 then group = minor else group != minor",
    "diastolic < systolic",
    Rule(missing_together=("systolic", "diastolic")),
    Rule(columns=("region", "city"), permitted=(("north", "oslo"), ("south", "rome"), ("south", "bari"))),
    Rule(columns=("sex", "group"), forbidden=(("m", "old"),)),
    Rule(key="id", pattern="P-[0-9]{6}"),
)
SCHEMA = Schema(columns=COLUMNS, target="ill", rows=2_000, rules=RULES)


def drawn(n_rows: int = 3_000, seed: int = 0) -> pd.DataFrame:
    """Rows of columns that know nothing of each other."""
    rng, batch = np.random.default_rng(seed), {}
    for column in SCHEMA.columns:
        if column.is_coded:
            batch[column.name] = rng.integers(0, column.size, n_rows)
        else:
            values = rng.uniform(column.low, column.high, n_rows)
            values = {"begin": 0.6 * values, "end": 40 + 0.6 * values}.get(column.name, values)
            batch[column.name] = np.where(column.missing & (rng.random(n_rows) < 0.2), np.nan, values)
    return SCHEMA.decode(batch)


def problems(table: pd.DataFrame, schema: Schema = SCHEMA) -> list[str]:
    check = RuleCheck(schema)
    check.add(Synthetic(table=table))
    return check.problems


def test_rules_hold_and_columns_keep_their_values() -> None:
    before = drawn()
    after = with_rules(Synthetic(table=before), SCHEMA, seed=1, keys=1).table
    assert list(after.columns) == ["id", *(c.name for c in SCHEMA.columns), "bmi", "stay", "young"]
    assert problems(after) == []
    plain = after.dropna(subset=["end"])
    assert (plain["begin"] <= plain["end"]).all()
    assert (after["admitted"] <= after["discharged"]).all()
    assert np.array_equal(after["bmi"], np.round(after["weight"] / (after["height"] / 100) ** 2, 2))
    assert ((after["systolic"].isna()) == (after["diastolic"].isna())).all()
    assert not ((after["region"] == "north") & after["city"].isin(["rome", "bari"])).any()
    assert after["id"].is_unique
    for name in ("begin", "end", "sex", "region"):  # most of what is mended is exchanged
        one, two = (table[name].value_counts(normalize=True, dropna=False) for table in (before, after))
        assert one.sub(two, fill_value=0).abs().sum() / 2 < 0.05
    again = with_rules(Synthetic(table=before), SCHEMA, seed=1, keys=1).table
    assert after.equals(again)
    assert list(before.columns) == [c.name for c in SCHEMA.columns]  # nothing was changed in place


@pytest.mark.parametrize("n_rows", [0, 1, 2, 7])
def test_few_rows_obey_as_well(n_rows: int) -> None:
    after = with_rules(Synthetic(table=drawn(n_rows, seed=3)), SCHEMA, seed=1, keys=1).table
    assert len(after) == n_rows
    assert problems(after) == []


def test_without_exchanges_rules_hold_too(monkeypatch) -> None:
    monkeypatch.setattr(obeying, "_ROUNDS", 0)
    assert problems(with_rules(Synthetic(table=drawn()), SCHEMA, seed=1, keys=1).table) == []


def test_groups_and_dependences_stay_whole() -> None:
    columns = (
        *(Column(name=name, kind="boolean") for name in ("red", "green", "blue")),
        Column(name="level", kind="integer", bounds=(0, 3)),
        Column(name="years", kind="integer", bounds=(0, 12), depends_on=("level",)),
        Column(name="age", kind="integer", bounds=(0, 80)),
    )
    schema = Schema(columns=columns, one_of=("red", "green", "blue"), rules=("years <= age", "if red then age > 40"))
    rng = np.random.default_rng(0)
    batch = {
        c.name: rng.integers(int(c.low) if c.is_number else 0, int(c.high) + 1 if c.is_number else 2, 900)
        for c in columns
    }
    after = with_rules(Synthetic(table=schema.decode(batch)), schema, seed=0, keys=0).table
    assert problems(after, schema) == []
    assert (after[["red", "green", "blue"]].sum(axis=1) == 1).all()
    assert (after.groupby("level")["years"].nunique() <= 1).all()


BROKEN = {
    "begin <= end": lambda t: t.assign(begin=100, end=pd.array([0] * len(t), dtype="Int64")),
    "bmi = weight": lambda t: t.assign(bmi=t["bmi"].where(t.index > 0, t["bmi"] + 0.02)),
    "young = ": lambda t: t.assign(young=~t["young"]),
    "id like": lambda t: t.assign(id="P-00000x"),
    "each once": lambda t: t.assign(id="P-000000"),
    "permitted": lambda t: t.assign(region=t["region"].where(t["city"] != "oslo", "south")),
    "missing together": lambda t: t.assign(systolic=t["systolic"].where(t.index > 4, np.nan)),
}


@pytest.mark.parametrize("told", BROKEN)
def test_a_broken_rule_is_seen(told: str) -> None:
    good = with_rules(Synthetic(table=drawn()), SCHEMA, seed=1, keys=1).table
    assert any(told in sentence for sentence in problems(BROKEN[told](good)))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return with_rules(Synthetic(table=drawn(2_000, seed=5)), SCHEMA, seed=2, keys=2).table


def test_a_release_obeys_rebuilds_and_its_twin_is_refused(frame: pd.DataFrame, tmp_path, monkeypatch) -> None:
    fitted = sf.fit("independent-histograms", frame.drop(columns=["bmi", "id"]), 1.0, schema=SCHEMA, seed=3)
    assert "bmi" not in str(fitted.plan.steps)  # computed columns are not measured
    sf.release(fitted, to=tmp_path / "good")
    found = sf.verify(tmp_path / "good", rebuild=True)
    assert found.ok
    assert any("obey the 12 rules" in line for line in found.checked)
    assert any("to the last bit" in line for line in found.checked)
    more = fitted.sample(500, seed=9).table
    assert problems(more) == []

    def lazy(piece: Synthetic, schema: Schema, **options: int) -> Synthetic:
        return with_rules(piece, Schema(columns=COLUMNS, target="ill", rules=RULES[2:5] + RULES[-1:]), **options)

    monkeypatch.setattr("sfumato.pieces.with_rules", lazy)  # the twin computes, and enforces nothing
    sf.release(fitted, to=tmp_path / "twin")
    twin = sf.verify(tmp_path / "twin", rebuild=False)
    assert not twin.ok
    assert any("breaks the rule 'begin <= end'" in problem for problem in twin.problems)


def test_mixtures_have_no_rules() -> None:
    with pytest.raises(PlanError, match="mixtures of rows, in which no rules can hold"):
        sf.plan("dpmix", SCHEMA, 1.0)


def test_the_plan_says_which_rules_are_computed_made_up_or_enforced() -> None:
    (grid,) = [section.grid for section in sf.plan("auto", SCHEMA, 1.0).sections() if section.title == "Rules"]
    kept = dict(grid.rows)
    assert kept["young = (begin < 30)"] == "computed, not measured"
    assert kept["id like P-[0-9]{6}"] == "made up, never from the data"
    assert kept["begin <= end"] == "rows that break it exchange values"
    assert sf.plan("auto", SCHEMA, 1.0).to_json()["rules"][0] == "begin <= end"


def test_a_dry_run_counts_what_breaks_each_rule(frame: pd.DataFrame) -> None:
    assert not [finding for finding in dry_run(frame, SCHEMA).findings if "rule" in finding.what]
    spoilt = frame.assign(bmi=30.0)
    spoilt.loc[:4, "begin"], spoilt.loc[:4, "end"] = 40, 30
    spoilt.loc[:9, "pregnant"], spoilt.loc[:9, "sex"] = True, "m"
    broken = {finding.what: finding.rows for finding in dry_run(spoilt, SCHEMA).findings if "rule" in finding.what}
    assert broken["rows that break the rule 'begin <= end'"] == 5
    assert broken["rows that break the rule 'if pregnant = yes then sex = f'"] == 10
    assert broken["rows that break the rule 'bmi = weight / (height / 100) ** 2'"] > 1_000


def test_frames_keep_their_kind_with_keys_and_computed_columns(frame: pd.DataFrame) -> None:
    for given in (frame.drop(columns="id"), pa.table(frame.drop(columns=["bmi", "id"]))):
        drawn = sf.synthesize(given, SCHEMA, epsilon=1.0, method="independent-histograms", seed=2).sample(50)
        assert isinstance(drawn, type(given))
        table = drawn if isinstance(drawn, pd.DataFrame) else drawn.to_pandas()
        assert set(table.columns) == {"id", *(column.name for column in SCHEMA.released)}


def test_a_trained_model_has_no_rules_to_keep(frame: pd.DataFrame) -> None:
    model = sf.train("logistic", frame.drop(columns="id"), 1.0, schema=SCHEMA, seed=1)
    assert len(model.predict(frame.head(3))) == 3
