"""Columns that are a function of others by the schema: what follows from each combination, from noisy counts of both together.

The majority of released rows would not do: where two columns are not measured together, what is rare is outvoted by what
is usual, and vanishes. Where the schema gives the function, its reasons are counted alone: both columns' shares follow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.table.settings.budget import BudgetSettings
from sfumato.mechanisms.table.settings.columns import ColumnSettings
from sfumato.public.plan.block import Hot
from sfumato.public.plan.measured import Measured
from sfumato.public.schema.column import Column
from sfumato.public.schema.following import Following, places_of


@dataclass(frozen=True)
class CountedRule:
    """What follows from each combination of reasons, and the rows that have that combination, with the variance of noise in each.

    `table` is what both come from: noisy counts of every combination with everything that could follow, of which one does; of
    a given function, of the combinations alone.
    """

    of: Following
    table: Measured
    follows: Integers
    sure: Floats
    believed: float  # of what follows so surely the one count is taken

    @classmethod
    def read(cls, of: Following, table: Measured, settings: ColumnSettings) -> "CountedRule":
        """By the schema, or by the counts."""
        if of.is_given:
            return cls(of, table, of.given(), np.ones(of.shape[0]), settings.rule_sure)
        # So much likelier a column makes the counts of its row than noise alone would, with as many rows as are counted there.
        fit = np.maximum(table.values, 0.0) ** 2 / (2 * table.stddev**2)
        return cls(of, table, *likeliest_rule(fit, settings), settings.rule_sure)

    def with_rows(self, rows: Floats, settings: ColumnSettings) -> "CountedRule":
        """The same where it is known about how many rows each combination has: the counts then say more of what follows."""
        if self.of.is_given:
            return self
        rows = np.maximum(rows, settings.rule_fewest * self.table.stddev)
        fit = rows[:, None] * self.table.values / self.table.stddev**2
        often = np.bincount(self.follows, weights=self.sure, minlength=self.of.shape[1]) + 1.0
        place = self._places(rows) if _is_line(self.of) else None
        follows, sure = likeliest_rule(fit, settings, often=often / often.sum(), place=place)
        return replace(self, follows=follows, sure=sure)

    def obeys(self, rows: Floats) -> float:
        """The part of rows in which what follows is what does in the private ones, as far as noisy counts can tell."""
        kept = np.maximum(rows, 0.0)
        return float(kept @ self.sure / kept.sum()) if kept.sum() > 0 else 1.0

    def surely(self, rows: Floats, settings: ColumnSettings) -> Floats:
        """The rows of each combination where those of which it is least sure what follows leave some of theirs to others.

        A few rows of a rare reason more or less are within the noise; one with what does not go with it is seen. As they are where
        nothing has to be done, or too much.
        """
        total, wrong = float(rows.sum()), 1 - self.sure
        excess = float(rows @ wrong) - (1 - settings.rule_obeys) * total
        order = np.argsort(-wrong, kind="stable")
        may_go = (1 - settings.rule_left) * rows[order]
        # Who takes its place is wrong too at times: about as often as rows of which it is surer.
        gain = np.cumsum(may_go * (wrong[order] - (1 - settings.rule_obeys)))
        enough = np.flatnonzero(gain >= excess)
        if excess <= 0 or not len(enough) or float(may_go[: enough[0] + 1].sum()) > settings.rule_taken * total:
            return rows
        out = rows.copy()
        out[order[: enough[0] + 1]] *= settings.rule_left
        return np.asarray(out * (total / out.sum()))

    def _places(self, rows: Floats) -> Floats:
        """Where along the line each column lies: what nothing leads to, at its end."""
        weights, size = rows * self.sure, self.of.shape[1]
        sums = np.bincount(self.follows, weights=weights * np.arange(len(rows)), minlength=size)
        in_all = np.bincount(self.follows, weights=weights, minlength=size)
        return np.asarray(np.divide(sums, in_all, out=np.full(size, float(len(rows))), where=in_all > 0))

    @cached_property
    def _n_counts(self) -> Integers:
        """The one that follows is a guess where it is not sure, and the largest of several noisy counts: then all are added up."""
        is_sure = self.sure > self.believed
        return np.where(is_sure, 1, self.table.values.shape[1])

    @cached_property
    def rows(self) -> Floats:
        """Noisy rows of every combination."""
        values = self.table.values
        alone = values[:, 0] if self.of.is_given else values[np.arange(len(values)), self.follows]
        return np.asarray(np.where(self._n_counts == 1, alone, values.sum(axis=1)))

    @cached_property
    def variances(self) -> Floats:
        """The variance of the noise in each."""
        return np.asarray(self._n_counts * self.table.stddev**2)

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
    """As much as lets average combinations of reasons stand out, or their shares be as near as they should be."""
    fewest, most = budget.rule
    visible, of_shares = (budget.rule_visible * rule.shape[0] / rows) ** 2, _for_shares(rule, budget, rows=rows)
    return of_shares if rule.is_given else min(max(visible, of_shares, fewest), most)


def _for_shares(rule: Following, budget: BudgetSettings, *, rows: float) -> float:
    """So much that noise alone moves no more of the rows than it should: each count by its mean deviation, every second too many."""
    moved = rule.shape[0] / math.sqrt(2 * math.pi) / rows
    return min((moved / budget.rule_moved) ** 2, budget.rule_of_shares)


def _is_line(rule: Following) -> bool:
    return len(rule.reasons) == 1 and (rule.reasons[0].is_number or rule.reasons[0].kind == "ordinal")


def likeliest_rule(
    fit: Floats, settings: ColumnSettings, often: Floats | None = None, place: Floats | None = None
) -> tuple[Integers, Floats]:
    """For each row of a table the likeliest column, if all rows of the data at that row have one column; and how likely it is.

    `fit` says how well each column goes with the counts (logarithms), `often` of how many rows each is the one. Neighbouring
    rows (ages, ordered levels) often have the same, and where columns have a `place` along the line, one may follow the
    other, as bands do. How often, the counts themselves show: several chances are weighed by how likely they make them.

    >>> fit = np.array([[9.0, 0.0], [0.4, 0.0], [8.0, 0.0], [0.0, 9.0]])
    >>> rule, sure = likeliest_rule(fit, ColumnSettings())
    >>> rule.tolist(), (sure > 0.9).tolist()
    ([0, 0, 0, 1], [True, False, True, True])
    """
    columns = np.full(fit.shape[1], 1 / fit.shape[1]) if often is None else often
    chains = [Chain(same, columns) for same in settings.rule_neighbours]
    if place is not None and fit.shape[1] <= settings.rule_bands:
        onwards = np.where(place > place[:, None], columns, columns * settings.rule_backwards)
        onwards /= onwards.sum(axis=1, keepdims=True)
        chains += [Chain(same, columns, onwards) for same in settings.rule_neighbours if same]
    every = [chain.chances(fit) for chain in chains]
    likely = np.exp(np.array([of_all for _, of_all in every]) - max(of_all for _, of_all in every))
    chance = np.average([chances for chances, _ in every], axis=0, weights=likely)
    follows = chance.argmax(axis=1)
    return follows, np.asarray(chance[np.arange(len(follows)), follows])


@dataclass(frozen=True)
class Chain:
    """Neighbours are the same with a chance, beyond chance itself; else any column by its share, or one of those that it leads to."""

    same: float
    often: Floats
    onwards: Floats | None = None

    def chances(self, fit: Floats) -> tuple[Floats, float]:
        """The chance of every entry, and how likely the counts are (its logarithm)."""
        most = fit.max(axis=1, keepdims=True)
        odds = np.exp(fit - most)
        before, after = np.empty_like(odds), np.empty_like(odds)
        so_far, of_all = self.often, 0.0
        for row, odd in enumerate(odds):
            so_far = (so_far if row == 0 else self._on(so_far)) * odd
            of_all += math.log(so_far.sum())
            before[row] = so_far = so_far / so_far.sum()
        rest = np.ones(fit.shape[1])
        for row in range(len(odds) - 1, -1, -1):
            after[row] = rest
            rest = self._back(rest * odds[row])
            rest = rest / rest.sum()
        chance = before * after
        return np.asarray(chance / chance.sum(axis=1, keepdims=True)), of_all + float(most.sum())

    def _on(self, here: Floats) -> Floats:
        moved = here.sum() * self.often if self.onwards is None else here @ self.onwards
        return np.asarray(self.same * here + (1 - self.same) * moved)

    def _back(self, there: Floats) -> Floats:
        moved = self.often @ there if self.onwards is None else self.onwards @ there
        return np.asarray(self.same * there + (1 - self.same) * moved)
