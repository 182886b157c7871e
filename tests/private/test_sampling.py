"""Coins, subsets and bins: right in distribution, independent, and exact at the edges."""

import math
from itertools import combinations, pairwise

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from sfumato.private.kernel import sampling
from sfumato.private.kernel.mixing import add_members
from sfumato.private.kernel.randomness import NoiseSource
from sfumato.private.kernel.sampling import heads, subsets, uniform_below

FALSE_ALARM = 1e-6


def seeded(seed: int) -> NoiseSource:
    return NoiseSource(research_seed=seed)


@pytest.mark.slow
@pytest.mark.parametrize("rate", [1e-6, 1e-3, 256 / 60000, 0.3, 0.5, 0.97])
def test_coins_come_up_heads_at_their_rate(rate: float) -> None:
    n_coins = int(200_000 / rate)
    found = heads(n_coins, rate=rate, source=seeded(1))
    assert stats.binomtest(len(found), n_coins, rate).pvalue > FALSE_ALARM
    assert (np.diff(found) > 0).all()
    assert found[0] >= 0
    assert found[-1] < n_coins


def test_gaps_between_heads_are_geometric() -> None:
    rate = 0.02
    found = heads(20_000_000, rate=rate, source=seeded(2))
    gaps = np.diff(found)
    observed = np.bincount(np.minimum(gaps, 300))[1:]
    expected = rate * (1 - rate) ** np.arange(300)
    expected[-1] = (1 - rate) ** 299
    assert stats.chisquare(observed, expected * observed.sum()).pvalue > FALSE_ALARM


def test_runs_longer_than_the_table_are_exact() -> None:
    """At a rate of 1e-6 most gaps are longer than the table: the memoryless continuation is what is drawn."""
    found = heads(300_000_000, rate=1e-6, source=seeded(3))
    scaled = np.diff(found) * 1e-6
    assert stats.kstest(scaled, "expon").pvalue > FALSE_ALARM


@pytest.mark.parametrize("rate", [1e-9, 1e-5, 256 / 60000, 0.1, 1 / 3, 0.97, 1 - 2**-53])
def test_thresholds_are_those_of_multiple_precision(rate: float) -> None:
    with mpmath.workprec(400):
        tail = 1 - mpmath.mpf(rate)
        exact = [int((1 - tail**k) * 2**128) for k in range(1, min(2**15 - 1, math.ceil(90 / rate)) + 1)]
    assert list(sampling._gap_table(rate).thresholds) == [min(one, 2**128 - 1) for one in exact]


def test_every_position_is_equally_likely() -> None:
    counts = np.zeros(50)
    source = seeded(4)
    for _ in range(4000):
        counts[heads(50, rate=0.1, source=source)] += 1
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.slow
@given(n_coins=st.integers(0, 200), rate=st.floats(1e-9, 1.0))
def test_heads_lie_among_the_coins(n_coins: int, rate: float) -> None:
    found = heads(n_coins, rate=rate, source=seeded(5))
    assert len(found) <= n_coins
    assert ((found >= 0) & (found < n_coins)).all()


def test_subsets_are_uniform() -> None:
    drawn = subsets(30_000, size=2, population=5, source=seeded(6))
    pairs = dict.fromkeys(combinations(range(5), 2), 0)
    for row in drawn:
        pairs[tuple(sorted(int(v) for v in row))] += 1
    assert stats.chisquare(list(pairs.values())).pvalue > FALSE_ALARM


@given(population=st.integers(1, 60), data=st.data())
def test_subsets_have_their_size_and_no_row_twice(population: int, data) -> None:
    size = data.draw(st.integers(1, population))
    for row in subsets(3, size=size, population=population, source=seeded(7)):
        assert len(set(row.tolist())) == size
        assert row.min() >= 0
        assert row.max() < population


def test_dice_are_fair() -> None:
    assert stats.chisquare(np.bincount(uniform_below(7, count=70_000, source=seeded(8)))).pvalue > FALSE_ALARM
    assert (uniform_below(1, count=10, source=seeded(8)) == 0).all()


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 300))
def test_mixing_is_an_exact_sum(n_rows: int, n_mixtures: int, n_members: int) -> None:
    rng = np.random.default_rng(n_members)
    integers = rng.integers(-(2**28), 2**28, size=(n_rows, 4), dtype=np.int32)
    rows, mixtures = rng.integers(n_rows, size=n_members), rng.integers(n_mixtures, size=n_members)
    sums = np.ones((n_mixtures, 4), dtype=np.int64)
    expected = sums.copy()
    np.add.at(expected, mixtures, integers[rows].astype(np.int64))
    add_members(sums, integers=integers, rows=rows, mixtures=mixtures, row_norm=2.0**29)
    assert (sums == expected).all()


class TestPlaces:
    """A coin belongs to a row's place, whoever asks for it and however often."""

    @given(cuts=st.lists(st.integers(0, 3000), max_size=5), rate=st.sampled_from([0.001, 0.2, 1.0]))
    @settings(max_examples=25, deadline=None)
    def test_coins_and_dice_do_not_depend_on_how_rows_are_cut(self, cuts, rate) -> None:
        key, ends = b"k" * 32, [0, *sorted(cuts), 3000]
        stretches = [(a, b - a) for a, b in pairwise(ends)]
        whole = sampling.coins(key, first=0, n_rows=3000, n_coins=3, rate=rate)
        parts = [sampling.coins(key, first=a, n_rows=n, n_coins=3, rate=rate) + 3 * a for a, n in stretches]
        assert np.concatenate(parts).tolist() == whole.tolist()
        dice = [sampling.dice(key, first=a, n_rows=n, sides=6) for a, n in stretches]
        assert np.concatenate(dice).tolist() == sampling.dice(key, first=0, n_rows=3000, sides=6).tolist()

    def test_other_keys_give_other_coins(self) -> None:
        one, two = (sampling.coins(key, first=0, n_rows=4000, n_coins=1, rate=0.5) for key in (b"a" * 32, b"b" * 32))
        assert abs(len(np.intersect1d(one, two)) / 4000 - 0.25) < 0.05

    def test_stretches_of_rows_have_streams_of_their_own(self) -> None:
        """The twin: one stream for every stretch, so that row 5 and row 1029 have the same coins."""
        fallen = sampling.coins(b"a" * 32, first=0, n_rows=2 * 1024, n_coins=1, rate=0.5)
        one, two = fallen[fallen < 1024], fallen[fallen >= 1024] - 1024
        assert abs(len(np.intersect1d(one, two)) / 1024 - 0.25) < 0.1

    def test_coins_fall_at_their_rate(self) -> None:
        n = sum(len(sampling.coins(bytes([k]) * 32, first=7, n_rows=5000, n_coins=2, rate=0.1)) for k in range(20))
        assert abs(n - 20_000) < 5 * np.sqrt(200_000 * 0.09)
