"""A mechanism that votes, for the contract suite: teachers say on which side of their own mean a public number lies."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato import Synthetic
from sfumato.extending import FixedModel, Step, Votes, register


@register
@dataclass(frozen=True, kw_only=True)
class Sides:
    """Whether numbers lie above the mean of a part, put to the vote in several rounds."""

    name: ClassVar[str] = "sides"
    teachers: int = 20
    queries: int = 12
    rounds: int = 2

    def steps(self, schema, budget):
        block = Votes(name="votes", teachers=self.teachers, queries=self.queries, classes=2)
        return (Step(name="sides", blocks=(block,), uses=self.rounds),)

    def train(self, column):
        def train(batch):
            mean = float(np.nanmean(batch[column.name]))
            return lambda queries: (queries > mean).astype(np.int64)

        return train

    def measure(self, view, schema):
        column = next(column for column in schema.columns if column.is_number)
        low, high, found = column.low, column.high, []
        for _ in range(self.rounds):
            queries = np.linspace(low, high, self.queries)
            votes = view.noisy_votes("sides", self.train(column), queries)["votes"].values.reshape(-1, 2)
            found.append(votes)
            middle = queries[int(np.argmin(np.abs(votes[:, 0] - votes[:, 1])))]
            low, high = (low + middle) / 2, (high + middle) / 2
        return {"votes": np.stack(found)}

    def build(self, measurements, schema, *, seed):
        rows = {column.name: np.zeros(3) for column in schema.columns}
        return FixedModel(Synthetic(table=schema.decode(rows)))
