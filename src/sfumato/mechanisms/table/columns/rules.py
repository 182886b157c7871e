"""Columns that are a function of others by the schema: what follows from each combination, from noisy counts of both together.

The majority of released rows would not do: where two columns are not measured together, what is rare is outvoted by what
is usual, and vanishes.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.settings.budget import BudgetSettings
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.plan.block import Hot
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.following import Following


def rule_blocks(rules: Sequence[Following]) -> tuple[Hot, ...]:
    """A count of every combination of reasons with what follows: the more reasons, the more precise."""
    roots = [math.sqrt(one.shape[0]) for one in rules]
    return tuple(
        Hot(name=one.column.name, width=math.prod(one.shape), share=root / sum(roots))
        for one, root in zip(rules, roots, strict=True)
    )


def rule_share(rules: Sequence[Following], budget: BudgetSettings, *, rows: float) -> float:
    """As much as lets average combinations of reasons stand out of so many rows over the noise, within bounds."""
    fewest, most = budget.rule
    needs = sum((budget.rule_visible * one.shape[0] / rows) ** 2 for one in rules)
    return min(max(needs, fewest * len(rules)), most)


def likeliest_rule(counts: Measured, settings: ColumnSettings) -> Integers:
    """For each row of a table the likeliest column, if all rows of the data at that row have one column.

    Neighbouring rows (ages, ordered levels) often have the same. How often, the counts themselves show: of several chances
    the one is taken under which they are likeliest.

    >>> counts = np.array([[90.0, 3.0], [2.0, 1.0], [80.0, -4.0], [1.0, 95.0]])
    >>> likeliest_rule(Measured(counts, 5.0), ColumnSettings()).tolist()
    [0, 0, 0, 1]
    """
    # So much likelier a column makes the counts of its row than noise alone would, with as many rows as are counted there.
    fit = np.maximum(counts.values, 0.0) ** 2 / (2 * counts.stddev**2)
    return max((_path(fit, same) for same in settings.rule_neighbours), key=lambda path: path[1])[0]


def _path(fit: Floats, same: float) -> tuple[Integers, float]:
    """The likeliest path where neighbours are the same with this chance, beyond chance itself; and how likely all paths are."""
    n = fit.shape[1]
    stays, moves = np.log(same + (1 - same) / n), np.log((1 - same) / n)
    best, every, came_from = fit[0].copy(), fit[0].copy(), []
    for row in fit[1:]:
        top = int(np.argmax(best))
        came_from.append(np.where(best + stays >= best[top] + moves, np.arange(n), top))
        best = np.maximum(best + stays, best[top] + moves) + row
        # Of all paths to a column: those that moved from anywhere, and those that were kept there.
        every = np.logaddexp(every + np.log(max(same, 1e-300)), logsumexp(every) + moves) + row
    path = [int(np.argmax(best))]
    for step in reversed(came_from):
        path.append(int(step[path[-1]]))
    return np.array(path[::-1]), float(logsumexp(every))
