"""A Markov random field over columns of few bins: exact inference, by eliminating one column after another.

p(row) is proportional to the product of exp(potential) over tables of a few columns each. Eliminating a column leaves a table
over its neighbours; the tables that arise, one for each column, form a junction tree (Lauritzen and Spiegelhalter, 1988). So
p is a product of one conditional table for each column, which is also how rows are drawn: exactly.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from sfumato.mechanisms.common.simplex import draw_each
from sfumato.mechanisms.marginals.binned import Columns, codes_in

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Elimination:
    """Columns in the order in which they are eliminated, each with the neighbours that it then has.

    >>> Elimination.of((2, 3, 4), [(0, 1), (1, 2)]).cliques
    {0: (0, 1), 1: (1, 2), 2: (2,)}
    """

    sizes: tuple[int, ...]
    cliques: dict[int, Columns]

    @staticmethod
    def of(sizes: Sequence[int], tables: Iterable[Columns]) -> "Elimination":
        """An order for tables of these columns: always the column next whose table is smallest."""
        near: dict[int, set[int]] = {column: set() for column in range(len(sizes))}
        for columns in tables:
            for column in columns:
                near[column] |= set(columns) - {column}
        cliques: dict[int, Columns] = {}
        while near:
            at = min(near, key=lambda column: (math.prod(sizes[i] for i in near[column]) * sizes[column], column))
            beside = near.pop(at)
            cliques[at] = tuple(sorted({at, *beside}))
            for column in beside:
                near[column] = (near[column] | beside) - {at, column}
        return Elimination(tuple(sizes), cliques)

    @property
    def cells(self) -> int:
        """Cells of all tables that arise."""
        return sum(math.prod(self.sizes[i] for i in clique) for clique in self.cliques.values())

    def home(self, columns: Columns) -> int:
        """The column whose clique holds a table: the first of its columns to go."""
        return next(at for at in self.cliques if at in columns)

    def spread(self, table: Table, columns: Columns, clique: Columns) -> Table:
        """A table over some columns of a clique, to be combined with the whole clique's."""
        return table.reshape([self.sizes[i] if i in columns else 1 for i in clique])


@dataclass(frozen=True)
class MarkovModel:
    """One conditional table for each column, given those of its neighbours that go later."""

    order: Elimination
    conditionals: dict[int, Table] = field(repr=False)

    @staticmethod
    def of(order: Elimination, potentials: Mapping[Columns, Table]) -> "MarkovModel":
        """The model with these potentials, each over columns that some clique holds."""
        logs = {at: np.zeros([order.sizes[i] for i in clique]) for at, clique in order.cliques.items()}
        for columns, potential in potentials.items():
            at = order.home(columns)
            logs[at] = logs[at] + order.spread(potential, columns, order.cliques[at])
        return MarkovModel._eliminated(order, logs)[0]

    @staticmethod
    def _eliminated(order: Elimination, logs: dict[int, Table]) -> tuple["MarkovModel", float]:
        """The model of tables of logarithms, one for each column, and the logarithm of all that they add up to."""
        conditionals, mass = {}, 0.0
        for at, clique in order.cliques.items():
            axis, rest = clique.index(at), tuple(i for i in clique if i != at)
            message = logsumexp(logs[at], axis=axis, keepdims=True)
            with np.errstate(invalid="ignore"):  # nothing is left there: it is never drawn
                conditionals[at] = np.nan_to_num(np.exp(logs[at] - message))
            if rest:
                to = order.home(rest)
                logs[to] = logs[to] + order.spread(message, rest, order.cliques[to])
            else:
                mass += float(message.ravel()[0])
        return MarkovModel(order, conditionals), mass

    def within(self, allowed: Mapping[int, NDArray[np.bool_]]) -> tuple["MarkovModel", float]:
        """The model given that some columns have bins that are allowed, and the probability of that."""
        with np.errstate(divide="ignore"):
            logs = {at: np.log(table) for at, table in self.conditionals.items()}
            for column, bins in allowed.items():
                at = self.order.home((column,))
                logs[at] = logs[at] + self.order.spread(np.log(bins * 1.0), (column,), self.order.cliques[at])
        model, mass = self._eliminated(self.order, logs)
        return model, float(np.exp(mass))

    def beliefs(self) -> dict[int, Table]:
        """The probabilities in the table of every clique."""
        beliefs: dict[int, Table] = {}
        for at, clique in reversed(self.order.cliques.items()):
            rest = tuple(i for i in clique if i != at)
            beliefs[at] = self.conditionals[at]
            if rest:
                beliefs[at] = beliefs[at] * self.order.spread(self._sum(beliefs, rest), rest, clique)
        return beliefs

    def margins(self, tables: Iterable[Columns]) -> dict[Columns, Table]:
        """The probabilities in tables, each over columns that some clique holds."""
        beliefs = self.beliefs()
        return {columns: self._sum(beliefs, columns) for columns in tables}

    def _sum(self, beliefs: Mapping[int, Table], columns: Columns) -> Table:
        at = self.order.home(columns)
        others = tuple(axis for axis, i in enumerate(self.order.cliques[at]) if i not in columns)
        return np.asarray(beliefs[at].sum(axis=others))

    def draw(self, n_rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Independent rows of bins."""
        rows = np.zeros((n_rows, len(self.order.sizes)), dtype=np.int64)
        for at, clique in reversed(self.order.cliques.items()):
            rest = tuple(i for i in clique if i != at)
            table = np.moveaxis(self.conditionals[at], clique.index(at), -1).reshape(-1, self.order.sizes[at])
            given = codes_in(rows, [rest], self.order.sizes)[:, 0]
            rows[:, at] = draw_each(table, given, rng.random(n_rows))
        return rows
