"""AIM: in each round the table that the model so far gets most wrong is chosen, measured, and the model fitted anew.

McKenna, Mullins, Sheldon and Miklau, "AIM: an adaptive and iterative mechanism for differentially private synthetic data"
(2022). Here the number of rounds and the noise of each are fixed by the plan, in place of noise that is annealed by what
earlier rounds showed; and the model is a field over bins with exact inference. Proof: docs/proofs/marginals.md.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.common.prepared import CODES
from sfumato.mechanisms.marginals.binned import Binned, Columns, check_table, codes_in
from sfumato.mechanisms.marginals.candidates import codes_of, pairs_of, triples_of
from sfumato.mechanisms.marginals.fitting import BinnedModel, NoisyTable, Total, fitted, total_of
from sfumato.mechanisms.marginals.markov import Elimination, MarkovModel
from sfumato.mechanisms.marginals.measuring import (
    HALF_NORMAL,
    chance,
    chosen_tables_steps,
    count_columns,
    counted_tables,
    drawn_for,
    expected_in,
)
from sfumato.public.budget import Budget
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

#: Cells of all tables that inference goes through: a table that would need more is not on offer.
_MOST_CELLS = 2**17
_STEPS_BETWEEN, _STEPS_AT_LAST = 30, 300
#: Parts of the precision: for columns, for choices, and for the tables that were chosen.
_SHARES = (0.15, 0.1, 0.75)


@register
@dataclass(frozen=True, kw_only=True)
class Aim:
    """Tables chosen round by round.

    Args:
        rounds: How many, for each column.
        others: What tables without the target weigh where one is chosen; tables with it weigh 1.
    """

    name: ClassVar[str] = "aim"
    rounds: float = 2.0
    others: float = 0.5

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """Columns once; then, round by round, a choice and the table that was chosen."""
        if not 0 <= self.others <= 1:
            raise PlanError(f"others = {self.others} must lie in [0, 1].")
        if not 0 < self.rounds <= 100:
            raise PlanError(f"rounds = {self.rounds} must lie in (0, 100].")
        check_table(schema, name=self.name)
        binned, uses = Binned(schema), self._rounds(schema)
        return chosen_tables_steps(binned, _tables(binned), choices="choices", uses=uses, shares=_SHARES)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Choose, measure, fit; as often as planned."""
        binned = Binned(schema)
        candidates = _tables(binned)
        view.prepare(CODES, binned.bins)
        codes = codes_of(binned, candidates)
        measured = count_columns(view, binned)
        total, stddev = total_of(measured), view.noise_stddev("tables", "counts")
        model, potentials = fitted(binned.sizes, measured, total=total.rows, steps=0)
        for use in range(self._rounds(schema)):
            offered = self._offered(binned, candidates, measured, model, total=total, stddev=stddev, seed=use)
            chosen = candidates[view.noisy_choice("choices", codes, offered)]
            measured += counted_tables(view, "tables", [chosen], binned)
            model, potentials = fitted(binned.sizes, measured, total=total.rows, steps=_STEPS_BETWEEN, start=potentials)
        return {"tables": measured, "potentials": potentials}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> BinnedModel:
        """The last fit, carried on until it settles."""
        binned, tables = Binned(schema), list[NoisyTable](measurements["tables"])
        total = total_of(tables[: len(binned.sizes)])
        model, _ = fitted(
            binned.sizes, tables, total=total.rows, steps=_STEPS_AT_LAST, start=measurements["potentials"]
        )
        return BinnedModel(binned, model, total)

    def _rounds(self, schema: Schema) -> int:
        return max(1, round(self.rounds * len(schema.columns)))

    def _offered(
        self,
        binned: Binned,
        candidates: Sequence[Columns],
        measured: Sequence[NoisyTable],
        model: MarkovModel,
        *,
        total: Total,
        stddev: float,
        seed: int,
    ) -> dict[int, Expected]:
        """What the model expects of every table that it could take up.

        Less is scored what chance explains, in the rows and in those that are drawn from the model, and what the noise on
        the table would take away.
        """
        known = {table.columns for table in measured}
        n_drawn = drawn_for(total)
        rows = model.draw(n_drawn, np.random.default_rng(seed))
        codes = codes_in(rows, candidates, binned.sizes)
        offered = {}
        for at, columns in enumerate(candidates):
            if columns not in known and Elimination.of(binned.sizes, [*known, columns]).cells > _MOST_CELLS:
                continue
            counts = expected_in(codes[:, at], binned.shape(columns), total=total)
            offset = chance(counts, n_drawn=n_drawn) + HALF_NORMAL * stddev * counts.size
            offered[at] = Expected(counts, 1.0 if binned.target in columns else self.others, offset)
        return offered


def _tables(binned: Binned) -> list[Columns]:
    return [*pairs_of(binned), *triples_of(binned, around=binned.target)]
