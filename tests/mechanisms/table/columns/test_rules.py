"""Columns that are a function of others keep their shares, and released rows obey: measured, or by the schema."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_tables import COLUMNS, SMALL_TABLE

import sfumato as sf
from sfumato.extending import NoiseSource
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.adaptive_grid import Counted
from sfumato.mechanisms.table.columns.reasons import reason_rows
from sfumato.mechanisms.table.columns.rules import CountedRule, rule_blocks, rule_share
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.budget import BudgetSettings
from sfumato.public.expressions.domains import Some
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.following import Following

N_ROWS, BUDGET = 12_000, sf.Budget(epsilon=1.0, delta=1e-5)
REGION_OF = np.array([0, 0, 1, 2, 2, 1, 0, 3, 3, 0, 1, 2])
COLUMNS_OF = (
    sf.Column(name="city", kind="categorical", categories=tuple(f"c{i}" for i in range(12))),
    sf.Column(name="region", kind="categorical", categories=tuple("nesw"), depends_on=("city",)),
    sf.Column(name="age", kind="integer", bounds=(0, 99), missing=True),
    sf.Column(name="decade", kind="integer", bounds=(0, 9), missing=True, depends_on=("age",)),
    sf.Column(name="ill", kind="boolean"),
)
SCHEMA = sf.Schema(columns=COLUMNS_OF, target="ill", rows=N_ROWS)


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    city = np.minimum(rng.geometric(0.15, N_ROWS) - 1, 11)
    age = pd.array(np.clip(rng.normal(45, 18, N_ROWS).round(), 0, 99), dtype="Int64")
    age[rng.random(N_ROWS) < 0.1] = pd.NA
    regions = np.array(list("nesw"))[REGION_OF[city]]
    ill = rng.random(N_ROWS) < 0.3
    names = [f"c{i}" for i in city]
    return pd.DataFrame({"city": names, "region": regions, "age": age, "decade": age // 10, "ill": ill})


def far(one: pd.Series, other: pd.Series) -> float:
    shares = [values.astype(str).value_counts(normalize=True) for values in (one, other)]
    return 0.5 * float(shares[0].sub(shares[1], fill_value=0.0).abs().sum())


def released(schema: sf.Schema) -> pd.DataFrame:
    data = sf.Sensitive.read(frame(), schema)
    fitted = sf.fit(SMALL_TABLE, data, BUDGET, seed=0, source=NoiseSource(research_seed=0))
    return fitted.model.sample(N_ROWS, seed=0).table


def test_measured_rules_hold_and_both_columns_keep_their_shares() -> None:
    real, rows = frame(), released(SCHEMA)
    region_of = dict(zip(real["city"], real["region"], strict=True))
    assert (rows["city"].map(region_of).astype(str) == rows["region"].astype(str)).mean() > 0.98
    decade = rows["age"] // 10
    assert (decade.astype("Float64").fillna(-1) == rows["decade"].astype("Float64").fillna(-1)).mean() > 0.98
    for name in ("city", "region", "decade"):
        assert far(real[name], rows[name]) < 0.02, name


def given(column: str, entries: tuple[tuple[str, ...], ...]) -> sf.Schema:
    return SCHEMA.with_columns({column: replace(SCHEMA[column], depends_on_map=entries)})


def test_given_rules_are_obeyed_by_every_row() -> None:
    entries = tuple((f"c{i}", "nesw"[region]) for i, region in enumerate(REGION_OF))
    schema = given("region", entries)
    rows = released(schema)
    assert (rows["city"].map(dict(entries)).astype(str) == rows["region"].astype(str)).all()
    (rules,) = [step for step in TablePlan(schema, BUDGET).steps() if step.name == "rules"]
    assert [block.name for block in rules.blocks] == ["decade"], "twelve cities are well known without a count"


def test_of_a_given_rule_the_reasons_are_counted_where_they_are_many() -> None:
    """A map that is public says nothing of how many rows each age has: that is counted, and what follows is not."""
    entries = (*((str(age), str(age // 10)) for age in range(100)), ("", ""))
    schema = given("decade", entries)
    (rules,) = [step for step in TablePlan(schema, BUDGET).steps() if step.name == "rules"]
    assert [(block.name, block.width) for block in rules.blocks] == [("region", 48), ("decade", 101)]
    real, rows = frame(), released(schema)
    assert ((rows["age"] // 10).astype("Float64").fillna(-1) == rows["decade"].astype("Float64").fillna(-1)).all()
    assert far(real["age"], rows["age"]) < 0.03


def test_every_rule_is_a_block_and_a_column_of_its_own() -> None:
    plan = TablePlan(SCHEMA, BUDGET)
    assert [feature.cells.column.name for feature in plan.plain] == ["city", "region", "age", "decade"]
    assert [block.width for step in plan.steps() if step.name == "rules" for block in step.blocks] == [48, 101 * 11]


def test_a_table_too_large_to_count_is_left_to_the_majority() -> None:
    wide = SCHEMA.with_columns({"age": replace(SCHEMA["age"], bounds=(0, 1_000_000))})
    plan = TablePlan(wide, BUDGET)
    assert [one.column.name for one in plan.rules] == ["region"]


def read(counts: np.ndarray, stddev: float) -> CountedRule:
    """As a rule of a whole number and a category."""
    names = tuple(str(i) for i in range(counts.shape[1]))
    group = sf.Column(name="group", kind="categorical", categories=names, depends_on=("number",))
    number = sf.Column(name="number", kind="integer", bounds=(0, len(counts) - 1))
    return CountedRule.read(Following(group, (number,)), Measured(counts, stddev), COLUMNS)


def test_neighbours_help_where_counts_drown() -> None:
    """Ages in tens: single ages have two and a half times the noise in rows, but ten neighbours tell."""
    rng = np.random.default_rng(0)
    truth = np.arange(100) // 10
    counts = 25.0 * (truth[:, None] == np.arange(10)) + 10.0 * rng.standard_normal((100, 10))
    assert (read(counts, 10.0).follows == truth).mean() > 0.95
    assert (counts.argmax(axis=1) == truth).mean() < 0.9


@pytest.mark.parametrize("seed", range(4))
def test_a_rule_without_neighbours_is_read_as_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(6, size=40)
    counts = 80.0 * (truth[:, None] == np.arange(6)) + 10.0 * rng.standard_normal((40, 6))
    rule = read(counts, 10.0)
    assert (rule.follows == truth).all()
    assert rule.sure.min() > 0.95


def test_who_knows_the_rows_of_a_reason_reads_more_from_its_counts() -> None:
    """Over sixty tables of bands in which single counts say little."""
    rng, truth = np.random.default_rng(0), np.searchsorted([20, 45, 70], np.arange(100), side="right")
    rows, right, chance = np.full(100, 12.0), [], []
    for _ in range(60):
        first = read(rows[:, None] * (truth[:, None] == np.arange(4)) + 10.0 * rng.standard_normal((100, 4)), 10.0)
        again = first.with_rows(rows, COLUMNS)
        right.append([(rule.follows == truth).mean() for rule in (first, again)])
        chance.append(again.sure.mean())
    before, after = np.mean(right, axis=0)
    assert after > before + 0.01
    assert np.mean(chance) == pytest.approx(after, abs=0.03), "how sure a rule is should be how often it is right"


def test_what_stands_alone_is_not_smoothed() -> None:
    rng = np.random.default_rng(0)
    rows = 300 * np.exp(-0.5 * ((np.arange(100) - 45) / 16) ** 2)
    rows[18] = 900
    counts = np.zeros((100, 2))
    counts[np.arange(100), (np.arange(100) > 50).astype(int)] = rows
    counts += 20.0 * rng.standard_normal(counts.shape)
    rule = read(counts, 20.0)
    cells = Cells(rule.of.reasons[0])
    column = Counted(cells, np.arange(100) // 2, np.zeros(50), 1e6, np.arange(100), np.zeros(100), 1e6)
    found = reason_rows(rule, {"number": column}, COLUMNS, total=float(rows.sum()))
    assert found[18] == pytest.approx(900, abs=50)
    assert np.abs(found - rows).mean() < 0.6 * np.abs(rule.rows - rows).mean()


def test_counts_of_a_column_and_of_what_follows_make_its_reasons_surer() -> None:
    city = Following(COLUMNS_OF[1], (COLUMNS_OF[0],))
    rng, rows, errors = np.random.default_rng(0), np.linspace(50, 600, 12), []
    regions = np.bincount(REGION_OF, weights=rows)
    for _ in range(40):
        counts = rows[:, None] * (REGION_OF[:, None] == np.arange(4)) + 20.0 * rng.standard_normal((12, 4))
        rule = CountedRule.read(city, Measured(counts, 20.0), COLUMNS)
        own = Counted(
            Cells(COLUMNS_OF[0]), np.arange(12), rows, 1e6, np.arange(12), rows + 20.0 * rng.standard_normal(12), 20.0
        )
        other = Counted(Cells(COLUMNS_OF[1]), np.arange(4), regions, 1e6, np.arange(4), regions, 1.0)
        found = [
            reason_rows(rule, some, COLUMNS, total=float(rows.sum())) for some in ({}, {"city": own, "region": other})
        ]
        errors.append([np.abs(one - rows).mean() for one in found])
    alone, together = np.mean(errors, axis=0)
    assert together < 0.8 * alone


def unsure(sure: list[float]) -> CountedRule:
    """A rule of which this is how sure it is."""
    rule = read(np.eye(len(sure)) * 100.0, 10.0)
    return replace(rule, sure=np.array(sure))


def test_reasons_that_are_unsure_leave_rows_to_others_until_enough_obey() -> None:
    rule, rows = unsure([1.0] * 8 + [0.5, 0.8]), np.array([120.0] * 8 + [24.0, 20.0])
    found = rule.surely(rows, COLUMNS)
    assert found.sum() == pytest.approx(rows.sum())
    assert found[8] < 0.3 * rows[8], "the least sure first"
    assert found[9] == pytest.approx(rows[9], rel=0.03)
    assert (found[:8] > rows[:8]).all()


@pytest.mark.parametrize("sure", [[1.0] * 10, [0.4] * 10], ids=["nothing to do", "too much to do"])
def test_reasons_keep_their_rows_where_moving_some_does_not_help(sure: list[float]) -> None:
    rows = np.full(10, 100.0)
    assert unsure(sure).surely(rows, COLUMNS).tolist() == rows.tolist()


def test_some_of_the_rows_keep_the_reasons_that_they_have() -> None:
    """Where a condition picks rows, shares of all rows say nothing of theirs."""
    data = sf.Sensitive.read(frame(), SCHEMA)
    fitted = sf.fit(SMALL_TABLE, data, BUDGET, seed=0, source=NoiseSource(research_seed=0))
    rows = fitted.sample(500, where="city = c7", seed=1).table
    assert (rows["city"].astype(str) == "c7").all()
    assert (rows["region"].astype(str) == "w").mean() > 0.98
    where = {"city": Some(frozenset({7, 8}), missing=False)}
    narrowed, _ = fitted.model.narrowed(where, is_exact=True)
    assert all(known.rows is not None for known in fitted.model.fitted.binned.rules.values())
    assert all(known.rows is None for known in narrowed.fitted.binned.rules.values())


def test_no_rule_has_more_for_the_others_needs() -> None:
    """One that needs all it may have left two others next to nothing; several together have more than one."""
    budget = BudgetSettings()
    city, age = (Following(COLUMNS_OF[j], (COLUMNS_OF[j - 1],)) for j in (1, 3))
    fewest, most = budget.rule
    assert rule_share([city], budget, rows=1e9) == fewest
    assert rule_share([city, age], budget, rows=1e9) == 2 * fewest
    assert rule_share([age], budget, rows=1.0) == most
    assert sum(block.share for block in rule_blocks([city, age], budget, rows=1e4)) == pytest.approx(1)
    assert rule_share([city, age], budget, rows=1.0) == pytest.approx(most * 2**0.5)


def test_what_a_rule_counts_is_one_more_count_of_its_columns() -> None:
    """Of every reason as it stands out; all that may follow is added up where nothing does."""
    city = Following(COLUMNS_OF[1], (COLUMNS_OF[0],))
    counts = np.zeros((12, 4))
    counts[np.arange(12), REGION_OF] = 100.0
    counts[3] = [1.0, 2.0, 5.0, 0.0]
    rule = CountedRule.read(city, Measured(counts, 10.0), COLUMNS)
    reasons, regions = rule.reason_rows(0), rule.consequence_rows()
    assert reasons.column.name == "city"
    assert reasons.rows.tolist() == [100.0] * 3 + [8.0] + [100.0] * 8
    assert reasons.variances.tolist() == [100.0] * 3 + [400.0] + [100.0] * 8
    assert regions.rows.sum() == pytest.approx(reasons.rows.sum())
    assert regions.variances.sum() == pytest.approx(reasons.variances.sum())


def test_one_more_count_leaves_less_noise_in_a_column() -> None:
    rng, rows = np.random.default_rng(0), np.full(12, 100.0)
    cells = Cells(COLUMNS_OF[0])
    noisy = [rows + 30.0 * rng.standard_normal(12) for _ in range(2)]
    counted = Counted(cells, np.arange(12), noisy[0], 60.0, np.arange(12), noisy[1], 30.0)
    again = counted.with_values(np.arange(12), rows + 15.0 * rng.standard_normal(12), np.full(12, 225.0))
    assert again.leaf_stddev == pytest.approx((1 / 900 + 1 / 225) ** -0.5)
    assert np.abs(again.leaf_counts - rows).mean() < 0.6 * np.abs(counted.leaf_counts - rows).mean()
