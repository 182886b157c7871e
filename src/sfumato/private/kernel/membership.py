"""Who takes part where: the sampling of a step carried out, row by row. Each row's part follows from its own draws."""

from collections.abc import Callable
from functools import partial

import numpy as np

from sfumato.errors import PlanError
from sfumato.private.kernel.arrays import Integers, Small
from sfumato.private.kernel.primitives import RowPrimitives
from sfumato.public.plan.step import EachRow, Everyone, KnownPartition, Poisson, SecretBins, Step, WithoutReplacement

#: For the rows [first, first + n_rows) of the data: who of them (counted from first) takes part, and in which mixture.
Members = Callable[[int, int], tuple[Integers, Integers]]


def taking_part(step: Step, primitives: RowPrimitives, *, key: bytes, first: int, n_rows: int) -> Integers:
    """Which of the next rows take part in this use of a step that plans one sum."""
    if isinstance(step.sampling, Poisson):
        return primitives.coins(step, key=key, first=first, n_rows=n_rows, n_coins=1, rate=step.sampling.rate)
    return np.arange(n_rows)


def members_of(step: Step, primitives: RowPrimitives, *, key: bytes) -> Members:
    """Who takes part in which mixture of a use of a step, whose key this is."""
    n_mixtures = step.mixtures
    match step.sampling:
        case Poisson(rate) if step.is_mixed:
            coins = partial(primitives.coins, step, key=key, n_coins=n_mixtures, rate=rate)
            return lambda first, n_rows: np.divmod(coins(first=first, n_rows=n_rows), n_mixtures)
        case SecretBins():
            dice = partial(primitives.dice, step, key=key, sides=n_mixtures)
            return lambda first, n_rows: (np.arange(n_rows), dice(first=first, n_rows=n_rows))
        case KnownPartition():
            return lambda first, n_rows: (np.arange(n_rows), (first + np.arange(n_rows)) % n_mixtures)
        case WithoutReplacement(degree, population):
            return _by_subset(
                primitives.subsets(step, key=key, n_subsets=n_mixtures, size=degree, population=population)
            )
        case Everyone() | Poisson() | EachRow():
            raise PlanError(f"step {step.name!r} plans no mixtures. Use the door {step.door}.")


def _by_subset(chosen: Small) -> Members:
    order = np.argsort(chosen, axis=None, kind="stable")
    rows, mixtures = chosen.ravel()[order].astype(np.int64), order // chosen.shape[1]

    def of_rows(first: int, n_rows: int) -> tuple[Integers, Integers]:
        here = slice(*np.searchsorted(rows, [first, first + n_rows]))
        return rows[here] - first, mixtures[here]

    return of_rows
