"""AIM: in each round the table that the model so far gets most wrong is chosen, measured, and the model fitted anew.

McKenna, Mullins, Sheldon and Miklau, "AIM: an adaptive and iterative mechanism for differentially private synthetic data"
(2022). Here the number of rounds and the noise of each are fixed by the plan, in place of noise that is annealed by what
earlier rounds showed; and the model is a field over bins with exact inference. Proof: docs/proofs/marginals.md.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.marginals import measuring
from sfumato.mechanisms.marginals.binned import Binned, Columns, check_table, codes_in
from sfumato.mechanisms.marginals.fitting import BinnedModel, NoisyTable, fitted, total_of
from sfumato.mechanisms.marginals.markov import Elimination
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
        schema.require_one_table(self.name)
        if not 0 <= self.others <= 1:
            raise PlanError(f"others = {self.others} must lie in [0, 1].")
        if not 0 < self.rounds <= 100:
            raise PlanError(f"rounds = {self.rounds} must lie in (0, 100].")
        check_table(schema, name=self.name)
        binned, uses = Binned(schema), self._rounds(schema)
        return measuring.chosen_tables_steps(binned, _tables(binned), choices="choices", uses=uses, shares=_SHARES)

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Choose, measure, fit; as often as planned."""
        binned = Binned(schema)
        candidates = _tables(binned)
        codes = measuring.codes_of(binned, candidates)
        measured = measuring.count_columns(view, binned)
        total, stddev = total_of(measured), view.noise_stddev("tables", "counts")
        model, potentials = fitted(binned.sizes, measured, total=total.rows, steps=0)
        n_drawn = measuring.drawn_for(total)

        def offered(use: int) -> dict[int, Expected]:
            """What the model expects of every table that it could take up.

            Less is scored what chance explains, in the rows and in those that are drawn from the model, and what the
            noise on the table would take away.
            """
            known, found = {table.columns for table in measured}, {}
            drawn = codes_in(model.draw(n_drawn, np.random.default_rng(use)), candidates, binned.sizes)
            for at, columns in enumerate(candidates):
                if columns not in known and Elimination.of(binned.sizes, [*known, columns]).cells > _MOST_CELLS:
                    continue
                counts = measuring.expected_in(drawn[:, at], binned.shape(columns), total=total)
                offset = measuring.chance(counts, n_drawn=n_drawn) + measuring.HALF_NORMAL * stddev * counts.size
                found[at] = Expected(counts, 1.0 if binned.target in columns else self.others, offset)
            return found

        for use in range(self._rounds(schema)):
            chosen = candidates[view.noisy_choice("choices", codes, offered(use))]
            measured += measuring.counted_tables(view, "tables", [chosen], binned)
            model, potentials = fitted(binned.sizes, measured, total=total.rows, steps=_STEPS_BETWEEN, start=potentials)
        return {"tables": measured, "potentials": potentials}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> BinnedModel:
        """The last fit, carried on until it settles."""
        binned, tables = Binned(schema), list[NoisyTable](measurements["tables"])
        total = total_of(tables[: len(binned.sizes)])
        start = measurements["potentials"]
        model, _ = fitted(binned.sizes, tables, total=total.rows, steps=_STEPS_AT_LAST, start=start)
        return BinnedModel(binned, model, total.rows, total.stddev)

    def _rounds(self, schema: Schema) -> int:
        return max(1, round(self.rounds * len(schema.columns)))


def _tables(binned: Binned) -> list[Columns]:
    return [*measuring.pairs_of(binned), *measuring.triples_of(binned, around=binned.target)]
