"""An audit at the level of persons: releases with and without a person and all that hangs on it, through the intake and a door."""

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

import schemas
import sfumato as sf
import twins
from helpers import set_constant
from sfumato.fitting import fit_with
from sfumato.lab.audit.auditing import Audit, audit_mechanism, judge, schema_for
from sfumato.mechanisms import ThreeATables
from sfumato.model import FixedModel, Synthetic
from sfumato.private.intake.sensitive import Sensitive
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Dense
from sfumato.public.plan.plan import make_plan
from sfumato.public.plan.step import Step

BUDGET = sf.Budget(epsilon=2.0, delta=1e-3)
WARD = replace(schemas.WARD, rows=None)
TRIALS = 50


@dataclass(frozen=True)
class CountsTests:
    """How many tests there are, of a person at most three by the door's own clip."""

    name: ClassVar[str] = "counts-tests"
    takes_tables: ClassVar[bool] = True

    def steps(self, schema, budget):
        return (Step(name="tests", blocks=(Dense(name="tests", width=1, l2_bound=3.0),)),)

    def measure(self, view, schema):
        return view.noisy_sum("tests", lambda batch: {"tests": batch["tests.#"][:, None]})

    def build(self, measurements, schema, *, seed):
        return FixedModel(Synthetic(table=pd.DataFrame({"tests": measurements["tests"].values})))


def people(n_persons: int) -> dict[str, pd.DataFrame]:
    """Persons with four visits of three tests each: nobody has more that counts."""
    visit = np.arange(4 * n_persons)
    tests = pd.DataFrame({"visit": np.repeat(visit, 3), "day": 1, "what": "blood", "value": 1.0})
    visits = pd.DataFrame({"visit": visit, "patient": visit // 4, "day": visit % 4})
    return {"patients": pd.DataFrame({"patient": range(n_persons)}), "visits": visits, "tests": tests}


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    set_constant(monkeypatch, "sfumato.private.rows.batches._MOST_ROWS", 16)


def audited(*, of_a_person: float = 3.0) -> Audit:
    """Whether the last of five persons is there. The attacker knows what a person adds."""
    plan = make_plan(CountsTests().steps(WARD, BUDGET), budget=BUDGET, unit=WARD.unit, rows=None)
    start, source = time.perf_counter(), NoiseSource(research_seed=7)
    worlds = [[], []]
    for world, n_persons in enumerate((5, 4)):
        data = people(n_persons)
        for _ in range(TRIALS):
            fitted = fit_with(Primitives(source), CountsTests(), Sensitive.read(data, WARD), BUDGET, seed=0)
            worlds[world].append(float(fitted.model.rows.table["tests"][0]))
    present, absent = (np.array(world) - 4.5 * of_a_person for world in worlds)
    return judge(plan, (present, absent), method="counts-tests", confidence=1 - 1e-4, kind="persons", start=start)


def test_an_honest_intake_holds_what_is_promised_to_a_person() -> None:
    assert audited().verdict == "holds"


def test_a_person_counted_by_rows_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    twins.counts_events_by_rows(monkeypatch)
    assert audited(of_a_person=12.0).verdict == "refuted"


def test_the_plan_of_persons_with_histories_holds_step_by_step() -> None:
    method, budget = ThreeATables(), replace(BUDGET, delta=1e-6)
    found = audit_mechanism(method, schema_for(method, budget), budget, trials=300, seed=3)
    assert found.verdict == "holds"
