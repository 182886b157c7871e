"""Quantiles: close to the level that is asked for the rows are counted closely, and a tail that nothing rules out is in the interval."""

import numpy as np
import pytest

import sfumato as sf
from sfumato.asking.intervals import Uncertain
from sfumato.asking.kinds import Quantile, kind_of
from sfumato.asking.questions import read_question

SCHEMA = sf.Schema(
    columns=(
        sf.Column(name="cost", kind="numeric", bounds=(0, 1000)),
        sf.Column(name="visits", kind="integer", bounds=(0, 40)),
    )
)
SKEWED = {"cost": np.exp(np.random.default_rng(0).normal(0, 1, 10_000)), "visits": np.repeat(np.arange(5.0), 2_000)}


def asked(question: str, rows: dict[str, np.ndarray]) -> Quantile:
    kind = kind_of(read_question(question, SCHEMA), rows)
    assert isinstance(kind, Quantile)
    return kind


@pytest.mark.parametrize("level", [0.001, 0.01, 0.25, 0.99, 0.999])
def test_a_quantile_of_a_skewed_column_is_near_however_far_out_it_lies(level: float) -> None:
    kind = asked(f"quantile(cost, {level})", SKEWED)
    found = kind.naive(kind.functions(SKEWED))
    assert found == pytest.approx(np.quantile(SKEWED["cost"], level), rel=0.15)


def interval(kind: Quantile, rows: dict[str, np.ndarray], error: float) -> tuple[float, float, float] | None:
    """Where the number of rows up to each point may be off by `error`, but that of all rows is known."""
    functions = kind.functions(rows)
    errors = np.where(np.append(kind.points, np.inf) < 1000, error, 1e-6)
    return kind.interval(Uncertain(functions.sum(axis=0), np.diag(errors**2)), 1.96)


def test_the_tail_that_synthetic_rows_lack_is_in_the_interval() -> None:
    short = {**SKEWED, "cost": np.minimum(SKEWED["cost"], 8)}
    found = interval(asked("quantile(cost, 0.995)", short), short, 200)
    assert found is not None
    assert found[2] > np.quantile(SKEWED["cost"], 0.995) > 8
    assert found[2] <= 1000


def test_where_nothing_says_how_far_an_amount_can_go_an_open_tail_is_not_told() -> None:
    ask = asked("quantile(1 / cost, 0.999)", SKEWED)
    assert interval(ask, SKEWED, 1) is not None
    assert interval(ask, SKEWED, 200) is None


def test_whole_numbers_stay_whole_numbers() -> None:
    kind = asked("quantile(visits, 0.9)", SKEWED)
    assert kind.points.tolist() == [0, 1, 2, 3, 4, 40]
    assert interval(kind, SKEWED, 30) == (4, 4, 4)
