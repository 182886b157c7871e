"""The contract suite has teeth: every cheat is rejected, by the clause that is there for it."""

import contextlib
import gc
import logging
import os
import subprocess
from pathlib import Path

import accidents  # noqa: F401 - it adds to the cheats
import cheats  # noqa: F401 - it adds to the cheats
import numpy as np
import pytest
from accidents_files import ELSEWHERE, LEFT
from accidents_malice import PIPE
from cheats_chance import WIDE, HyperplaneHash
from cheats_doors import TwoSteps
from plain import CHEATS, MAPS, Plain

import schemas
from sfumato import Budget, Column, Schema
from sfumato.check import CHECKS, check_mechanism
from sfumato.check.instruments.boundary import place_shows
from sfumato.check.instruments.setting import Setting
from sfumato.errors import ContractError
from sfumato.private.kernel.primitives import Primitives

BUDGET = Budget(epsilon=1.0, delta=1e-6)


def run_clause(clause: str, mechanism, schema: Schema = schemas.TABLE) -> None:
    (check,) = [check for check in CHECKS if check.name == clause]
    check.run(Setting(mechanism, schema, BUDGET, 300))


@pytest.fixture(autouse=True, scope="module")
def _all_is_imported() -> None:
    """As in the whole suite, where other clauses come first: an import leaves things behind that are no cheat."""
    setting = Setting(Plain(), schemas.TABLE, BUDGET, 300)
    setting.run(setting.ordinary(), seed=1)


@pytest.fixture(autouse=True)
def _nothing_stays(tmp_path, monkeypatch):
    """Cheats leave things behind; the next test finds none of them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Primitives, "noise", Primitives.noise)
    errors, callbacks, handlers = np.geterr(), list(gc.callbacks), logging.getLogger("accident").handlers
    yield
    np.seterr(**errors)
    gc.enable()
    gc.callbacks[:], logging.getLogger("accident").handlers = callbacks, handlers
    for descriptor in PIPE:
        with contextlib.suppress(OSError):
            os.close(descriptor)
    for file in ELSEWHERE.glob(f"{LEFT}*"):
        file.unlink()


#: Bins: noise is looked at until there are thousands of values, and more of them take fewer runs.
MANY = 256


@pytest.mark.slow
@pytest.mark.parametrize("honest", [Plain(bins=MANY), TwoSteps(bins=MANY)])
def test_the_honest_ones_beside_them_pass(honest) -> None:
    check_mechanism(honest, schemas.TABLE)


@pytest.mark.slow
@pytest.mark.parametrize(("cheat", "clause"), CHEATS, ids=lambda part: getattr(part, "__name__", ""))
def test_every_cheat_is_caught_by_its_clause(cheat, clause: str) -> None:
    with pytest.raises(ContractError):
        run_clause(clause, cheat())


@pytest.mark.slow
@pytest.mark.parametrize(("cheat", "clause"), CHEATS[::12], ids=lambda part: getattr(part, "__name__", ""))
def test_the_whole_suite_rejects_them(cheat, clause: str) -> None:
    with pytest.raises(ContractError, match=cheat.name):
        check_mechanism(cheat(), schemas.TABLE)


def test_there_are_many_ways_to_cheat() -> None:
    assert len(CHEATS) >= 105
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


def test_a_matrix_product_over_rows_of_one_class_is_caught() -> None:
    """How many rows of its class are in the batch changes a row's last bits; float32 rows come as close to an edge."""
    rng = np.random.default_rng(0)
    centres, classes = rng.normal(size=(10, 20, 144)), tuple("abcdefghij")
    row = rng.normal(size=(1, 144)).astype(np.float32)
    if ((row.repeat(50, 0) @ centres[0].T)[0] == (row.repeat(512, 0) @ centres[0].T)[0]).all():
        pytest.skip("this machine's matrix products give a row the same bits in any number of rows")

    def nearest(batch):
        found = np.zeros((512, 1))
        for c in range(10):
            mine = batch["y"] == c
            found[mine, 0] = ((centres[c] ** 2).sum(axis=1) - 2 * batch["v"][mine] @ centres[c].T).argmin(axis=1)
        return {"code": found}

    def batch():
        return {"y": rng.integers(10, size=512), "v": rng.normal(size=(512, 144)).astype(np.float32)}

    schema = Schema(columns=(Column(name="y", kind="categorical", categories=classes),))
    assert place_shows(nearest, batch(), batch(), schema=schema)

    def nearest_of_all(batch):
        every = (centres**2).sum(axis=2) - 2 * np.einsum("nv,ckv->nck", batch["v"].astype(float), centres)
        return {"code": every[np.arange(512), batch["y"]].argmin(axis=1)[:, None]}

    assert not place_shows(nearest_of_all, batch(), batch(), schema=schema)


@pytest.mark.slow
def test_what_is_known_not_to_be_caught(quick_python: str) -> None:
    """The guide says so. Whoever mends one of them moves it to the cheats."""
    # In a process of their own: others of this file leave things behind, which would be taken for theirs.
    here = Path(__file__).parent
    code = (
        f"import sys; sys.path[:0] = {[str(here), str(here.parent)]}\n"
        "import accidents_malice, schemas, sfumato.check as c\n"
        f"for cheat in accidents_malice.UNCAUGHT: c.check_mechanism(cheat(bins={MANY}), schemas.TABLE)"
    )
    subprocess.run([quick_python, "-c", code], check=True)
