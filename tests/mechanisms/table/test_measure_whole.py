"""An XOR of several columns comes out of a release, from all columns, from a group that is chosen, and from persons' rows."""

import numpy as np
import pandas as pd
import pytest
from small_tables import SMALL_TABLE

import sfumato as sf
from sfumato.extending import NoiseSource

N_ROWS, BUDGET = 12_000, sf.Budget(epsilon=1.0, delta=1e-5)


def agreement(n_columns: int, *, among: int, max_rows: int = 1) -> float:
    """The part of released rows whose class is the XOR of the first columns; of private ones it is .95."""
    rng = np.random.default_rng(0)
    bits = rng.random((N_ROWS, n_columns)) < 0.5
    names = [chr(ord("a") + j) for j in range(n_columns)]
    frame = pd.DataFrame(dict(zip(names, bits.T, strict=True)))
    frame["target"] = (bits[:, :among].sum(axis=1) % 2 == 1) ^ (rng.random(N_ROWS) < 0.05)
    frame["person"] = np.arange(N_ROWS) // max_rows
    unit = sf.PrivacyUnit(person="person", max_rows=max_rows) if max_rows > 1 else sf.PrivacyUnit()
    columns = tuple(sf.Column(name=name, kind="boolean") for name in (*names, "target"))
    schema = sf.Schema(columns=columns, target="target", rows=N_ROWS, unit=unit)
    data = sf.Sensitive.read(frame if max_rows > 1 else frame.drop(columns="person"), schema)
    fitted = sf.fit(SMALL_TABLE, data, BUDGET, seed=0, source=NoiseSource(research_seed=0))
    rows = fitted.model.sample(N_ROWS, seed=0).table
    odd = rows[names[:among]].to_numpy().astype(bool).sum(axis=1) % 2 == 1
    return float((odd == rows["target"].to_numpy().astype(bool)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("among", [4, 6])
def test_an_xor_of_all_columns_is_released(among: int) -> None:
    assert agreement(8, among=among) > 0.88  # of 12,000 rows; with five noises it was .892 to .920


@pytest.mark.slow
def test_an_xor_within_a_group_that_is_chosen_is_released() -> None:
    assert agreement(18, among=4) > 0.8


@pytest.mark.slow
def test_an_xor_in_rows_of_persons_is_released() -> None:
    assert agreement(8, among=4, max_rows=3) > 0.85
