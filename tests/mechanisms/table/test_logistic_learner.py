"""The learner logistic on tables of all kinds keeps the contract."""

from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from small_tables import TINY

import sfumato as sf
from schemas import PERSONS, TABLE
from sfumato.check import check_mechanism
from sfumato.extending import register
from sfumato.mechanisms import Logistic
from sfumato.mechanisms.moments.settings import MomentsSettings

BUDGET = sf.Budget(epsilon=1.0, delta=1e-6)
#: So much that a hundred made-up rows are enough for gradients.
MUCH = sf.Budget(epsilon=200.0, delta=1e-6)
WIDE = sf.Schema(
    columns=(
        *(sf.Column(name=f"x{at}", kind="numeric", bounds=(-1_000, 1_000)) for at in range(101)),
        sf.Column(name="y", kind="boolean"),
    ),
    target="y",
)
CASES = {
    "small": (TABLE, BUDGET),
    "gradients": (replace(TABLE, rows=20_000), MUCH),
    "persons": (replace(PERSONS, rows=20_000), MUCH),
}


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("case", ["gradients", "persons"])
def test_it_keeps_the_contract(case: str) -> None:
    schema, budget = CASES[case]
    check_mechanism(Logistic(settings=TINY), schema, n_rows=100, budget=budget)


@register
@dataclass(frozen=True, kw_only=True)
class QuickLogistic(Logistic):
    """On wide tables: two gradients, and few rows for the Hessian."""

    name: ClassVar[str] = "quick-logistic"
    moments: ClassVar[MomentsSettings] = MomentsSettings(gradients=2, hessian_rows=100)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_batches")
def test_it_keeps_the_contract_on_wide_tables() -> None:
    assert {step.name for step in QuickLogistic().steps(WIDE, BUDGET)} > {"squares", "moments", "teacher", "progress"}
    check_mechanism(QuickLogistic(), WIDE, n_rows=60)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_asked_for_where_rows_support_them(case: str) -> None:
    schema, budget = CASES[case]
    steps = {step.name: step for step in Logistic().steps(schema, budget)}
    assert ("teacher" in steps) == (case != "small")
    assert steps["progress"].uses == (steps["teacher"].uses + 1 if "teacher" in steps else 1)
    assert not {"pairs", "links", "triples", "cubes", "spikes"} & steps.keys()
    assert all(block.name != "trees" for step in steps.values() for block in step.blocks)
