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
    draw_kinds,
    fitted_to_counts,
    kind_counts,
    unfitted,
)
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
