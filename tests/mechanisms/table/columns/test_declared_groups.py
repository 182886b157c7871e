"""Groups that are declared cost nothing to find, and every released row obeys them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from small_tables import TINY_TABLE

from sfumato import Budget, Column, Schema, Sensitive, fit
from sfumato.check import check_mechanism
from sfumato.extending import NoiseSource
from sfumato.mechanisms import ClustMix, IndependentHistograms
from sfumato.mechanisms.table.plan import TablePlan

BUDGET = Budget(epsilon=1.0, delta=1e-6)
SOIL, AREA = tuple(f"soil_{i}" for i in range(5)), ("area_x", "area_y", "area_z")
SCHEMA = Schema(
    columns=(
        Column(name="height", kind="numeric", bounds=(0, 1)),
        *(Column(name=name, kind="boolean") for name in SOIL),
        *(Column(name=name, kind="integer", bounds=(0, 1)) for name in AREA),
        Column(name="kind", kind="categorical", categories=("p", "q")),
    ),
    target="kind",
    rows=3_000,
)
DECLARED = replace(SCHEMA, one_of=SOIL, at_most_one_of=AREA)


def forest(n_rows: int, *, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n_rows)
    soil = np.where(kind == 1, rng.integers(0, 2, n_rows), rng.integers(2, 5, n_rows))
    area = rng.integers(0, 4, n_rows)  # 3: none
    frame = pd.DataFrame({"height": rng.random(n_rows)})
    frame = frame.assign(**{name: soil == at for at, name in enumerate(SOIL)})
    frame = frame.assign(**{name: (area == at).astype(int) for at, name in enumerate(AREA)})
    return frame.assign(kind=np.array(["p", "q"])[kind])


def sums(table: pd.DataFrame) -> tuple[set[int], set[int]]:
    """How many members of each group are set in some row."""
    return tuple(set(table[list(names)].astype(int).sum(axis=1)) for names in (SOIL, AREA))


def test_they_take_no_budget_and_make_fewer_columns() -> None:
    found, declared = TablePlan(SCHEMA, BUDGET), TablePlan(DECLARED, BUDGET)
    assert found.has("groups")
    assert not declared.has("groups")
    assert declared.groups == []
    assert (found.k, declared.k) == (9, 3)
    assert declared.evidence.rho == found.evidence.rho  # the same table, known instead of found
    assert not declared.hot("fine").weighted


@pytest.mark.parametrize("n_rows", [2, 3_000])
@pytest.mark.parametrize("mechanism", [TINY_TABLE, IndependentHistograms(), ClustMix(sigma_max=10.0)])
def test_every_released_row_obeys(mechanism, n_rows: int) -> None:
    data = Sensitive.read(forest(n_rows), replace(DECLARED, rows=None))
    table = fit(mechanism, data, BUDGET, seed=0, source=NoiseSource(research_seed=0)).model.sample(2_000, seed=1).table
    soil, area = sums(table)
    assert soil == {1}
    assert area <= {0, 1}


def test_members_keep_their_rates_and_follow_the_class() -> None:
    data = Sensitive.read(forest(20_000), replace(DECLARED, rows=20_000))
    table = fit(TINY_TABLE, data, BUDGET, seed=0, source=NoiseSource(research_seed=0)).sample().table
    rates = table[list(SOIL)].astype(float).mean().to_numpy()
    assert rates == pytest.approx([1 / 4, 1 / 4, 1 / 6, 1 / 6, 1 / 6], abs=0.03)
    assert (table[list(AREA)].sum(axis=1) == 0).mean() == pytest.approx(1 / 4, abs=0.03)
    assert table.loc[table["kind"] == "q", list(SOIL[:2])].astype(float).sum(axis=1).mean() > 0.85


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    cells=st.lists(st.lists(st.integers(0, 1), min_size=8, max_size=8), min_size=1, max_size=20),
    swap=st.booleans(),
)
def test_rows_that_are_not_as_declared_are_mapped_and_never_refused(cells, swap: bool) -> None:
    schema = replace(SCHEMA, rows=None, one_of=AREA if swap else SOIL, at_most_one_of=SOIL if swap else AREA)
    values = np.array(cells)
    frame = pd.DataFrame({name: values[:, at] for at, name in enumerate((*SOIL, *AREA))}).assign(height=0.5, kind="p")
    made = fit(TINY_TABLE, Sensitive.read(frame, schema), BUDGET, seed=0, source=NoiseSource(research_seed=1))
    soil, area = sums(made.model.sample(200, seed=0).table)
    exactly, at_most = (area, soil) if swap else (soil, area)
    assert exactly == {1}
    assert at_most <= {0, 1}


def test_wide_tables_obey_too() -> None:
    rng = np.random.default_rng(0)
    numbers = tuple(Column(name=f"x{i}", kind="numeric", bounds=(0, 1)) for i in range(120))
    schema = replace(DECLARED, columns=(*numbers, *DECLARED.columns))
    frame = pd.concat([pd.DataFrame(rng.random((400, 120)), columns=[c.name for c in numbers]), forest(400)], axis=1)
    made = fit("auto", Sensitive.read(frame, schema), BUDGET, seed=0, source=NoiseSource(research_seed=0))
    assert made.mechanism.name == "moments"
    soil, area = sums(made.model.sample(500, seed=0).table)
    assert soil == {1}
    assert area <= {0, 1}


@pytest.mark.slow
def test_the_contract_with_declared_groups() -> None:
    check_mechanism(TINY_TABLE, replace(DECLARED, rows=3_000), n_rows=60)
