"""The smallest mechanism that chooses: it finds the two columns that say most of the target, and counts these with it."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import sfumato as sf
from sfumato.extending import Choice, Expected, Hot, Step, register

BINS = 4


def cells_of(column, values):
    """Few cells: codes as they are, numbers in quarters of their bounds, missing ones in the last."""
    if column.is_coded:
        return values.astype(np.int64)
    place = np.nan_to_num((values - column.low) / (column.high - column.low), nan=0.999)
    return np.clip((place * BINS).astype(np.int64), 0, BINS - 1)


@register
@dataclass(frozen=True, kw_only=True)
class TellingColumns:
    """Choose two columns by how far they and the target are from independent, then count them."""

    name: ClassVar[str] = "telling-columns"
    choices: int = 2

    def steps(self, schema, budget):
        sizes, classes = self._sizes(schema), schema.require_coded_target().size
        tables = Choice(name="tables", widths=tuple(size * classes for size in sizes))
        counts = Hot(name="counts", width=sum(sizes) * classes, n_hot=len(sizes))
        return (
            Step(name="margins", blocks=(Hot(name="margins", width=sum(sizes) + classes, n_hot=len(sizes) + 1),)),
            Step(name="choice", blocks=(tables,), uses=self.choices),
            Step(name="counts", blocks=(counts,)),
        )

    def measure(self, view, schema):
        sizes, classes = self._sizes(schema), schema.require_coded_target().size
        starts = np.cumsum([0, *sizes])

        def margins(batch):
            codes = [cells_of(c, batch[c.name]) + s for c, s in zip(schema.features, starts, strict=False)]
            return {"margins": np.stack([*codes, batch[schema.target] + starts[-1]], axis=1)}

        def tables(batch):
            return {
                "tables": np.stack(
                    [cells_of(c, batch[c.name]) * classes + batch[schema.target] for c in schema.features], axis=1
                )
            }

        counted = np.split(view.noisy_sum("margins", margins)["margins"].values, starts[1:])
        rows = max(1.0, float(counted[-1].sum()))
        offered = {i: Expected(np.outer(counted[i], counted[-1]) / rows) for i in range(len(sizes))}
        chosen = []
        for _ in range(self.choices):
            chosen.append(view.noisy_choice("choice", tables, offered))
            offered.pop(chosen[-1])

        def counts(batch):
            codes = [cells_of(schema.features[i], batch[schema.features[i].name]) for i in chosen]
            pairs = [
                s * classes + code * classes + batch[schema.target] for s, code in zip(starts, codes, strict=False)
            ]
            return {"counts": np.stack(pairs + [np.full_like(pairs[0], -1)] * (len(sizes) - len(pairs)), axis=1)}

        return {"chosen": np.array(chosen), "counts": view.noisy_sum("counts", counts)["counts"].values}

    def build(self, measurements, schema, *, seed):
        return ChosenModel(schema, measurements["counts"])

    def _sizes(self, schema):
        return [c.size if c.is_coded else BINS for c in schema.features]


@dataclass(frozen=True)
class ChosenModel:
    """Not useful: every row holds the first value of every column."""

    schema: sf.Schema
    counts: np.ndarray
    default_rows: int = 30

    def sample(self, n_rows, *, seed):
        return sf.Synthetic(
            table=self.schema.decode({c.name: np.full(n_rows, 0 if c.is_coded else c.low) for c in self.schema.columns})
        )
