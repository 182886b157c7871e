"""Columns counted whole: an XOR of many columns is kept, and what noise alone would make of a table is not."""

from collections.abc import Callable

import numpy as np
import pytest
from small_tables import JOINT

from sfumato.mechanisms.table.joint.population import Population
from sfumato.mechanisms.table.joint.whole_table import WholeTable
from sfumato.public.plan.measured import Measured

N_ROWS, STDDEV = 20_000, 12.0


def table_of(bits: np.ndarray, labels: np.ndarray, *, seed: int = 0) -> WholeTable:
    shape = (*(2,) * bits.shape[1], 2)
    codes = np.ravel_multi_index((*bits.T, labels), shape)
    noisy = np.bincount(codes, minlength=2 ** len(shape)) + STDDEV * np.random.default_rng(seed).standard_normal(
        2 ** len(shape)
    )
    return WholeTable(tuple(range(bits.shape[1])), shape, Measured(noisy, STDDEV), float(N_ROWS))


def drawn(rule: Callable, *, rates: tuple[float, ...], seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    bits = (rng.random((N_ROWS, len(rates))) < rates).astype(np.int64)
    return bits, (rng.random(N_ROWS) < rule(bits)).astype(np.int64)


def believed(bits: np.ndarray, labels: np.ndarray, chance: np.ndarray):
    """The scores that are added where rows have such chances before."""
    population = Population(labels, bits, np.full(len(bits), 1 / len(bits)), np.zeros((len(bits), 0)))
    return table_of(bits, labels).scores(population, np.stack([1 - chance, chance], axis=1), JOINT)


@pytest.mark.parametrize("n_columns", [4, 7])
def test_an_xor_of_many_columns_is_kept(n_columns: int) -> None:
    bits, labels = drawn(lambda b: np.where(b[:, :n_columns].sum(axis=1) % 2, 0.95, 0.05), rates=(0.5,) * 9)
    scores = believed(bits, labels, np.full(N_ROWS, 0.5))
    assert scores is not None
    chance = 1 / (1 + np.exp(-scores.of_rows(bits)[:, 0]))
    odd = bits[:, :n_columns].sum(axis=1) % 2 == 1
    assert chance[odd].mean() == pytest.approx(0.95, abs=0.03)
    assert chance[~odd].mean() == pytest.approx(0.05, abs=0.03)
    assert chance[odd].min() > 0.8


def test_columns_that_only_add_up_are_left_alone() -> None:
    """Also where values are rare, so that single combinations hold next to nothing."""
    rates = (0.05, 0.1, 0.3, 0.5, 0.2, 0.4, 0.1, 0.5)
    weights = np.array([1.0, -1.0, 0.5, 0.7, -0.4, 0.3, 0.8, -0.6])

    def chance(b):
        return 1 / (1 + np.exp(0.5 - b @ weights))

    bits, labels = drawn(chance, rates=rates)
    assert believed(bits, labels, chance(bits)) is None


def test_a_class_that_noise_alone_could_make_is_not_believed() -> None:
    bits, labels = drawn(lambda b: np.full(len(b), 0.5), rates=(0.5,) * 9)
    assert believed(bits, labels, np.full(N_ROWS, 0.5)) is None


def test_several_classes_and_values_have_a_score_each() -> None:
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(size, size=N_ROWS) for size in (3, 4, 2)], axis=1)
    labels = np.where(rng.random(N_ROWS) < 0.8, rows.sum(axis=1) % 3, rng.integers(3, size=N_ROWS))
    shape = (3, 4, 2, 3)
    counts = np.bincount(np.ravel_multi_index((*rows.T, labels), shape), minlength=72) + 5.0 * rng.standard_normal(72)
    table = WholeTable((0, 1, 2), shape, Measured(counts, 5.0), float(N_ROWS))
    population = Population(labels, rows, np.full(N_ROWS, 1 / N_ROWS), np.zeros((N_ROWS, 0)))
    scores = table.scores(population, np.full((N_ROWS, 3), 1 / 3), JOINT)
    assert scores is not None
    assert (scores.of_rows(rows).argmax(axis=1) == rows.sum(axis=1) % 3).all()
