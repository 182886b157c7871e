"""The noise: exact where it must be, right in distribution, and on the grid; with the attack that it stops."""

import os
from concurrent.futures import ThreadPoolExecutor

import mpmath
import numpy as np
import pytest
from scipy import stats

from sfumato.private.kernel.gaussian import _decide, cell_table, rounded_gaussian
from sfumato.private.kernel.inversion import InversionTable
from sfumato.private.kernel.primitives import Primitives
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.public.plan.block import Hot
from sfumato.public.plan.step import Step

FALSE_ALARM = 1e-6


def seeded(seed: int) -> NoiseSource:
    return NoiseSource(research_seed=seed)


def chi_square_p(draws: np.ndarray, edges: np.ndarray, scale: float) -> float:
    """Pearson's test of draws of floor(X), X ~ N(0, scale^2), against exact probabilities of integer cells."""
    observed, _ = np.histogram(draws, bins=edges - 0.5)  # [a, b) of integers
    expected = np.diff(stats.norm.cdf(edges / scale)) * draws.size
    inside = expected > 20
    statistic = ((observed - expected)[inside] ** 2 / expected[inside]).sum()
    return float(stats.chi2.sf(statistic, df=inside.sum() - 1))


def test_draws_follow_the_floor_of_a_gaussian() -> None:
    draws = rounded_gaussian(4_000_000, source=seeded(1))
    scale = 2.0**20
    edges = np.arange(-5 * 2**20, 5 * 2**20 + 1, 2**13)
    assert chi_square_p(draws, edges, scale) > FALSE_ALARM
    # The same test sees a scale that is off by half a per cent, and a distribution without its sign.
    assert chi_square_p(draws, edges, scale * 1.005) < FALSE_ALARM
    assert chi_square_p(np.abs(draws), edges, scale) < FALSE_ALARM


def test_positions_within_a_cell_are_right_and_not_just_even() -> None:
    """Within one cell of 2048 positions the density falls by exp(-x / 512): visible with enough draws far out."""
    draws = rounded_gaussian(8_000_000, source=seeded(2))
    magnitude = np.where(draws < 0, -draws - 1, draws)
    fine = magnitude % 2048
    cell = magnitude // 2048
    # The expected mean of the position in cell k is 1/2 - (k + 1/2) / (12 * 512^2), in cells.
    deviation = (fine + 0.5) / 2048 - 0.5
    expected = -(cell + 0.5) / (12 * 512**2)
    z = (deviation - expected).sum() / np.sqrt(draws.size / 12)
    assert abs(z) < stats.norm.isf(FALSE_ALARM / 2)
    weight = cell - cell.mean()  # and the slope with k, where a merely even position would show none
    slope = (weight * deviation).sum() / (weight**2).sum()
    error = np.sqrt(1 / 12 / (weight**2).sum())
    assert abs(slope - (-1 / (12 * 512**2))) < 5 * error


def test_no_draw_is_ever_used_twice_and_lags_are_uncorrelated() -> None:
    draws = rounded_gaussian(1_000_000, source=NoiseSource()) / 2**20
    lags = (1, 2, 3, 1 << 17)
    for lag in lags:
        correlation = (draws[lag:] * draws[:-lag]).mean() * np.sqrt(draws.size - lag)
        assert abs(correlation) < stats.norm.isf(FALSE_ALARM / 2 / len(lags))


def test_cell_thresholds_are_exact_to_128_bits() -> None:
    table = cell_table()
    with mpmath.workprec(400):
        for k in (1, 2, *range(5, len(table.thresholds), 37), len(table.thresholds)):
            exact = mpmath.erf(mpmath.mpf(k) / (512 * mpmath.sqrt(2))) * mpmath.mpf(2) ** 128
            assert 0 <= exact - table.thresholds[k - 1] < 1
    assert list(table.thresholds) == sorted(table.thresholds)
    assert len(table.thresholds) > 13 * 512


class Scripted:
    """A stream that gives the words of a test."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def words(self, count: int) -> np.ndarray:
        taken, self._words = self._words[:count], self._words[count:]
        return np.array(taken, dtype=np.uint64)


def test_ties_are_settled_by_further_bits() -> None:
    threshold = (5 << 96) + 7
    table = InversionTable.from_thresholds([threshold, 2**127])
    below, at = (6 << 32, 7 << 32)
    assert table.draw(1, source=Scripted(5 << 32, 0, below)).tolist() == [0]
    assert table.draw(1, source=Scripted(5 << 32, 0, at)).tolist() == [1]
    assert table.draw(1, source=Scripted(4 << 32)).tolist() == [0]
    assert table.draw(1, source=Scripted(6 << 32)).tolist() == [1]
    assert table.draw(1, source=Scripted(2**63, 0, 0)).tolist() == [2]


def test_unsettled_comparisons_are_decided_exactly() -> None:
    cell, fine = 1000, 2047
    t = (fine + 0.5) / 2048
    keep = float(np.exp(-(2 * cell * t + t * t) / (2 * 512**2)))
    uniform = int(keep * 2**20)
    word = fine << 20 | uniform
    half = 2**63
    with mpmath.workprec(400):
        exact = mpmath.exp(-(2 * cell * mpmath.mpf(t) + mpmath.mpf(t) ** 2) / (2 * 512**2))
        boundary = int((exact * 2**20 - uniform) * 2**128)
    below, above = divmod(boundary, 2**64), divmod(boundary + 1, 2**64)
    assert _decide(cell, word, source=Scripted(half, 0, *below))
    assert not _decide(cell, word, source=Scripted(half, 0, *above))


def test_research_streams_repeat_and_secure_ones_do_not() -> None:
    assert seeded(4).words(5).tolist() == seeded(4).words(5).tolist()
    assert NoiseSource().words(5).tolist() != NoiseSource().words(5).tolist()
    many = seeded(5)
    assert np.concatenate([many.words(3), many.words(70_000)]).tolist() == seeded(5).words(70_003).tolist()


def test_the_key_of_a_secure_stream_is_all_from_the_operating_system(monkeypatch) -> None:
    asked = []

    def known(size: int) -> bytes:
        asked.append(size)
        return bytes(range(len(asked), len(asked) + size))

    monkeypatch.setattr(os, "urandom", known)
    first = NoiseSource().words(3).tolist()
    assert NoiseSource().words(3).tolist() != first
    assert asked == [32, 32]
    asked.clear()
    assert NoiseSource().words(3).tolist() == first  # the same key, the same stream: nothing else has a say


def test_the_stream_cannot_be_copied() -> None:
    import copy
    import pickle

    for copying in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="same noise"):
            copying(NoiseSource())


def test_the_floating_point_attack_works_on_float_noise_and_not_on_ours() -> None:
    """One all-ones record in a mixture of 256 zeros shifts every pixel by 1/256.

    Float addition of noise to 1/256 lands on multiples of 2^-61 only, while plain noise (record absent) often does
    not: a single pixel off that lattice certifies that the record is absent. On the integer grid both worlds have
    the same support.
    """
    rng = np.random.default_rng(0)
    sigma, pixels, trials = 0.0711, 784, 200

    def certifies_absence(row: np.ndarray) -> bool:
        scaled = np.ldexp(row, 61)
        return bool((scaled != np.round(scaled)).any())

    absent = [certifies_absence(0.0 + sigma * rng.normal(size=pixels)) for _ in range(trials)]
    present = [certifies_absence(1 / 256 + sigma * rng.normal(size=pixels)) for _ in range(trials)]
    assert np.mean(absent) > 0.99, "the attack on float noise finds the absent record nearly always"
    assert not any(present), "and is never wrong"

    source = NoiseSource()
    units_per_one = 2**14 * 3  # any public grid
    shift = units_per_one  # one record of ones, in grid units
    worlds = []
    for total in (0, shift):
        noisy = (total + rounded_gaussian(pixels * trials, source=source)) / units_per_one
        assert (np.round(noisy * units_per_one) / units_per_one == noisy).all()
        lattice = np.ldexp(noisy, 61)
        worlds.append(np.mean(lattice != np.round(lattice)))
    difference = abs(worlds[0] - worlds[1])
    assert difference < 5 * np.sqrt(0.5 / (pixels * trials)), "the lattice test tells the worlds no more apart"


def test_whatever_is_drawn_comes_from_the_stream_and_from_nowhere_else() -> None:
    """The same words give the same draws, and other words give others: no other generator has a say."""
    step = Step(name="s", blocks=(Hot(name="b", width=3),))
    draws = {
        "noise": lambda p: p.noise((40,)),
        "noisy": lambda p: p.noisy(np.zeros(40, dtype=np.int64), step="s", block="b"),
        "coins": lambda p: p.coins(step, key=p.key(), first=0, n_rows=40, n_coins=9, rate=0.3),
        "dice": lambda p: p.dice(step, key=p.key(), first=0, n_rows=40, sides=9),
        "subsets": lambda p: p.subsets(step, key=p.key(), n_subsets=9, size=5, population=40),
        "choose": lambda p: [p.choose([0, 1, 2], step="s", block="b", rate=1) for _ in range(40)],
        "respond": lambda p: p.respond(np.zeros((40, 1), int), step="s", block="b", categories=9, parts=2**20),
        "order": lambda p: p.order(40, step="s"),
    }
    for name, draw in draws.items():
        one, again, other = (np.asarray(draw(Primitives(NoiseSource(research_seed=seed)))) for seed in (5, 5, 6))
        assert np.array_equal(one, again), name
        assert not np.array_equal(one, other), name


@pytest.mark.slow
def test_threads_may_draw_from_one_stream_and_never_get_the_same_words() -> None:
    source = NoiseSource(research_seed=3)
    with ThreadPoolExecutor(4) as pool:
        drawn = list(pool.map(source.words, [200_001] * 24))
    together = np.concatenate(drawn)
    assert len(np.unique(together)) == len(together)
    assert set(NoiseSource(research_seed=3).words(200_001).tolist()) in [set(words.tolist()) for words in drawn]
