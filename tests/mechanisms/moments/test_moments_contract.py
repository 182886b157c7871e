"""The contract of moments, and twins of the mechanism and of its doors that break one clause each."""

from dataclasses import replace

import pytest

import twins
from schemas import IMAGES, NO_TARGET, TABLE
from sfumato import Budget, Column, PrivacyUnit, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError, PlanError, SchemaError
from sfumato.extending import register
from sfumato.mechanisms import Moments
from sfumato.mechanisms.moments.settings import MomentsSettings
from sfumato.private.kernel.primitives import Primitives

BUDGET = Budget(epsilon=1.0, delta=1e-6)
QUICK = MomentsSettings(gradients=2, hessian_rows=100)
# Wide bounds, so that private values stay distinct also as whole numbers when the check looks for them: within (-1, 1)
# they are all 0, and zeros stand in any model.
NUMBERS = tuple(Column(name=f"x{i}", kind="numeric", bounds=(-1_000, 1_000)) for i in range(8))
TWO = Schema(columns=(*NUMBERS, Column(name="y", kind="boolean")), target="y")
THREE = TWO.with_columns({"y": Column(name="y", kind="categorical", categories=("a", "b", "c"))})
MANY = Schema(
    columns=(
        *(Column(name=f"x{i}", kind="numeric", bounds=(-1_000, 1_000)) for i in range(21)),
        Column(name="y", kind="categorical", categories=tuple("abcdefghijklmnop")),
    ),
    target="y",
    rows=60,
)
CASES = {
    "two classes": TWO,
    "three classes": THREE,
    "no target": replace(TWO, columns=NUMBERS, target=None),
    "persons": replace(THREE, unit=PrivacyUnit(person="who", max_rows=3)),
    "replace one": replace(TWO, unit=PrivacyUnit(relation="replace_one"), rows=60),
    "many classes of few rows": MANY,
    "codes, dates and missing values": replace(TABLE, rows=None),
}


#: Two gradients, and few rows for the Hessian: the contract fits a mechanism many times.
quick = Moments(settings=QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_keeps_the_contract(case: str) -> None:
    check_mechanism(quick, CASES[case], n_rows=60)


def run_clause(clause: str, mechanism, schema: Schema, primitives=Primitives) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, BUDGET, 60, primitives))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "clause"),
    [
        (twins.MomentsKeepsVectors(), "what comes out follows from the doors' answers"),
        (twins.MomentsCentresByTheBatch(), "maps act on each row alone"),
        (twins.MomentsCentresByTheBatch(step="margins"), "maps act on each row alone"),
        (twins.MomentsComparesLengths(), "maps act on each row alone"),
        (twins.MomentsKeepsEvidence(), "what comes out follows from the doors' answers"),
        (twins.MomentsAsksAgain(), "spending stays within the plan"),
    ],
)
def test_broken_twins_are_caught(mechanism, clause: str) -> None:
    register(type(mechanism))
    run_clause(clause, Moments(), TWO)
    with pytest.raises(ContractError):
        run_clause(clause, mechanism, TWO)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("primitives", "clause"),
    [
        (twins.NoClip, "neighbouring data differ by at most the bound"),
        (twins.HalfNoise, "noise has the planned scale"),
    ],
)
def test_broken_doors_are_caught(primitives, clause: str) -> None:
    with pytest.raises(ContractError):
        run_clause(clause, quick, TWO, primitives)


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (IMAGES, "Use the mechanism 3a-image"),
        (replace(TWO, target="x0"), "the target 'x0' is a number. Use the mechanism 3a-table"),
        (replace(TWO, columns=TWO.columns[-1:]), "needs columns besides the target"),
        (
            replace(
                NO_TARGET, columns=(Column(name="c", kind="categorical", categories=tuple(map(str, range(2_049)))),)
            ),
            "at most 2,048 entries of a row, and these rows have 2,049",
        ),
    ],
    ids=["images", "a number as target", "a target alone", "too many entries"],
)
def test_what_it_cannot_model_is_refused_before_any_row_is_read(schema: Schema, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Moments().steps(schema, BUDGET)


def test_an_alpha_that_is_none_is_refused() -> None:
    with pytest.raises(PlanError, match="alpha = 2"):
        Moments(alpha=2).steps(TWO, BUDGET)
