"""The model of least squares: of all Markov random fields over the measured tables, the one that agrees best with them.

Mirror descent on the potentials (McKenna, Sheldon and Miklau, "Graphical-model based estimation and inference for differential
privacy", 2019): each potential moves against the difference between the model's table and the noisy one, by the precision of
the latter. Steps grow while they help, and are taken back where they do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.mechanisms.common.allowed_cells import cells_within
from sfumato.mechanisms.common.arrays import Floats
from sfumato.mechanisms.marginals.binned import Binned, Columns
from sfumato.mechanisms.marginals.markov import Elimination, MarkovModel, Table
from sfumato.model import CountedRows, Synthetic, check_row_count
from sfumato.public.expressions.domains import Domain

_FEWEST = 1e-3  # of a row: no bin starts at nothing
_SETTLED = 1e-4  # of the loss: a step that gains less is the last
_LARGEST_MOVE = 1.0  # of a potential, at the first step


@dataclass(frozen=True)
class NoisyTable:
    """Noisy counts of a table, and the standard deviation of the noise in each."""

    columns: Columns
    counts: Floats
    stddev: float


@dataclass(frozen=True)
class Total:
    """How many rows there seem to be, never fewer than one, and the noise in their number."""

    rows: float
    stddev: float


def total_of(tables: Sequence[NoisyTable]) -> Total:
    """From what every table adds up to, by its precision."""
    precision = np.array([1 / (table.counts.size * table.stddev**2) for table in tables])
    rows = float(precision @ [table.counts.sum() for table in tables]) / float(precision.sum())
    return Total(max(rows, 1.0), float(precision.sum()) ** -0.5)


def fitted(
    sizes: Sequence[int],
    tables: Sequence[NoisyTable],
    *,
    total: float,
    steps: int,
    start: Mapping[Columns, Table] | None = None,
) -> tuple[MarkovModel, dict[Columns, Table]]:
    """The model and its potentials, after at most so many steps from those of an earlier fit of some of the tables.

    Several tables of the same columns are all taken into account.
    """
    order = Elimination.of(sizes, [table.columns for table in tables])
    potentials = {table.columns: _first(table) for table in tables} | dict(start or {})
    model = MarkovModel.of(order, potentials)
    loss, slopes = _loss(model, tables, total=total)
    largest = max(float(np.abs(slope).max()) for slope in slopes.values())
    step = _LARGEST_MOVE / max(largest, 1e-300)
    for _ in range(steps):
        tried = {columns: potential - step * slopes[columns] for columns, potential in potentials.items()}
        model_tried = MarkovModel.of(order, tried)
        loss_tried, slopes_tried = _loss(model_tried, tables, total=total)
        gained = loss - loss_tried
        if gained > 0:
            potentials, model, loss, slopes = tried, model_tried, loss_tried, slopes_tried
            step *= 1.25
            if gained < _SETTLED * loss:
                break
        else:
            step *= 0.5
    return model, potentials


def _first(table: NoisyTable) -> Table:
    """A column starts as it was measured, every larger table as if its columns were independent."""
    if len(table.columns) > 1:
        return np.zeros_like(table.counts)
    return np.asarray(np.log(np.maximum(table.counts, _FEWEST)))


def _loss(model: MarkovModel, tables: Sequence[NoisyTable], *, total: float) -> tuple[float, dict[Columns, Table]]:
    """Half the sum of squares in units of the noise, and its slope in the probabilities of every table."""
    margins = model.margins({table.columns for table in tables})
    slopes = {columns: np.zeros_like(margin) for columns, margin in margins.items()}
    loss = 0.0
    for table in tables:
        residual = total * margins[table.columns] - table.counts
        loss += 0.5 * float((residual**2).sum()) / table.stddev**2
        slopes[table.columns] += (total / table.stddev**2) * residual
    return loss, slopes


@dataclass(frozen=True)
class BinnedModel(CountedRows):
    """A model of bins, what the bins stand for, and the noisy number of private rows."""

    binned: Binned
    rows_of_bins: MarkovModel
    noisy_rows: float
    noisy_rows_stddev: float

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """Draw rows of bins, then a value in each bin."""
        check_row_count(n_rows)
        rng = np.random.default_rng(seed)
        batch = self.binned.values(self.rows_of_bins.draw(n_rows, rng), rng)
        return Synthetic(table=self.binned.schema.decode(batch))

    def narrowed(self, domains: Mapping[str, Domain], *, is_exact: bool) -> tuple["BinnedModel", float]:
        """The model of the rows whose bins some domains allow, and the share of all rows that they are."""
        allowed = {}
        for at, (cells, part) in enumerate(zip(self.binned.cells, self.binned.parts, strict=True)):
            if cells.column.name in domains:
                inside = cells_within(cells, domains[cells.column.name])
                allowed[at] = np.bincount(part, weights=inside, minlength=self.binned.sizes[at]) > 0
        model, share = self.rows_of_bins.within(allowed)
        return replace(self, rows_of_bins=model), share
