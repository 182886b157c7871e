"""Columns of very many categories: each is counted by class, and its labels follow, also where bins pool it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from small_tables import COLUMNS, DEFAULT

import sfumato as sf
from sfumato import Budget, Column, PrivacyUnit, Schema
from sfumato.mechanisms import ThreeATable
from sfumato.mechanisms.common.cells import Cells
from sfumato.mechanisms.learners.binned_rule import RulePlan
from sfumato.mechanisms.table.columns.binning import Binning
from sfumato.mechanisms.table.columns.code_tables import CodeTable, code_scores
from sfumato.mechanisms.table.columns.point_masses import PointMasses
from sfumato.mechanisms.table.plan import TablePlan
from sfumato.mechanisms.table.settings.table import TableSettings
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.doors import Measured

N_CODES = 2_000
CODE = Column(name="code", kind="categorical", categories=tuple(f"k{i}" for i in range(N_CODES)))
X = Column(name="x", kind="numeric", bounds=(-5, 5))
Y = Column(name="y", kind="boolean")
TABLE = Schema(columns=(CODE, X, Y), target="y", rows=20_000)
BUDGET = Budget(epsilon=1.0, delta=1e-6)


def pool(held: np.ndarray) -> Binning:
    """Sixty categories, of which the first two have bins of their own."""
    column = Column(name="c", kind="categorical", categories=tuple(f"k{i}" for i in range(60)))
    return Binning(Cells(column), 3, np.minimum(np.arange(60), 2), held, PointMasses())


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lifts_lead_to_the_classes_that_were_counted(n_classes: int) -> None:
    rng = np.random.default_rng(0)
    rates = rng.dirichlet(np.full(n_classes, 3.0), size=60).T
    held = np.full(60, 5_000.0)
    table = CodeTable(Measured(rates * held, 1.0))
    bins = np.repeat([0, 1, 2], [1_000, 1_000, 58_000])
    even = np.full((len(bins), n_classes), 1 / n_classes)
    lifts = table.scores(pool(held), bins, even, COLUMNS)
    scores = np.column_stack([np.zeros(60), lifts]) if n_classes == 2 else lifts
    reached = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    # Lifts are those of small departures: they lead about as far as was counted, no more.
    for c in range(n_classes):
        assert np.corrcoef(reached[:, c], rates[c])[0, 1] > 0.97
        assert np.polyfit(rates[c], reached[:, c], deg=1)[0] == pytest.approx(1.0, abs=0.2)


def test_what_noise_explains_is_no_lift() -> None:
    rng = np.random.default_rng(1)
    held = np.full(60, 20.0)
    counts = np.stack([0.5 * held, 0.5 * held]) + 30 * rng.standard_normal((2, 60))
    table = CodeTable(Measured(counts, 30.0))
    bins = np.repeat([0, 1, 2], [20, 20, 1_160])
    lifts = table.scores(pool(held), bins, np.full((len(bins), 2), 0.5), COLUMNS)
    assert np.abs(lifts).max() < 0.3
    # The same counts without noise would all be taken for what they are.
    sure = CodeTable(Measured(counts, 1.0)).scores(pool(held), bins, np.full((len(bins), 2), 0.5), COLUMNS)
    assert np.abs(sure).mean() > 1.0


def test_what_a_rule_says_already_is_no_lift() -> None:
    rng = np.random.default_rng(2)
    held = np.full(60, 2_000.0)
    of_bin = np.array([0.9, 0.2, 0.4])
    rate = of_bin[np.minimum(np.arange(60), 2)]
    counts = np.stack([(1 - rate) * held, rate * held]) + 5 * rng.standard_normal((2, 60))
    bins = np.repeat([0, 1, 2], [1_000, 1_000, 58_000])
    said = np.column_stack([1 - of_bin[bins], of_bin[bins]])
    known = CodeTable(Measured(counts, 5.0)).scores(pool(held), bins, said, COLUMNS)
    unknown = CodeTable(Measured(counts, 5.0)).scores(pool(held), bins, np.full_like(said, 0.5), COLUMNS)
    assert np.abs(known).max() < 0.05
    assert unknown[0, 0] > 1.0


def test_lifts_of_columns_add_up() -> None:
    lifts = {0: np.array([[1.0], [2.0]]), 2: np.array([[10.0], [20.0]])}
    cells = np.array([[0, 1], [5, 5], [1, 1]])
    assert code_scores(lifts, cells).tolist() == [[21.0], [22.0]]
    assert code_scores({}, cells) == 0.0


def stages(schema: Schema, kind: type[TablePlan] = TablePlan) -> set[str]:
    return {step.name for step in kind(schema, BUDGET).steps()}


def test_categories_are_counted_by_class_where_bins_would_pool_them_and_rows_suffice() -> None:
    assert "codes" in stages(TABLE)
    fewer = replace(CODE, categories=CODE.categories[:200])
    assert "codes" not in stages(TABLE.with_columns({"code": fewer}))
    assert "codes" not in stages(replace(TABLE, rows=100))
    assert "codes" in stages(replace(TABLE, rows=10_000_000))
    assert "codes" not in stages(replace(TABLE, target=None))
    assert "codes" not in stages(replace(TABLE, target="x"))
    persons = replace(TABLE, unit=PrivacyUnit(person="who", max_rows=3))
    assert "codes" not in stages(persons)
    assert "codes" not in stages(TABLE, RulePlan)  # a rule has one weight for a bin


@pytest.fixture(scope="module")
def decided() -> pd.DataFrame:
    """Twenty rows of each code, nearly all of one class: next to nothing is said by anything else."""
    rng = np.random.default_rng(3)
    code = np.repeat(np.arange(N_CODES), 20)
    rate = np.where(rng.random(N_CODES) < 0.5, 0.05, 0.95)[code]
    rows = pd.DataFrame(
        {"code": [f"k{c}" for c in code], "x": rng.normal(size=len(code)), "y": rng.random(len(code)) < rate}
    )
    return rows.sample(frac=1.0, random_state=0, ignore_index=True)


def agreement(rows: pd.DataFrame, released: pd.DataFrame) -> float:
    """How the codes' rates of the class agree, over all released rows."""
    true = rows.groupby("code")["y"].mean()
    found = released.groupby("code")["y"].mean()
    weight = released["code"].value_counts().reindex(found.index)
    centred = [side - np.average(side, weights=weight) for side in (true.reindex(found.index), found)]
    return float((weight * centred[0] * centred[1]).sum() / np.sqrt(np.prod([(weight * c**2).sum() for c in centred])))


@pytest.mark.slow
def test_released_rows_know_codes_that_share_a_bin(decided: pd.DataFrame) -> None:
    schema = replace(TABLE, rows=len(decided))

    def released(settings: TableSettings) -> pd.DataFrame:
        data = sf.Sensitive.read(decided, schema)
        mechanism, source = ThreeATable(settings=settings), NoiseSource(research_seed=0)
        fitted = sf.fit(mechanism, data, Budget(epsilon=2.0, delta=1e-6), seed=0, source=source)
        return fitted.sample(len(decided), seed=0).table

    assert agreement(decided, released(DEFAULT)) > 0.5
    assert agreement(decided, released(DEFAULT.without("codes"))) < 0.35
