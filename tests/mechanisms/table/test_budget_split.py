"""What each stage gets follows the evidence without a cliff."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from small_tables import BUDGETS, NORMS

import schemas
from sfumato import Budget, PrivacyUnit, Schema
from sfumato.mechanisms.table.budget_split import Evidence, evidence_of
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.joint import JointSettings

BUDGET = Budget(epsilon=1.0, delta=1e-6)


def at(rho: float) -> Evidence:
    return Evidence(rows=rho, mu=np.sqrt(5.0), n_columns=4)


@pytest.mark.parametrize("rho", np.geomspace(1, 1e6, 40))
def test_shares_add_up_to_one_at_most_and_do_not_jump(rho: float) -> None:
    assert at(rho).rho == pytest.approx(rho)
    here, there = at(rho).shares(has_target=True), at(1.02 * rho).shares(has_target=True)
    assert 0.9 < sum(here.values()) <= 1 + 1e-9
    assert all(share > 0 for share in here.values())
    for stage in here.keys() | there.keys():
        assert abs(here.get(stage, 0.0) - there.get(stage, 0.0)) <= 0.02
    assert abs(at(rho).least - at(1.02 * rho).least) <= 0.2


def test_more_evidence_plans_no_fewer_stages() -> None:
    stages = [set(at(rho).shares(has_target=True)) for rho in np.geomspace(10, 1e5, 60)]
    assert all(few <= more for few, more in pairwise(stages))
    assert stages[0] == {"coarse", "fine", "classes"}
    assert {"teacher", "cubes"} <= stages[-1]


@pytest.mark.parametrize(("n_columns", "rows"), [(2, 1_000), (4, 5_000), (6, 10_000), (20, 5_000)])
def test_without_a_target_correlations_are_as_sure_as_rows_make_them_and_no_surer(n_columns: int, rows: int) -> None:
    evidence = Evidence(rows=rows, mu=0.268, n_columns=n_columns)
    shares = evidence.shares(has_target=False)
    part = shares["moments"] / sum(shares.values())
    noise = JointSettings.score_clip * n_columns / np.sqrt(2 * part) / (rows * evidence.mu)
    assert noise >= BUDGETS.moments_enough / np.sqrt(rows) - 1e-12
    usual = BUDGETS.moments_alone * evidence._by_rho(evidence.rho, BUDGETS.sizes, BUDGETS.shares.moments)
    assert shares["moments"] <= usual
    assert n_columns < 20 or shares["moments"] == usual  # too many columns for anything to be spared


def test_evidence_counts_rows_budget_and_unit() -> None:
    one = evidence_of(schemas.TABLE, BUDGET, BUDGETS, NORMS, n_columns=5)
    assert one.rows == 300
    assert evidence_of(replace(schemas.TABLE, rows=None), BUDGET, BUDGETS, NORMS, n_columns=5).rows == 20_000
    assert evidence_of(schemas.TABLE, Budget(epsilon=2.0, delta=1e-6), BUDGETS, NORMS, n_columns=5).rho > 1.5 * one.rho
    persons = {m: replace(schemas.TABLE, unit=PrivacyUnit(person="patient", max_rows=m)) for m in (1, 3, 12)}
    rho = {m: evidence_of(schema, BUDGET, BUDGETS, NORMS, n_columns=5).rho for m, schema in persons.items()}
    assert rho[1] == one.rho
    assert rho[3] == pytest.approx(one.rho / 1.72, rel=0.04)  # not 3
    assert rho[12] == pytest.approx(one.rho / 4.41, rel=0.04)  # not 12
    assert evidence_of(schemas.REPLACE, BUDGET, BUDGETS, NORMS, n_columns=5).rho == pytest.approx(one.rho / 2)
    assert (one.n_codes, evidence_of(persons[3], BUDGET, BUDGETS, NORMS, n_columns=5).n_codes) == (
        _most_categories(schemas.TABLE),
        1,
    )


def _most_categories(schema: Schema) -> int:
    return max(column.size for column in schema.features if column.is_coded)


@pytest.mark.parametrize("rows", [300, 2_000, 20_000])
def test_steps_are_those_that_have_a_share(rows: int) -> None:
    plan = TablePlan(replace(schemas.TABLE, rows=rows), BUDGET)
    steps = {step.name: step.share for step in plan.steps()}
    assert steps == {name: share for name, share in plan.evidence.shares(has_target=True).items() if name in steps}
    assert all(plan.has(name) for name in steps)
    assert not plan.has("nothing")


def test_many_classes_share_the_rows_and_get_more_of_the_budget_for_their_tables() -> None:
    few, many = (Evidence(20_000.0, 0.27, 10, n_classes=n).shares(has_target=True) for n in (2, 100))
    assert many["classes"] / sum(many.values()) > 2 * few["classes"] / sum(few.values())
    assert "teacher" not in many
    # What asks of all rows alike says as much with less, and is never left out.
    assert all(0 < many[stage] < few[stage] / 2 for stage in ("coarse", "fine"))


def test_a_column_of_very_many_categories_has_more_for_its_tables_by_class() -> None:
    def shares(n_codes: int, *, has_target: bool = True, number_target: bool = False) -> dict[str, float]:
        evidence = Evidence(50_000.0, 0.27, 4, number_target=number_target, n_codes=n_codes)
        return evidence.shares(has_target=has_target)

    few, many = shares(100), shares(10_000)
    assert few == shares(1)
    assert sum(many.values()) == pytest.approx(sum(few.values()))
    assert many["classes"] > 3 * few["classes"]
    assert 0 < many["teacher"] < few["teacher"] / 2
    assert many.keys() == few.keys()
    for here, there in pairwise(np.geomspace(500, 20_000, 60)):  # without a cliff
        assert abs(shares(int(here))["classes"] - shares(int(there))["classes"]) < 0.04
    # A number as target is taught by sums over its categories; without a target there are no tables by class.
    assert shares(10_000, number_target=True) == shares(1, number_target=True)
    assert shares(10_000, has_target=False) == shares(1, has_target=False)


def test_where_categories_are_pooled_each_is_counted_by_class_instead() -> None:
    def shares(pooled: float, *, rows: float = 40_000.0) -> dict[str, float]:
        return Evidence(rows, 0.27, 5, n_codes=2_000).shares(has_target=True, pooled=pooled)

    none, half, most = shares(0.0), shares(0.5), shares(1.0)
    assert "codes" not in none
    assert most["codes"] > 0.35
    assert half["codes"] == pytest.approx(most["codes"] / 2)
    assert most["classes"] < half["classes"] < none["classes"]  # which have what is given up, where nothing is pooled
    assert sum(most.values()) == pytest.approx(sum(none.values()))
    assert shares(1.0, rows=4_000_000.0)["codes"] == most["codes"]  # bins pool them, however many rows there are
    assert "codes" not in shares(1.0, rows=500.0)  # nothing could be seen of so few
