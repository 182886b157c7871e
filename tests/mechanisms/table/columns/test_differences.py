"""Columns that are nearly equal are measured by their difference, and added up again in released rows."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_tables import COLUMNS, SIZES, TINY_TABLE

import sfumato as sf
from sfumato import Column
from sfumato.mechanisms import ThreeATable
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.differences import (
    ComparedPair,
    comparable,
    difference,
    nearly_equal,
    scale_codes,
    widest,
)
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.plan import TablePlan

SCALES = SIZES.difference_scales
BUDGET = sf.Budget(epsilon=4.0, delta=1e-6)


def number(name: str, low: float, high: float, **more) -> Feature:
    return Feature(Cells(Column(name=name, kind="numeric", bounds=(low, high), **more)))


def whole(name: str, low: float, high: float, **more) -> Feature:
    return Feature(Cells(Column(name=name, kind="integer", bounds=(low, high), **more)))


def test_numbers_are_comparable_where_their_bounds_are_of_one_kind() -> None:
    features = [
        number("a", 0, 100),
        number("b", 40, 120),
        number("far", 90, 500),
        whole("few", 0, 9),
        number("c", 0, 90),
    ]
    assert comparable(features, SIZES) == [(0, 1), (0, 4), (1, 4)]
    date = Feature(Cells(Column(name="d", kind="datetime", bounds=(0, 1e9))))
    assert comparable([date, number("x", 0, 1e9), date], SIZES) == [(0, 2)]
    follows = number("b", 0, 100, depends_on=("a",))
    assert comparable([features[0], follows], SIZES) == []


def test_a_difference_has_the_cells_that_were_planned_for_it() -> None:
    features = [whole("a", 0, 600), whole("b", 0, 900), whole("c", 0, 250)]
    pairs = comparable(features, SIZES)
    assert pairs == [(0, 1), (0, 2), (1, 2)]
    most = {feature.cells.column.name: feature.cells.count for feature in widest(features, pairs)}
    for i, j in pairs:
        made = difference(features[i], features[j], spread=3.0)
        assert made.cells.count <= most[made.cells.column.name]
    # 0 to 900 has a cell for each number and no spikes to look for; -600 to 900 has.
    schema = sf.Schema(columns=tuple(feature.cells.column for feature in features), rows=20_000)
    plan = TablePlan(schema, BUDGET)
    assert [feature.cells.column.name for feature in plan.spiky] == ["b", "c"]
    fine = next(step for step in plan.steps() if step.name == "fine").blocks[0]
    assert fine.width >= features[0].cells.count + sum(most.values())


@pytest.mark.parametrize("kind", ["numeric", "integer"])
def test_numbers_too_large_to_be_subtracted_are_not_compared(kind: str) -> None:
    large = 1.5e308 if kind == "numeric" else 2.0**53 - 1
    columns = tuple(Column(name=name, kind=kind, bounds=(-large, large)) for name in "ab")
    plan = TablePlan(sf.Schema(columns=columns, rows=20_000), BUDGET)
    assert plan.comparable == []
    assert not plan.has("differences")


def test_scales_count_halvings_and_leave_out_what_says_nothing() -> None:
    features = [number("a", 0, 100, missing=True), number("b", 0, 100, missing=True)]
    a = np.array([50.0, 50.0, 50.0, 50.0, 50.0, 0.0, 100.0, np.nan, 50.0, 0.0])
    b = np.array([90.0, 58.0, 55.0, 46.0, 50.0, 0.0, 100.0, 50.0, np.nan, 4.0])
    codes = scale_codes(features, [ComparedPair(0, 1, 16.0)], {"a": a, "b": b}, scales=SCALES)[:, 0]
    # 40 is more than all of 16; 8 is a half and less than all; 5 lies between a quarter and a half; 4 is a quarter.
    assert codes.tolist() == [0, 0, 1, 1, SCALES - 1, -1, -1, -1, -1, 1]


def counts_of(*pairs: dict[int, float]) -> np.ndarray:
    table = np.zeros((len(pairs), SCALES))
    for row, held in zip(table, pairs, strict=True):
        row[list(held)] = list(held.values())
    return table.ravel()


def test_the_closest_pair_decides_and_what_others_are_compared_with_stays() -> None:
    pairs = [ComparedPair(0, 1, 16.0), ComparedPair(1, 2, 16.0), ComparedPair(0, 2, 16.0)]
    counts = counts_of({4: 900.0, 0: 100.0}, {7: 950.0, 0: 50.0}, {5: 990.0})
    found = nearly_equal(pairs, counts, COLUMNS, scales=SCALES, stddev=1.0, rows=1_000.0)
    assert found == {2: (1, 16.0 / 2**7)}  # 1 is what 2 is compared with, so it is not itself a difference


@pytest.mark.parametrize(
    ("counts", "stddev", "rows"),
    [
        ({4: 700.0, 0: 300.0}, 1.0, 1_000.0),  # too few rows are close
        ({3: 1_000.0}, 1.0, 1_000.0),  # close, and not closer than bins can tell
        ({4: 900.0, 0: 100.0}, 60.0, 1_000.0),  # too much noise
        ({6: 1_000.0}, 1.0, 10_000.0),  # all others are at the same single value
    ],
)
def test_columns_that_are_not_surely_close_stay_as_they_are(counts, stddev: float, rows: float) -> None:
    assert (
        nearly_equal([ComparedPair(0, 1, 16.0)], counts_of(counts), COLUMNS, scales=SCALES, stddev=stddev, rows=rows)
        == {}
    )


@given(st.lists(st.tuples(st.floats(0, 100) | st.just(float("nan")), st.floats(-20, 80)), min_size=1, max_size=20))
def test_a_difference_and_its_reference_are_the_column(rows: list[tuple[float, float]]) -> None:
    reference, own = np.array(rows).T
    made = difference(number("a", 0, 100, missing=True), number("b", -20, 80))
    batch = {"a": reference, "b": own}
    back = made.numbers(batch) + np.where(np.isnan(reference), 50.0, reference)
    np.testing.assert_allclose(back, own, atol=1e-12)
    assert ((made.cells.column.low <= made.numbers(batch)) & (made.numbers(batch) <= made.cells.column.high)).all()


def flights(n_rows: int, *, late: float, seed: int = 0) -> sf.Sensitive:
    rng = np.random.default_rng(seed)
    planned = np.round(rng.uniform(0, 1_400, n_rows))
    actual = np.clip(planned + np.round(rng.gamma(2.0, late / 2, n_rows)), 0, 3_000)
    frame = pd.DataFrame({"planned": planned, "actual": actual, "wind": rng.random(n_rows) < 0.3})
    frame.loc[rng.random(n_rows) < 0.05, "planned"] = np.nan
    columns = (
        Column(name="planned", kind="integer", bounds=(0, 2_000), missing=True),
        Column(name="actual", kind="integer", bounds=(0, 3_000)),
        Column(name="wind", kind="boolean"),
    )
    return sf.Sensitive.read(frame, sf.Schema(columns=columns, rows=n_rows))


def test_released_columns_differ_as_much_as_real_ones() -> None:
    fitted = sf.fit(TINY_TABLE, flights(20_000, late=10), BUDGET, seed=0)
    (note,) = fitted.model.notes
    assert note.startswith("Nearly all rows have 'actual' close to 'planned', by a noisy count")
    rows = fitted.model.sample(5_000, seed=1).table
    late = (rows["actual"] - rows["planned"]).dropna().astype(float)
    assert 3 < late.median() < 14  # of real ones 8
    assert ((late >= 0) & (late < 60)).mean() > 0.9
    assert rows["planned"].isna().mean() == pytest.approx(0.05, abs=0.02)
    assert rows["actual"].between(0, 3_000).all()
    assert (rows["actual"] % 1 == 0).all()


def test_columns_that_differ_by_much_are_measured_as_they_are() -> None:
    fitted = sf.fit(TINY_TABLE, flights(20_000, late=500), BUDGET, seed=0)
    assert fitted.model.notes == ()
    assert all(feature.reference is None for feature in fitted.model.fitted.binned.features)


def test_few_rows_are_not_compared_and_the_plan_says_so() -> None:
    schema = flights(1_000, late=10).schema
    few, many = (
        sf.Schema(columns=schema.columns, rows=rows) for rows in (200, 20_000)
    )  # fmt: skip
    assert not TablePlan(few, sf.Budget(epsilon=1.0, delta=1e-6)).has("differences")
    assert TablePlan(many, sf.Budget(epsilon=1.0, delta=1e-6)).has("differences")
    left_out = [left.what for left in ThreeATable().outline(few, sf.Budget(epsilon=1.0, delta=1e-6)).left_out]
    assert "How far columns lie apart that are nearly equal" in left_out


def test_two_dates_keep_the_days_between_them() -> None:
    rng, n, day = np.random.default_rng(1), 20_000, 86_400.0
    ordered, days = day * rng.integers(0, 700, n), rng.geometric(0.15, n)
    columns = tuple(Column(name=name, kind="datetime", bounds=(0, 1_000 * day)) for name in ("ordered", "due"))
    schema = sf.Schema(columns=(*columns, Column(name="late", kind="boolean")), target="late", rows=n)
    frame = pd.DataFrame({"ordered": ordered, "due": ordered + day * days, "late": days > 6})
    frame = frame.assign(**{name: pd.to_datetime(frame[name], unit="s") for name in ("ordered", "due")})
    model = sf.fit(TINY_TABLE, sf.Sensitive.read(frame, schema), BUDGET, seed=0).model
    assert any("'due' close to 'ordered'" in note for note in model.notes)
    rows = model.sample(n, seed=0).table
    assert (rows["due"].dt.normalize() == rows["due"]).mean() > 0.9
    between = (rows["due"] - rows["ordered"]).dt.total_seconds().to_numpy(dtype=float) / day
    assert between.mean() == pytest.approx(days.mean(), rel=0.15)
