"""A fitted table: whose labels it draws, and where it moves numbers."""

from dataclasses import replace

import numpy as np
import pytest
from small_tables import SAMPLING

from sfumato import Column, PrivacyUnit, Schema
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.table.columns.binned import BinnedTable
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.features import Feature
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.model import FittedTable, TableModel
from sfumato.mechanisms.table.target.effects import Effects, column_parts
from sfumato.mechanisms.table.target.labels import ClassLabels
from sfumato.mechanisms.table.target.number_rule import CorrectedNumber
from sfumato.mechanisms.table.target.residuals import LearnedEffects

X = Column(name="x", kind="integer", bounds=(0, 1))
CLASS = Column(name="y", kind="categorical", categories=("no", "yes"))
NUMBER = Column(name="y", kind="integer", bounds=(0, 1))


def binning(column: Column) -> Binning:
    return Binning(Cells(column), 2, np.arange(2), np.array([500.0, 500.0]), PointMasses())


def binned(features: tuple[Feature, ...], binnings: tuple[Binning, ...], target: Binning) -> BinnedTable:
    return BinnedTable(
        features, binnings, target, total=1_000.0, total_stddev=5.0, cell_stddev=1.0, margin_stddevs=(1.0,)
    )


def fitted(target: Column) -> FittedTable:
    """ClassLabels say nothing of x in the population; the teacher says that they are x."""
    rows = np.array([[0], [1], [0], [1]]).repeat(500, axis=0)
    labels = np.array([0, 0, 1, 1]).repeat(500)
    weights = np.full(2_000, 1 / 2_000)
    return FittedTable(
        binned((Feature(Cells(X)),), (binning(X),), binning(target)),
        rates=np.array([0.5, 0.5]),
        population=Population(labels, rows, weights, np.zeros((2_000, 1))),
        labels=ClassLabels(np.zeros((2_000, 1)), np.where(rows == 1, 3.0, -3.0)),
    )


def agreement(table: FittedTable, alpha: float, *, target: Column = CLASS) -> float:
    """How often y is x in the release."""
    schema = Schema(columns=(X, target), target="y")
    rows = TableModel(schema, table, alpha).sample(20_000, seed=0).table
    y = rows["y"].astype(str) == "yes" if target.is_coded else rows["y"] == 1
    return float((y == (rows["x"] == 1)).mean())


def test_alpha_leads_from_the_generator_to_the_teacher() -> None:
    none, half, whole = (agreement(fitted(CLASS), alpha) for alpha in (0.0, 0.5, 1.0))
    assert none == pytest.approx(0.5, abs=0.02)
    assert half == pytest.approx(1 / (1 + np.exp(-1.5)), abs=0.04)
    assert whole == pytest.approx(1 / (1 + np.exp(-3.0)), abs=0.04)


def fitted_number(*, amount: float = 0.4) -> FittedTable:
    """Values say nothing of x in the population; the rule has learned from private rows that y is larger where x is 1."""
    table = fitted(NUMBER)
    effects = Effects(column_parts(table.binned.binnings, most=2), ())
    learned = LearnedEffects(effects, np.array([-amount, amount]), slope=0.0)
    numbers = CorrectedNumber(np.full(2_000, 0.5), (learned,), unit=1.0, mean=0.5, farthest=1.0)
    return replace(table, labels=None, numbers=numbers)


def test_numbers_are_moved_to_the_rows_that_the_teacher_finds_larger() -> None:
    assert agreement(fitted_number(), 0.0, target=NUMBER) == pytest.approx(0.5, abs=0.02)
    # .8 of the way from 0 to 1 is not enough to pass it, and 1.2 is.
    assert agreement(fitted_number(), 1.0, target=NUMBER) == pytest.approx(0.5, abs=0.02)
    assert agreement(fitted_number(amount=0.6), 1.0, target=NUMBER) == pytest.approx(1.0, abs=0.02)
    assert agreement(fitted_number(amount=0.6), 0.5, target=NUMBER) == pytest.approx(0.5, abs=0.02)
    smaller = replace(fitted_number().numbers, spread=0.5)  # errors half as large: .8 passes them
    assert agreement(replace(fitted_number(), numbers=smaller), 1.0, target=NUMBER) == pytest.approx(1.0, abs=0.02)


def test_numbers_keep_their_values() -> None:
    rng = np.random.default_rng(0)
    values, chosen, cells = rng.normal(size=50), rng.integers(2_000, size=50), rng.integers(2, size=(50, 1))
    values[7] = np.nan
    moved = fitted_number().numbers.moved(values, chosen, cells, rng, SAMPLING, alpha=1.0)
    assert np.isnan(moved[7])
    assert sorted(moved[~np.isnan(moved)]) == sorted(values[~np.isnan(values)])


def test_a_table_of_its_target_alone_is_drawn_at_its_rates() -> None:
    table = FittedTable.of_target(binned((), (), binning(CLASS)), PrivacyUnit())
    drawn = TableModel(Schema(columns=(CLASS,), target="y"), table).sample(4_000, seed=0).table
    assert (drawn["y"].astype(str) == "yes").mean() == pytest.approx(0.5, abs=0.05)


def test_a_model_tells_how_many_rows_there_were() -> None:
    table = fitted(CLASS)
    model = TableModel(Schema(columns=(X, CLASS), target="y"), table)
    assert (model.noisy_rows, model.noisy_rows_stddev, model.default_rows) == (1_000.0, 5.0, 1_000)


@pytest.mark.parametrize(("private_rows", "different"), [(1_000.0, 33_334), (1e6, 40_000)])
def test_of_more_rows_than_there_were_several_share_the_chance_of_a_label(private_rows: float, different: int) -> None:
    """One of five is of the rare class: of three rows that are the same hardly ever two."""
    named = Column(name="x", kind="categorical", categories=tuple(map(str, range(40_000))))
    of_x = Binning(Cells(named), 40_000, np.arange(40_000), np.ones(40_000), PointMasses())
    table = FittedTable(
        BinnedTable(
            (Feature(of_x.cells),),
            (of_x,),
            binning(CLASS),
            total=private_rows,
            total_stddev=5.0,
            cell_stddev=1.0,
            margin_stddevs=(1.0,),
        ),
        rates=np.array([0.8, 0.2]),
        population=Population(
            np.zeros(40_000, int), np.arange(40_000)[:, None], np.ones(40_000), np.zeros((40_000, 1))
        ),
        labels=ClassLabels(np.zeros((40_000, 1)), np.zeros((40_000, 1))),
    )
    model = TableModel(Schema(columns=(named, CLASS), target="y"), table)
    yes = (model.sample(100_000, seed=0).table.set_index("x")["y"] == "yes").groupby(level=0, observed=True).sum()
    assert len(yes) == different
    assert different == 40_000 or (yes <= 1).mean() > 0.97  # by tosses it would be .9
