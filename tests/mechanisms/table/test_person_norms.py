"""Persons with several rows: bounds, what is brought back, and rates of classes that persons with many rows decide."""

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest
from small_tables import NORMS, SMALL_TABLE

import sfumato as sf
from schemas import PERSONS, TABLE
from sfumato.mechanisms.table.columns.shortened_persons import Number, classes_regained, regained, rows_of
from sfumato.mechanisms.table.measure_columns import ColumnStage
from sfumato.mechanisms.table.person_norms import mean_norm, norm_of
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.public.plan.doors import Measured

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
MUCH = sf.Budget(epsilon=50.0, delta=1e-6)


def unit(max_rows: int) -> sf.PrivacyUnit:
    return sf.PrivacyUnit(person="patient", max_rows=max_rows)


@pytest.mark.parametrize("max_rows", [1, 2, 3, 12])
def test_every_step_of_persons_has_its_bound_and_its_share(max_rows: int) -> None:
    schema = replace(TABLE, rows=20_000)
    rows = {step.name: step for step in TablePlan(schema, MUCH).steps()}
    for step in TablePlan(replace(schema, unit=unit(max_rows)), MUCH).steps():
        norm = step.norm_of(unit(max_rows))
        assert 1 <= norm <= max_rows
        assert norm == norm_of(step.name, unit(max_rows), NORMS)
        assert (step.person_bound is None) == (norm == max_rows)
        assert step.name == "sizes" or step.share * norm == pytest.approx(rows[step.name].share)


def test_nothing_changes_where_the_unit_is_a_row() -> None:
    assert all(step.person_bound is None for step in TablePlan(TABLE, BUDGET).steps())
    assert "sizes" not in {step.name for step in TablePlan(TABLE, BUDGET).steps()}
    assert "sizes" in {step.name for step in TablePlan(PERSONS, BUDGET).steps()}
    assert regained(sf.PrivacyUnit(), rows=Number(9e9, 1.0), counted=Number(1.0, 1.0)) == 1.0


def test_noise_grows_less_than_the_rows() -> None:
    root = {"triples": 0.5, "teacher": 0.5}
    assert mean_norm(root, unit(100), NORMS) == pytest.approx(2 * mean_norm(root, unit(25), NORMS))
    every = dict.fromkeys((entry.name for entry in fields(NORMS)), 1.0)
    assert mean_norm(every, unit(1), NORMS) == 1
    assert all(np.sqrt(m) < 1.1 * mean_norm(every, unit(m), NORMS) < 0.8 * m for m in (4, 30, 1_000))


def test_rows_are_told_by_every_table() -> None:
    found = rows_of([np.array([60.0, 40.0]), np.array([20.0, 30.0, 25.0, 27.0])], stddev=3.0)
    assert found.value == pytest.approx((2 * 100 + 102) / 3)
    assert found.stddev == pytest.approx(3 / np.sqrt(0.75))


def test_classes_are_brought_to_what_was_counted_in_full_as_far_as_noise_supports_it() -> None:
    per_class = np.array([900.0, 100.0])
    sure = classes_regained(unit(9), per_class, stddev=1.0, in_full=Measured(np.array([1600.0, 400.0]), 1.0))
    assert sure * per_class == pytest.approx([800, 200], rel=0.01)
    drowned = classes_regained(unit(9), per_class, stddev=1.0, in_full=Measured(np.array([1600.0, 400.0]), 300.0))
    assert drowned.tolist() == [1.0, 1.0]


def frequent_patients(seed: int = 0) -> tuple[pd.DataFrame, sf.Schema]:
    """Half of the rows are those of a few patients with 12 rows, all alike, who are ill five times as often."""
    rng = np.random.default_rng(seed)
    n_rows = np.where(rng.random(11_000) < 1 / 12, 12, 1)
    who = np.repeat(np.arange(len(n_rows)), n_rows)
    age, town = rng.integers(20, 90, len(n_rows)), rng.integers(0, 6, len(n_rows))
    ill = rng.random(len(n_rows)) < np.where(n_rows == 12, 0.5, 0.1)
    values = {"age": age[who], "town": [f"t{t}" for t in town[who]], "ill": ill[who], "patient": who}
    columns = (
        sf.Column(name="age", kind="integer", bounds=(0, 120)),
        sf.Column(name="town", kind="categorical", categories=tuple(f"t{i}" for i in range(6))),
        sf.Column(name="ill", kind="boolean"),
    )
    return pd.DataFrame(values), sf.Schema(columns=columns, target="ill", rows=20_000, unit=unit(12))


@pytest.mark.slow
def test_rates_and_rows_are_those_of_rows_though_persons_are_shortened(monkeypatch) -> None:
    frame, schema = frequent_patients()

    def released() -> tuple[float, float]:
        fitted = sf.fit(SMALL_TABLE, sf.Sensitive.read(frame, schema), sf.Budget(epsilon=5.0, delta=1e-6), seed=1)
        table = fitted.model.sample(20_000, seed=1).table
        return float((table["ill"].astype(str).str.lower() == "true").mean()), fitted.model.noisy_rows

    rate, rows = released()
    assert rate == pytest.approx(frame["ill"].mean(), abs=0.02)
    assert rows == pytest.approx(len(frame), rel=0.05)
    # The twin: no count in which each row is whole.
    monkeypatch.setattr(ColumnStage, "_sizes", lambda self, n_classes: None)
    assert released()[0] < frame["ill"].mean() - 0.03
