"""The contract suite has teeth: every cheat is rejected, by the clause that is there for it."""

import numpy as np
import pytest
from cheats import CHEATS, MAPS, WIDE, HyperplaneHash, Plain, TwoSteps

import schemas
from sfumato import Budget, Column, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.setting import Setting
from sfumato.errors import ContractError

BUDGET = Budget(epsilon=1.0, delta=1e-6)


def run_clause(clause: str, mechanism, schema: Schema = schemas.TABLE) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, BUDGET, 300))


@pytest.mark.parametrize("honest", [Plain(), TwoSteps()])
def test_the_honest_ones_beside_them_pass(honest) -> None:
    check_mechanism(honest, schemas.TABLE)


@pytest.mark.parametrize(("cheat", "clause"), CHEATS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_cheat_is_caught_by_its_clause(cheat, clause: str) -> None:
    with pytest.raises(ContractError):
        run_clause(clause, cheat())


@pytest.mark.parametrize(("cheat", "clause"), CHEATS[::8], ids=lambda part: getattr(part, "__name__", ""))
def test_the_whole_suite_rejects_them(cheat, clause: str) -> None:
    with pytest.raises(ContractError, match=cheat.name):
        check_mechanism(cheat(), schemas.TABLE)


def test_there_are_many_ways_to_cheat() -> None:
    assert len(CHEATS) >= 44
    assert all(cheat.__doc__ for cheat, _ in CHEATS)


NUMBERS = Schema(columns=tuple(Column(name=f"x{i}", kind="numeric", bounds=(-1, 1)) for i in range(40)))


def test_rounding_that_depends_on_the_place_is_caught() -> None:
    """Random rows do not show it: only rows at an edge do."""
    rng = np.random.default_rng(1)
    row, planes = rng.normal(size=40), rng.normal(size=(40, WIDE))
    same = np.tile(row, (1024, 1)) @ planes
    if (same == same[0]).all():
        pytest.skip("this machine's matrix products give a row the same bits at every place")
    with pytest.raises(ContractError, match="rounds what it computes"):
        run_clause(MAPS, HyperplaneHash(), NUMBERS)
