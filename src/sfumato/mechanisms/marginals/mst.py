"""MST: all columns, and the pairs of a maximum spanning tree that is chosen privately.

McKenna, Miklau and Sheldon, "Winning the NIST contest: a scalable and general approach to differentially private synthetic
data" (2021). Proof: docs/proofs/marginals.md.
"""

from dataclasses import dataclass
from typing import ClassVar

from sfumato.errors import PlanError
from sfumato.mechanism import Measurements, register
from sfumato.mechanisms.marginals import measuring
from sfumato.mechanisms.marginals.binned import Binned, Columns, check_table
from sfumato.mechanisms.marginals.fitting import BinnedModel, NoisyTable, fitted, total_of
from sfumato.public.budget import Budget
from sfumato.public.plan.block import Hot
from sfumato.public.plan.choice import Expected
from sfumato.public.plan.doors import Doors
from sfumato.public.plan.step import Step
from sfumato.public.schema.schema import Schema

_STEPS = 300


@register
@dataclass(frozen=True, kw_only=True)
class Mst:
    """A tree of pairs.

    Args:
        others: What pairs without the target weigh where the tree is chosen; pairs with it weigh 1.
    """

    name: ClassVar[str] = "mst"
    others: float = 0.5

    def steps(self, schema: Schema, budget: Budget) -> tuple[Step, ...]:
        """A third of the precision each for the columns, for the tree and for its pairs."""
        schema.require_one_table(self.name)
        if not 0 <= self.others <= 1:
            raise PlanError(f"others = {self.others} must lie in [0, 1].")
        check_table(schema, name=self.name)
        binned = Binned(schema)
        links = len(binned.sizes) - 1
        # The cells of any tree: each column but one hangs on another, of which none is larger than the largest.
        width = max(binned.sizes) * sum(binned.sizes)
        return (
            measuring.columns_step(binned),
            Step(name="tree", blocks=(measuring.choice_of(binned, measuring.pairs_of(binned)),), uses=links),
            Step(name="pairs", blocks=(Hot(name="counts", width=width, n_hot=links),)),
        )

    def measure(self, view: Doors, schema: Schema) -> Measurements:
        """Count columns, choose a tree of pairs that are far from independent, count these."""
        binned = Binned(schema)
        pairs = measuring.pairs_of(binned)
        codes = measuring.codes_of(binned, pairs)
        columns = measuring.count_columns(view, binned)
        total = total_of(columns)
        margins = measuring.margins_of(columns, total=total)
        weights = {pair: 1.0 if binned.target in pair else self.others for pair in pairs}
        expected = {pair: measuring.independent([margins[column] for column in pair], total=total) for pair in pairs}

        tree: list[Columns] = []
        part = list(range(len(binned.sizes)))  # of the forest so far that each column is in
        for _ in range(len(binned.sizes) - 1):
            offered = {
                at: Expected(expected[pair], weights[pair], measuring.chance(expected[pair]))
                for at, pair in enumerate(pairs)
                if part[pair[0]] != part[pair[1]]
            }
            left, right = pairs[view.noisy_choice("tree", codes, offered)]
            tree.append((left, right))
            part = [part[left] if p == part[right] else p for p in part]
        return {"tables": [*columns, *measuring.counted_tables(view, "pairs", tree, binned)]}

    def build(self, measurements: Measurements, schema: Schema, *, seed: int) -> BinnedModel:
        """The tree that agrees best with all tables."""
        binned, tables = Binned(schema), list[NoisyTable](measurements["tables"])
        total = total_of(tables)
        model, _ = fitted(binned.sizes, tables, total=total.rows, steps=_STEPS)
        return BinnedModel(binned, model, total.rows, total.stddev)
