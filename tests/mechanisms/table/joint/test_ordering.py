"""The line along which a column's bins lie: what is missing says nothing of it."""

import numpy as np
import pandas as pd
import pytest
from small_tables import COLUMNS

import sfumato as sf
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binning import Binning, bin_column
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.joint.ordering import bin_lines
from sfumato.private.kernel.randomness import NoiseSource

N = 10_000
BUDGET = sf.Budget(epsilon=1.0, delta=1e-5)


def number(name: str, *, missing: bool = True) -> sf.Column:
    return sf.Column(name=name, kind="numeric", bounds=(-6, 6), missing=missing)


@pytest.mark.parametrize(
    ("column", "known"),
    [
        (sf.Column(name="n", kind="integer", bounds=(0, 3), missing=True), [0, 1, 2, 3]),
        (sf.Column(name="n", kind="integer", bounds=(0, 4)), [0, 1, 2, 3, 4]),
        (sf.Column(name="n", kind="ordinal", categories=tuple("abcd"), missing=True), [0, 1, 2, 3]),
        (sf.Column(name="n", kind="categorical", categories=tuple("abcd"), missing=True), [3, 0, 1, 2, 4]),
    ],
)
def test_missing_values_have_no_place_among_others(column: sf.Column, known: list[int]) -> None:
    """But in a column without an order they are a category."""
    mass = np.array([2.0, 2.0, 2.0, 9.0, 1.0])
    binning = bin_column(Cells(column), mass, PointMasses(), least=0.5, most=32, category_kept=COLUMNS.category_kept)
    (line,) = bin_lines([binning], [mass[None] / mass.sum()], np.zeros(1))
    assert line.known.tolist() == known
    assert binning.ordered == (len(known) if column.kind != "categorical" else 0)


def released_correlation(seed: int) -> float:
    """Of two columns that hang together, half of each missing, in a release."""
    rng = np.random.default_rng(0)
    z = rng.multivariate_normal(np.zeros(2), [[1.0, 0.8], [0.8, 1.0]], size=N)
    values = np.where(rng.random((N, 2)) < 0.5, np.nan, z)
    table = pd.DataFrame({"a": values[:, 0], "b": values[:, 1], "c": rng.normal(size=N)})
    schema = sf.Schema(columns=(number("a"), number("b"), number("c", missing=False)), rows=N)
    source = NoiseSource(research_seed=seed)
    fitted = sf.fit("3a-table", sf.Sensitive.read(table, schema), BUDGET, seed=seed, source=source)
    release = fitted.model.sample(N, seed=seed).table
    assert release["a"].isna().mean() == pytest.approx(0.5, abs=0.03)
    both = release.dropna()
    assert len(both) == pytest.approx(N / 4, rel=0.3)  # values are missing by themselves
    return float(both["a"].corr(both["b"]))


def test_columns_hang_together_where_both_are_known(monkeypatch) -> None:
    assert released_correlation(0) > 0.65
    monkeypatch.setattr(Binning, "has_missing_bin", property(lambda binning: False))
    assert released_correlation(0) < 0.6  # the twin, in which missing values are the largest
