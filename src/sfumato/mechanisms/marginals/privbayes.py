"""PrivBayes: a network in which every column hangs on one or two that were placed before it, chosen privately.

Zhang, Cormode, Procopiuc, Srivastava and Xiao, "PrivBayes: private data release via Bayesian networks" (2017), with the score R:
how far a column and its parents are from independent, in rows. Here what independent would be is taken from noisy answers, so
that a row moves a score by one, and each table is measured as soon as it is chosen. Proof: docs/proofs/marginals.md.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.marginals import measuring
from sfumato.mechanisms.marginals.binned import Binned, Columns, check_table, codes_in
from sfumato.mechanisms.marginals.fitting import BinnedModel, NoisyTable, total_of
from sfumato.mechanisms.marginals.markov import Elimination, MarkovModel, Table
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Parts of the precision: for columns, for choices, and for the tables that were chosen.
_SHARES = (0.2, 0.2, 0.6)


@register
@dataclass(frozen=True, kw_only=True)
class PrivBayes:
    """A network of columns.

    Args:
        usefulness: A table of a column with two parents is on offer if its cells hold, on average, so many standard
            deviations of the noise (the theta of the paper).
    """

    name: ClassVar[str] = "privbayes"
    usefulness: float = 4.0

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Columns once; then, for every column but the first, a choice and the table that was chosen."""
        schema.require_one_table(self.name)
        if not (math.isfinite(self.usefulness) and self.usefulness >= 0):
            raise PlanError(f"usefulness = {self.usefulness} must be a finite number of at least 0.")
        check_table(schema, name=self.name)
        binned = Binned(schema)
        uses = len(binned.sizes) - 1
        return measuring.chosen_tables_steps(binned, _tables(binned), choices="parents", uses=uses, shares=_SHARES)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Place one column after another: choose what it hangs on, and measure it with that."""
        binned = Binned(schema)
        candidates = _tables(binned)
        codes = measuring.codes_of(binned, candidates)
        columns = measuring.count_columns(view, binned)
        total, stddev = total_of(columns), view.noise_stddev("tables", "counts")
        margins = measuring.margins_of(columns, total=total)
        root = binned.target or 0
        network = _Network(binned, {root: (root,)}, {root: margins[root]})
        n_drawn = measuring.drawn_for(total)

        def offered(use: int) -> dict[int, Expected]:
            """For every table of one new column, what it would hold if that had nothing to do with its parents."""
            rows, found = network.model().draw(n_drawn, np.random.default_rng(use)), {}
            for at, table in enumerate(candidates):
                new = [column for column in table if column not in network.cliques]
                cells = math.prod(binned.shape(table))
                if len(new) != 1 or (len(table) > 2 and total.rows < self.usefulness * stddev * cells):
                    continue
                parents = tuple(column for column in table if column != new[0])
                codes = codes_in(rows, [parents], binned.sizes)[:, 0]
                expected = measuring.expected_in(codes, binned.shape(parents), total=total)
                counts = np.expand_dims(expected, table.index(new[0])) * _along(margins[new[0]], new[0], table)
                found[at] = Expected(counts, offset=measuring.chance(counts, n_drawn=n_drawn))
            return found

        for use in range(len(binned.sizes) - 1):
            chosen = candidates[view.noisy_choice("parents", codes, offered(use))]
            (table,) = measuring.counted_tables(view, "tables", [chosen], binned)
            network = network.grown(table, margins)
        return {"conditionals": network.conditionals, "cliques": network.cliques, "total": total}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> BinnedModel:
        """The network as it was measured."""
        binned = Binned(schema)
        network, total = _Network(binned, measurements["cliques"], measurements["conditionals"]), measurements["total"]
        return BinnedModel(binned, network.model(), total.rows, total.stddev)


@dataclass(frozen=True)
class _Network:
    """Columns with what they hang on, the last that was placed first; and the table of each, given its parents."""

    binned: Binned
    cliques: Mapping[int, Columns]
    conditionals: Mapping[int, Table]

    def grown(self, table: NoisyTable, margins: Sequence[Table]) -> "_Network":
        """With one column more. Where its parents are rarer than the noise, it follows its own margin."""
        (new,) = [column for column in table.columns if column not in self.cliques]
        axis = table.columns.index(new)
        counts = np.maximum(table.counts, 0.0) + table.stddev * _along(margins[new], new, table.columns)
        given = counts / counts.sum(axis=axis, keepdims=True)
        return _Network(self.binned, {new: table.columns, **self.cliques}, {new: given, **self.conditionals})

    def model(self) -> MarkovModel:
        """What rows are drawn from. Columns that are not placed yet follow nothing, and are not looked at."""
        return MarkovModel(Elimination(self.binned.sizes, dict(self.cliques)), dict(self.conditionals))


def _along(margin: Table, column: int, table: Columns) -> Table:
    """A margin along the axis of its column."""
    return margin.reshape([-1 if i == column else 1 for i in table])


def _tables(binned: Binned) -> list[Columns]:
    return [*measuring.pairs_of(binned), *measuring.triples_of(binned)]
