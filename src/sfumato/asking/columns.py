"""Every column at a glance: shares of categories, means and quartiles with their intervals, cheap enough for every report.

Only the first measurements are looked at, until columns are counted together (`Asker.brief`): what the later ones add to single columns is
little, and learning from them would take as long as the release. `ask` looks at all, so its intervals are a little narrower.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from sfumato.asking.answer import Estimate
from sfumato.asking.asking import Asker
from sfumato.asking.kinds import Kind, Quantile, Ratio, kind_of
from sfumato.asking.questions import Question, read_question, values_of
from sfumato.public.expressions.syntax import BACKTICK, quoted
from sfumato.public.schema.column import Column
from sfumato.public.schema.schema import Batch

Floats = NDArray[np.float64]
#: Of wider tables, and of longer columns of categories, `ask` answers one question at a time.
MOST_COLUMNS, MOST_CATEGORIES = 60, 64
_ONE_AT_A_TIME = "of which sfumato ask answers one question at a time"
MEAN = "mean"
_QUARTILES = {"a quarter is at most": 0.25, "half are at most": 0.5, "three quarters are at most": 0.75}
_Z = float(-ndtri(0.025))


@dataclass(frozen=True)
class ColumnEstimates:
    """What is said of one column with 95 % intervals, by name; or why nothing can be said."""

    estimates: dict[str, Estimate] = field(default_factory=dict)
    why: str = ""


def column_estimates(asker: Asker) -> dict[str, ColumnEstimates]:
    """Of every column that is no picture."""
    columns = [column for column in asker.schema.columns if column.is_number or column.is_coded]
    if len(columns) > MOST_COLUMNS:
        return {
            c.name: ColumnEstimates(why=f"there are more than {MOST_COLUMNS} columns, {_ONE_AT_A_TIME}")
            for c in columns
        }
    return {column.name: _estimated(asker, column) for column in columns}


def _estimated(asker: Asker, column: Column) -> ColumnEstimates:
    if column.is_coded and column.size > MOST_CATEGORIES:
        return ColumnEstimates(why=f"it has more than {MOST_CATEGORIES} categories, {_ONE_AT_A_TIME}")
    measured = asker.measurements
    if isinstance(measured, str):
        return ColumnEstimates(why=measured)
    asked = (_Categories if column.is_coded else _Numbers).of(column, asker)
    columns = measured.with_references((column.name,))
    lacking = asker.lacking(measured, asked.question, columns)
    everything, found = measured.totals(asked.functions(measured.rows.batch), columns), {}
    for name, kind, combination in asked.told():
        one = asker.found(kind, everything.combined(combination), lacking, z=_Z, of_population=True)
        if isinstance(one, str):
            return ColumnEstimates(why=one)
        found[name] = one
    return ColumnEstimates(found)


@dataclass(frozen=True)
class _Categories:
    """The share of each."""

    question: Question

    @classmethod
    def of(cls, column: Column, asker: Asker) -> "_Categories":
        return cls(read_question(f"count() by {quoted(column.name, BACKTICK)}", asker.schema))

    def functions(self, rows: Batch) -> Floats:
        inside = self.question.members(rows).astype(np.float64)
        return np.concatenate([inside, np.ones((len(inside), 1))], axis=1)

    def told(self) -> Iterator[tuple[str, Kind, Floats]]:
        names, kind = self.question.groups(), Ratio(self.question, least=0.0, most=1.0)
        own = np.eye(len(names) + 1)
        for at, (name,) in enumerate(names):
            yield name, kind, own[:, [at, -1]]


@dataclass(frozen=True)
class _Numbers:
    """The mean and the quartiles, all by one count of the rows up to some points."""

    question: Question
    points: Quantile

    @classmethod
    def of(cls, column: Column, asker: Asker) -> "_Numbers":
        question = read_question(f"median({quoted(column.name, BACKTICK)})", asker.schema)
        points = kind_of(question, asker.synthetic)
        if not isinstance(points, Quantile):
            raise TypeError("a median is a quantile.")
        return cls(question, points)

    def functions(self, rows: Batch) -> Floats:
        (argument,) = self.question.arguments
        amount = values_of(argument, rows)
        below = amount[:, None] <= self.points.points
        known = np.ones_like(amount)
        return np.where(np.isnan(amount)[:, None], 0.0, np.column_stack([below, amount, known]))

    def told(self) -> Iterator[tuple[str, Kind, Floats]]:
        own = np.eye(len(self.points.points) + 2)
        yield MEAN, Ratio(self.question), own[:, -2:]
        for name, level in _QUARTILES.items():
            yield name, self.points, np.concatenate([own[:, :-2] - level * own[:, -1:], own[:, -1:]], axis=1)
