"""Columns that are a function of others by the schema: what follows from each combination, from noisy counts of both together.

The majority of released rows would not do: where two columns are not measured together, what is rare is outvoted by what
is usual, and vanishes.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.settings.budget import BudgetSettings
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.plan.block import Hot
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.column import Column
from sfumato.public.schema.following import Following, places_of


@dataclass(frozen=True)
class CountedRule:
    """What follows from each combination of reasons, and the rows that have that combination, with the variance of noise in each."""

    of: Following
    follows: Integers
    rows: Floats
    variances: Floats

    @classmethod
    def read(cls, of: Following, counts: Measured, settings: ColumnSettings) -> "CountedRule":
        """From noisy counts of every combination with everything that could follow, of which one does.

        Where that one does not stand out it is a guess, and the largest of several noisy counts: then all of them are added up.
        """
        follows = likeliest_rule(counts, settings)
        alone = counts.values[np.arange(len(follows)), follows]
        is_seen = alone > settings.part_seen * counts.stddev
        n_counts = np.where(is_seen, 1, counts.values.shape[1])
        return cls(of, follows, np.where(is_seen, alone, counts.values.sum(axis=1)), n_counts * counts.stddev**2)

    def reason_rows(self, reason: int) -> "ValueRows":
        """Rows of every value of one reason, all values of the other reasons together."""
        shape = tuple(map(places_of, self.of.reasons))
        others = tuple(j for j in range(len(shape)) if j != reason)
        return ValueRows(
            self.of.reasons[reason],
            np.asarray(self.rows.reshape(shape).sum(axis=others)),
            np.asarray(self.variances.reshape(shape).sum(axis=others)),
        )

    def consequence_rows(self) -> "ValueRows":
        """Rows of everything that may follow: of what nothing leads to, none, with the noise of one count."""
        rows = np.zeros(self.of.shape[1])
        variances = np.zeros_like(rows)
        np.add.at(rows, self.follows, self.rows)
        np.add.at(variances, self.follows, self.variances)
        return ValueRows(self.of.column, rows, np.maximum(variances, self.variances.min()))


@dataclass(frozen=True)
class ValueRows:
    """Noisy rows of every value of a column, by its place, and the variance of the noise in each."""

    column: Column
    rows: Floats
    variances: Floats


def rule_blocks(rules: Sequence[Following]) -> tuple[Hot, ...]:
    """A count of every combination of reasons with what follows: the more reasons, the more precise."""
    roots = [math.sqrt(one.shape[0]) for one in rules]
    return tuple(
        Hot(name=one.column.name, width=math.prod(one.shape), share=root / sum(roots))
        for one, root in zip(rules, roots, strict=True)
    )


def rule_share(rules: Sequence[Following], budget: BudgetSettings, *, rows: float) -> float:
    """As much as lets average combinations of reasons stand out of so many rows over the noise, within bounds of each rule.

    Several together are held to less than the sum of what each may have: the root of their number times as much.
    """
    fewest, most = budget.rule
    needs = [min(max((budget.rule_visible * one.shape[0] / rows) ** 2, fewest), most) for one in rules]
    return min(sum(needs), most * math.sqrt(len(rules)))


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
