"""Sorts of events: what was counted of real persons is what synthetic ones give, and nothing else tells what is wanted."""

from dataclasses import replace

import numpy as np
import pytest
from small_histories import SETTINGS

from schemas import HOSPITAL
from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.histories.draw import completed
from sfumato.mechanisms.histories.facts import EventFacts
from sfumato.mechanisms.histories.kinds import (
    Wanted,
    context_sizes,
    differing,
    draw_kinds,
    fitted_to_counts,
    kind_counts,
    unfitted,
)
from sfumato.mechanisms.histories.moments import exchanged, with_time
from sfumato.mechanisms.histories.shrinking import distributions, shrunk
from sfumato.public.plan.doors import Measured
from sfumato.public.schema.column import Column

N, MOST = 4000, 12
FACTS = EventFacts(replace(HOSPITAL.tables[0], max_rows=MOST), replace(SETTINGS, clip=2.0))


def chain(rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Sorts that mostly stay, and go on from the one before the last; persons with many events have others."""
    number = rng.integers(2, MOST + 1, N)
    kinds = np.zeros((N, MOST), dtype=np.int64)
    kinds[:, 0] = rng.random(N) < number / MOST
    for at in range(1, MOST):
        stays = 0.6 + 0.3 * (kinds[:, at - 1] == kinds[:, at - 2]) * (at > 1)
        other = (rng.random(N) < number / MOST).astype(np.int64)
        kinds[:, at] = np.where(rng.random(N) < stays, kinds[:, at - 1], other)
    return kinds, number


def clipped(kinds: Integers, number: Integers) -> Floats:
    rows = kind_counts(FACTS, kinds, number, np.zeros((N, MOST - 1), dtype=bool))
    norm = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.asarray((rows * np.minimum(1.0, FACTS.settings.clip / norm)).sum(axis=0))


def test_synthetic_persons_give_the_counts_of_real_ones() -> None:
    """Although the sorts that persons are to have are those of nobody: noise in them must not show in what follows what."""
    rng = np.random.default_rng(0)
    kinds, number = chain(rng)
    real = clipped(kinds, number)
    measured = unfitted(FACTS, Measured(real, 1e-6))
    of_each = np.zeros((N, FACTS.n_kinds))
    of_each[:, 1] = rng.binomial(number, rng.random(N))
    of_each[:, 0] = number - of_each[:, 1]
    no_end = np.full(N, FACTS.n_kinds)
    wanted = Wanted(number, of_each, kinds[:, 0], no_end, np.zeros((N, MOST - 1), dtype=bool))

    def off(of: object) -> float:
        made = clipped(draw_kinds(FACTS, of, wanted, rng), number)  # type: ignore[arg-type]
        return float(np.abs(made - real).sum() / real.sum() / 2)

    before, after = off(measured), off(fitted_to_counts(FACTS, measured, wanted, rng))
    assert after < 0.02 < 0.06 < before, (before, after)


def test_with_many_sorts_less_is_asked() -> None:
    def tables(n_sorts: int) -> int:
        sort = Column(name="test", kind="categorical", categories=tuple(map(str, range(n_sorts))))
        columns = tuple(sort if column.name == "test" else column for column in FACTS.table.columns)
        sizes = context_sizes(EventFacts(replace(FACTS.table, columns=columns, last=()), SETTINGS))
        assert sum(sizes) * n_sorts <= SETTINGS.most_pairs
        return len(sizes)

    assert [tables(n) for n in (1, 2, 8, 20, 40, 60)] == [0, 2, 2, 1, 1, 0]


@pytest.mark.parametrize("n_known", [0, 500])
def test_means_that_are_not_known_have_the_spread_of_the_others(n_known: int) -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(size=(2000, 2))
    means[n_known:, 1] = np.nan
    filled = completed(means, rng)
    assert 0.9 < filled[n_known:, 1].std() < 1.1
    assert (filled[:, 0] == means[:, 0]).all()
    assert abs(np.corrcoef(filled.T)[0, 1]) < 0.1


def test_means_that_are_not_known_go_with_those_that_are() -> None:
    """A person's values go together, and do so where the table of persons gave it no event of a sort; few who show it show nothing."""
    rng = np.random.default_rng(2)
    person = rng.normal(size=4000)
    whole = person[:, None] + 0.3 * rng.normal(size=(4000, 2))

    def together(n_known: int) -> float:
        means = whole.copy()
        means[n_known:, 1] = np.nan
        return float(np.corrcoef(completed(means, rng)[n_known:].T)[0, 1])

    assert together(2000) > 0.7
    assert abs(together(20)) < 0.4


def test_a_person_with_events_and_no_moments_has_those_of_another() -> None:
    rng = np.random.default_rng(3)
    number = np.array([0, 1, 1, 3, 3, 40, 40])
    known = np.array([[5.0, 5, 9], [1, 2, np.nan], [np.nan] * 3, [3, 4, 5], [3, 7, np.nan], [6, 7, 8], [np.nan] * 3])
    found = with_time(known, number, rng, centre=50.0)
    assert found[[2, 4, 6]].tolist() == [[1, 2, 0], [3, 4, 5], [6, 7, 8]]
    assert found[[1, 3, 5], :2].tolist() == known[[1, 3, 5], :2].tolist()
    alone = with_time(np.full((2, 3), np.nan), np.array([2, 0]), rng, centre=50.0)
    assert alone.tolist() == [[50, 50, 0]] * 2  # of whom nothing is known, and nobody else is there


def test_rows_that_differ_by_noise_alone_are_alike() -> None:
    rng = np.random.default_rng(4)
    rows, stddev = np.full((40, 4), 1000.0), 30.0
    noisy, together = rows + stddev * rng.normal(size=rows.shape), np.zeros(40, dtype=np.int64)

    def off(table: Floats, together: Integers | None) -> float:
        found = shrunk(noisy + table - rows, distributions(rows), stddev=stddev, together=together)
        return float(np.abs(found - distributions(table)).mean())

    assert off(rows, together) < off(rows, None) / 2
    differing = rows + 300 * np.sign(rng.normal(size=rows.shape))
    assert off(differing, together) < 1.1 * off(differing, None)


def test_a_person_seldom_has_a_sort_of_which_it_is_to_have_none() -> None:
    rng = np.random.default_rng(5)
    numbers, nothing = np.full(N, 2), np.full(N, FACTS.n_kinds)
    of_each = np.zeros((N, FACTS.n_kinds))
    of_each[:, 0] = numbers
    wanted = Wanted(numbers, of_each, nothing, nothing, np.zeros((N, MOST - 1), dtype=bool))
    kinds = replace(unfitted(FACTS, None), usual=np.array([0.8, 0.2, 0.0])[: FACTS.n_kinds])
    once = replace(FACTS, settings=replace(FACTS.settings, kind_candidates=1))
    other = {
        own: float((draw_kinds(once, replace(kinds, own=own), wanted, rng)[:, :2] == 1).any(axis=1).mean())
        for own in (0.0, 1.0)
    }
    assert 0.01 < other[1.0] < 0.06
    assert 0.3 < other[0.0] < 0.4  # where persons do not differ, nearly what chance gives of two


def own_sorts(share: float, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Of some persons all events are mostly of one sort, of the others each by chance."""
    number, taste = np.full(N, MOST), rng.random(N)
    chance = np.where(rng.random(N) < share, 0.15 + 0.7 * (taste < 0.5), 0.5)
    return (rng.random((N, MOST)) < chance[:, None]).astype(np.int64), number


def test_it_is_seen_whether_persons_differ_in_their_sorts() -> None:
    rng = np.random.default_rng(0)
    alike, own = (differing(FACTS, Measured(clipped(*own_sorts(share, rng)), 1e-6)) for share in (0.0, 1.0))
    assert alike == 0
    assert own == 1
    stays = (rng.random((N, MOST)) < 0.2).cumsum(axis=1) % 2  # a chain that stays is nobody's own
    assert differing(FACTS, Measured(clipped(stays, np.full(N, MOST)), 1e-6)) == 0


def test_whose_sorts_are_its_own_mostly_has_those_that_it_is_to_have() -> None:
    rng = np.random.default_rng(0)
    kinds, number = own_sorts(1.0, rng)
    of_each = np.stack([(kinds == sort).sum(axis=1) for sort in range(FACTS.n_kinds)], axis=1).astype(np.float64)
    nowhere = np.full(N, FACTS.n_kinds)
    wanted = Wanted(number, of_each, nowhere, nowhere, np.zeros((N, MOST - 1), dtype=bool))
    wrong = {}
    for own in (0.0, 1.0):
        drawn = draw_kinds(FACTS, replace(unfitted(FACTS, None), own=own), wanted, rng)
        has = np.stack([(drawn == sort).any(axis=1) for sort in range(FACTS.n_kinds)], axis=1)
        wrong[own] = (has != (of_each > 0)).mean()
    assert wrong[1.0] < wrong[0.0] / 5


def test_gaps_that_are_exchanged_are_the_same_and_fit_better() -> None:
    rng = np.random.default_rng(0)
    number, classes = rng.integers(1, 10, 2000), rng.integers(0, 3, 2000)
    there = np.arange(12) < number[:, None]
    gaps = np.where(there, rng.exponential(30.0, (2000, 12)), 0.0)
    span = np.where(there, rng.exponential(30.0, (2000, 12)), 0.0).sum(axis=1)
    fitting = exchanged(gaps, span, classes, number, 1.0, rng, rounds=100)
    assert not fitting[~there].any()
    for one in range(3):  # nothing leaves its class, and nobody has more than before
        mine = classes == one
        assert np.sort(fitting[mine][there[mine]]) == pytest.approx(np.sort(gaps[mine][there[mine]]))
    before, after = (np.abs(np.log((some.sum(axis=1) + 1) / (span + 1))).mean() for some in (gaps, fitting))
    assert after < before / 3
