"""Columns that are a function of others by the schema: what follows from each combination, from noisy counts of both together.

The majority of released rows would not do: where two columns are not measured together, what is rare is outvoted by what
is usual, and vanishes. Where the schema gives the function, its reasons are counted alone: both columns' shares follow.
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

        Where that one is not sure it is a guess, and the largest of several noisy counts: then all of them are added up.
        """
        follows, sure = likeliest_rule(counts, settings)
        alone = counts.values[np.arange(len(follows)), follows]
        n_counts = np.where(sure > settings.rule_sure, 1, counts.values.shape[1])
        return cls(of, follows, np.where(n_counts == 1, alone, counts.values.sum(axis=1)), n_counts * counts.stddev**2)

    @classmethod
    def given(cls, of: Following, counts: Measured) -> "CountedRule":
        """By the schema, and noisy rows of every combination."""
        return cls(of, of.given(), counts.values[:, 0], np.full(of.shape[0], counts.stddev**2))

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


def counted_shape(rule: Following) -> tuple[int, int]:
    """What is counted: combinations of reasons with what follows, or those alone where the schema says what follows."""
    return (rule.shape[0], 1) if rule.is_given else rule.shape


def worth_counting(rules: Sequence[Following], budget: BudgetSettings, *, rows: float) -> tuple[Following, ...]:
    """Those whose function is to be found, and those of so many given reasons that their shares need a count of their own."""
    return tuple(one for one in rules if not one.is_given or _for_shares(one, budget, rows=rows) >= budget.least_share)


def rule_blocks(rules: Sequence[Following], budget: BudgetSettings, *, rows: float) -> tuple[Hot, ...]:
    """A count of every combination of reasons with what follows: the more it needs, the more precise."""
    needs = [_need(one, budget, rows=rows) for one in rules]
    return tuple(
        Hot(name=one.column.name, width=math.prod(counted_shape(one)), share=need / sum(needs))
        for one, need in zip(rules, needs, strict=True)
    )


def rule_share(rules: Sequence[Following], budget: BudgetSettings, *, rows: float) -> float:
    """What all rules need of so many rows over the noise, within bounds of each rule.

    Several together are held to less than the sum of what each may have: the root of their number times as much.
    """
    needs = [_need(one, budget, rows=rows) for one in rules]
    return min(sum(needs), budget.rule[1] * math.sqrt(len(rules)))


def _need(rule: Following, budget: BudgetSettings, *, rows: float) -> float:
    """As much as lets average combinations of reasons stand out, or their shares be as near as they should be.

    Along a line neighbours tell what follows, so that single values need not stand out as far.
    """
    visible = budget.rule_visible_on_line if _is_line(rule) else budget.rule_visible
    fewest, most = budget.rule
    of_shares = _for_shares(rule, budget, rows=rows)
    return of_shares if rule.is_given else min(max((visible * rule.shape[0] / rows) ** 2, of_shares, fewest), most)


def _for_shares(rule: Following, budget: BudgetSettings, *, rows: float) -> float:
    """So much that noise alone moves no more of the rows than it should: each count by its mean deviation, every second too many."""
    moved = rule.shape[0] / math.sqrt(2 * math.pi) / rows
    return min((moved / budget.rule_moved) ** 2, budget.rule_of_shares)


def _is_line(rule: Following) -> bool:
    return len(rule.reasons) == 1 and (rule.reasons[0].is_number or rule.reasons[0].kind == "ordinal")


def likeliest_rule(counts: Measured, settings: ColumnSettings) -> tuple[Integers, Floats]:
    """For each row of a table the likeliest column, if all rows of the data at that row have one column; and how likely it is.

    Neighbouring rows (ages, ordered levels) often have the same. How often, the counts themselves show: of several chances
    the one is taken under which they are likeliest.

    >>> counts = np.array([[90.0, 3.0], [2.0, 1.0], [80.0, -4.0], [1.0, 95.0]])
    >>> rule, sure = likeliest_rule(Measured(counts, 5.0), ColumnSettings())
    >>> rule.tolist(), sure.round(1).tolist()
    ([0, 0, 0, 1], [1.0, 0.5, 1.0, 1.0])
    """
    # So much likelier a column makes the counts of its row than noise alone would, with as many rows as are counted there.
    fit = np.maximum(counts.values, 0.0) ** 2 / (2 * counts.stddev**2)
    paths = [_path(fit, same) for same in settings.rule_neighbours]
    return max(paths, key=lambda path: path[2])[:2]


def _path(fit: Floats, same: float) -> tuple[Integers, Floats, float]:
    """The likeliest path where neighbours are the same with this chance, beyond chance itself; how likely each step is, and all."""
    n = fit.shape[1]
    stays, moves = np.log(same + (1 - same) / n), np.log((1 - same) / n)
    best, came_from = fit[0].copy(), []
    for row in fit[1:]:
        top = int(np.argmax(best))
        came_from.append(np.where(best + stays >= best[top] + moves, np.arange(n), top))
        best = np.maximum(best + stays, best[top] + moves) + row
    path = [int(np.argmax(best))]
    for step in reversed(came_from):
        path.append(int(step[path[-1]]))
    steps = np.array(path[::-1])
    before, after = _upto(fit, same), _upto(fit[::-1], same)[::-1]
    every = before + after - fit  # all paths through a column, each step once
    sure = np.exp(every[np.arange(len(steps)), steps] - logsumexp(every, axis=1))
    return steps, np.asarray(sure), float(logsumexp(before[-1]))


def _upto(fit: Floats, same: float) -> Floats:
    """How likely all paths are that end in each column: those that moved from anywhere, and those that were kept there."""
    kept, moves = np.log(max(same, 1e-300)), np.log((1 - same) / fit.shape[1])
    upto = [fit[0]]
    for row in fit[1:]:
        upto.append(np.logaddexp(upto[-1] + kept, logsumexp(upto[-1]) + moves) + row)
    return np.stack(upto)
