"""What each stage gets follows the evidence without a cliff."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import schemas
from sfumato import Budget, PrivacyUnit
from sfumato.mechanisms.table.blueprint import Blueprint
from sfumato.mechanisms.table.evidence import Evidence, evidence_of

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
    assert {"teacher", "judge", "cubes"} <= stages[-1]


def test_evidence_counts_rows_budget_and_unit() -> None:
    one = evidence_of(schemas.TABLE, BUDGET, n_columns=5)
    assert one.rows == 300
    assert evidence_of(replace(schemas.TABLE, rows=None), BUDGET, n_columns=5).rows == 20_000
    assert evidence_of(schemas.TABLE, Budget(epsilon=2.0, delta=1e-6), n_columns=5).rho > 1.5 * one.rho
    persons = {m: replace(schemas.TABLE, unit=PrivacyUnit(person="patient", max_rows=m)) for m in (1, 3, 12)}
    rho = {m: evidence_of(schema, BUDGET, n_columns=5).rho for m, schema in persons.items()}
    assert rho[1] == one.rho
    assert rho[3] == pytest.approx(one.rho / 1.72, rel=0.04)  # not 3
    assert rho[12] == pytest.approx(one.rho / 4.41, rel=0.04)  # not 12
    assert evidence_of(schemas.REPLACE, BUDGET, n_columns=5).rho == pytest.approx(one.rho / 2)


@pytest.mark.parametrize("rows", [300, 2_000, 20_000])
def test_steps_are_those_that_have_a_share(rows: int) -> None:
    plan = Blueprint(replace(schemas.TABLE, rows=rows), BUDGET)
    steps = {step.name: step.share for step in plan.steps()}
    assert bool(plan.twins) == (steps.pop("twins", None) is not None)  # asked of pairs of columns, where there are any
    assert steps == {name: share for name, share in plan.evidence.shares(has_target=True).items() if name in steps}
    assert all(plan.has(name) for name in steps)
    assert not plan.has("nothing")


def test_many_classes_share_the_rows_and_get_more_of_the_budget_for_their_tables() -> None:
    few, many = (Evidence(20_000.0, 0.27, 10, n_classes=n).shares(has_target=True) for n in (2, 100))
    assert many["classes"] / sum(many.values()) > 2 * few["classes"] / sum(few.values())
    assert "teacher" not in many
