"""Columns that nearly equal another: found by public bounds, coarse counts and one noisy count, and released near to it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import sfumato as sf
from sfumato import Column
from sfumato.mechanisms.table.blueprint import Blueprint
from sfumato.mechanisms.table.cells import Cells
from sfumato.mechanisms.table.features import Feature
from sfumato.mechanisms.table.resolution import coarse_parts
from sfumato.mechanisms.table.twins import Twins, difference, near_in_most_rows, possible_twins, that_look_alike

BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)


def number(name: str, low: float, high: float, **more: bool) -> Column:
    return Column(name=name, kind="numeric", bounds=(low, high), **more)


def pairs_of(*columns: Column) -> list[tuple[str, str]]:
    return [(pair.column, pair.base) for pair in possible_twins(columns)]


def test_numbers_of_about_the_same_range_may_be_twins() -> None:
    day = Column(name="day", kind="datetime", bounds=(0, 1e8))
    few = Column(name="few", kind="integer", bounds=(0, 20))
    a, b, far, wide = number("a", 0, 100), number("b", -20, 150), number("far", 200, 300), number("wide", 0, 1e6)
    assert pairs_of(a, b, far, wide, day, few) == [("b", "a")]
    assert pairs_of(day, replace(day, name="due")) == [("due", "day")]


def test_what_may_be_missing_is_no_base() -> None:
    a, b = number("a", 0, 100, missing=True), number("b", 0, 100)
    assert pairs_of(a, b) == [("a", "b")]
    assert pairs_of(a, replace(b, missing=True)) == []


def test_columns_look_alike_where_their_quartiles_do() -> None:
    rng = np.random.default_rng(0)
    columns = [number(name, 0, 1_000) for name in "abc"]
    x = rng.normal(500, 100, 5_000)
    values = dict(zip("abc", (x, x + rng.normal(0, 5, 5_000), x + 200), strict=True))
    features = [Feature(Cells(column)) for column in columns]
    counts = {}
    for feature in features:
        part = coarse_parts(feature.cells, n_parts=32)
        counts[feature.cells.column.name] = (
            part,
            np.bincount(part[feature.code(values)], minlength=part.max() + 1) + 0.0,
        )
    found = that_look_alike(possible_twins(columns), features, counts)
    assert [(pair.column, pair.base) for pair in found] == [("b", "a")]
    assert found[0].near == pytest.approx(135 / 8, rel=0.3)  # an eighth of the distance between quartiles
    assert found[0].are_near(values).mean() > 0.95


def test_a_difference_is_no_base_of_another() -> None:
    pairs = [Twins("b", "a"), Twins("c", "b"), Twins("c", "a")]
    found = list(near_in_most_rows(pairs, np.array([90.0, 99.0, 95.0]), total=100.0))
    assert [(pair.column, pair.base) for pair in found] == [("c", "b")]
    assert list(near_in_most_rows(pairs, np.array([60.0, 60.0, 60.0]), total=100.0)) == []


def test_a_difference_has_the_cells_that_were_planned_for_it() -> None:
    a, b = (Column(name=name, kind="integer", bounds=(0, 600)) for name in "ab")
    schema = sf.Schema(columns=(a, b, Column(name="y", kind="boolean")), target="y", rows=20_000)
    plan = Blueprint(schema, BUDGET)
    apart = difference(b, a, bend=plan.evidence.bend)
    assert apart.cells.count > Cells(b).count
    fine = next(step for step in plan.steps() if step.name == "fine").blocks[0]
    assert fine.width >= Cells(a).count + apart.cells.count + 2
    assert apart.cells.column.name in {feature.cells.column.name for feature in plan.spiky}
    assert apart.code({"a": np.array([600.0, 0.0]), "b": np.array([0.0, 600.0])}).tolist() == [0, apart.cells.count - 1]


@pytest.mark.parametrize("kind", ["integer", "datetime"])
def test_what_lies_between_two_columns_survives(kind: str) -> None:
    rng = np.random.default_rng(1)
    n, day = 20_000, 86_400.0 if kind == "datetime" else 1.0
    planned = day * rng.integers(0, 700, n)
    late = day * rng.geometric(0.15, n)
    high = 1_000 * day
    columns = tuple(Column(name=name, kind=kind, bounds=(0, high)) for name in ("planned", "actual"))
    schema = sf.Schema(columns=(*columns, Column(name="angry", kind="boolean")), target="angry", rows=n)
    frame = pd.DataFrame({"planned": planned, "actual": planned + late, "angry": late > 6 * day})
    if kind == "datetime":
        frame = frame.assign(**{name: pd.to_datetime(frame[name], unit="s") for name in ("planned", "actual")})
    model = sf.fit("3a-table", sf.Sensitive.read(frame, schema), BUDGET, seed=0).model
    assert any("'actual' is near 'planned'" in note for note in model.notes)
    rows = model.sample(n, seed=0).table
    between = rows["actual"] - rows["planned"]
    if kind == "datetime":
        assert (rows["actual"].dt.normalize() == rows["actual"]).mean() > 0.9
        between = between.dt.total_seconds()
    between = between.to_numpy(dtype=float) / day
    assert between.mean() == pytest.approx(late.mean() / day, rel=0.15)
    assert np.mean((between > 6.5) == rows["angry"].to_numpy()) > 0.9


def test_columns_that_have_nothing_to_do_with_each_other_stay_as_they_are() -> None:
    rng = np.random.default_rng(2)
    columns = tuple(number(name, 0, 100) for name in "ab")
    schema = sf.Schema(columns=(*columns, Column(name="y", kind="boolean")), target="y", rows=20_000)
    a, b = rng.normal(50, 10, (2, 20_000))
    frame = pd.DataFrame({"a": a, "b": b, "y": a > 50})
    model = sf.fit("3a-table", sf.Sensitive.read(frame, schema), BUDGET, seed=0).model
    assert not any("near" in note for note in model.notes)
