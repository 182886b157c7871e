"""Totals over the private rows, from noisy numbers that are totals themselves: the difference estimator of surveys.

A total Q of q(row) is estimated by n m(q) + a'(y - n m(f)): what the model says, plus what the noisy numbers y, totals of f(row),
say that it misses. The error is a'noise plus n times what model and truth differ by in r = q - a'f, whatever a is. Where q is a sum
of measured functions, r is nothing, and what is left is known noise. Proof: docs/proofs/intervals.md.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from sfumato.asking.encoded_rows import StandIns
from sfumato.asking.insides import Counted, cells_of, counting_columns
from sfumato.asking.noted_sums import NotedSum, Numbers, mapped, numbers_of
from sfumato.public.plan.block import Hot, Outer
from sfumato.public.plan.probe import take
from sfumato.public.schema.schema import Batch, Schema

Floats = NDArray[np.float64]
#: The model is taken to miss a function that was not measured by so many of its standard deviations: docs/proofs/intervals.md.
#: A model that was tried has its own number; of any other less is believed.
DISCREPANCIES, DISCREPANCY = {"3a-table": 0.028}, 0.3
#: To this comes so many times the noise of a usual number, over the number of rows: what fits a noisy count of one row in nine misses
#: the deviation of that count, which is 3 times as much in units of its root mean square.
_NOISE = 3.0
#: How far that part of what the model misses goes along with the noise, as a correlation.
_TIED = 0.6
#: Of what is rarer than this the part that was not measured is known no better than the least noise of a count: that the model has
#: no such rows says little.
_RARE = 1 / _NOISE**2
#: Weights follow from rows that were made from the same noisy numbers, so that their noise counts a little more than once.
_SEEN_TWICE = 1.1
#: Rows on which it is tried which columns a noisy number depends on.
_PROBES = 64
#: The widest tables are left out where there would be more noisy numbers than this: any of them may be.
_MOST_NUMBERS = 2_500
#: Columns whose tables together say how many rows there are.
_FEW = 3


@dataclass(frozen=True)
class Totals:
    """Estimated totals with the covariance of their errors, part by part; `unseen` is the share of each that was not measured."""

    values: Floats
    noise: Floats
    model: Floats
    sampling: Floats
    unseen: Floats

    def combined(self, weights: Floats) -> "Totals":
        """Sums of these totals, each by its column of weights."""
        noise, model, sampling = (weights.T @ part @ weights for part in (self.noise, self.model, self.sampling))
        unseen = np.where(weights != 0, self.unseen[:, None], 0.0).max(axis=0)
        return Totals(weights.T @ self.values, noise, model, sampling, unseen)


@dataclass(frozen=True)
class _System:
    """Noisy numbers, what stand-ins expect of them, and the factor by which totals are solved for."""

    numbers: Numbers
    weighed: Any
    expected: Floats
    loud: float
    tied: float  # the correlation of what the model misses with the noise
    factor: Any

    @cached_property
    def least_noise(self) -> float:
        """The least deviation of a number, in rows that count in it as much as any does."""
        most = np.asarray(abs(self.numbers.features).max(axis=0).todense()).ravel()
        return float(np.min(self.numbers.stddevs / most)) if len(most) else 0.0


@dataclass(frozen=True)
class Measurements:
    """The noisy sums of a release and the rows that stand for private ones."""

    schema: Schema
    sums: list[NotedSum] = field(repr=False)
    rows: StandIns = field(repr=False)
    n_rows: float
    discrepancy: float = DISCREPANCY
    shortened: bool = False  # other sums than these are of persons with many rows that were shortened
    fewer: "Measurements | None" = field(default=None, repr=False)  # the same without the last rows
    _mapped: dict[int, dict[str, NDArray[Any]]] = field(default_factory=dict, repr=False)
    _systems: dict[tuple[tuple[str, ...], float], _System] = field(default_factory=dict, repr=False)
    _cells: dict[tuple[str, tuple[str, ...]], Counted | None] = field(default_factory=dict, repr=False)

    @cached_property
    def _depends(self) -> list[dict[str, NDArray[np.bool_]]]:
        """For every sum and block, whether a column of its map changes with a column of the schema: (columns, map columns)."""
        if self.fewer is not None:
            return self.fewer._depends
        names = [column.name for column in self.schema.columns]
        n = len(self.rows.weights)
        probes_each = max(_PROBES // max(1, len(names) // 50), 8)
        base = take(self.rows.batch, np.linspace(0, n - 1, probes_each).astype(np.int64))
        other = take(self.rows.batch, np.linspace(1, n - 2, probes_each).astype(np.int64)[::-1])
        probes = {
            name: np.concatenate([base[name], *(other[name] if name == moved else base[name] for moved in names)])
            for name in names
        }
        found = []
        for noted in self.sums:
            of_blocks = {}
            for block, values in mapped(noted, probes).items():
                copies = values.reshape(len(names) + 1, probes_each, -1)
                of_blocks[block] = (copies[1:] != copies[0]).any(axis=1)
            found.append(of_blocks)
        return found

    def numbers(self, columns: Iterable[str]) -> Numbers:
        """All noisy numbers that depend on these columns alone."""
        own = np.isin([column.name for column in self.schema.columns], list(columns))
        parts = list[Numbers]()
        for noted, depends in zip(self.sums, self._depends, strict=True):
            known = _depending_on(own, depends)
            if not any((known[name] & depends[name].any(axis=0)).any() for name in known):
                continue  # nothing of it changes with the columns asked for
            values = self._of_rows(noted)
            for block in noted.blocks:
                some = numbers_of(block, values[block.name], noted.noisy[block.name], known[block.name])
                parts += [] if some is None else [some]
        parts.sort(key=lambda part: len(part.values))
        sizes = np.cumsum([len(part.values) for part in parts])
        return Numbers.together(
            parts[: int(np.searchsorted(sizes, _MOST_NUMBERS, side="right"))], len(self.rows.weights)
        )

    def _of_rows(self, noted: NotedSum) -> dict[str, NDArray[Any]]:
        if id(noted) not in self._mapped:
            known = {} if self.fewer is None else self.fewer._of_rows(noted)
            start = 0 if self.fewer is None else len(self.fewer.rows.weights)
            new = mapped(noted, {name: values[start:] for name, values in self.rows.batch.items()})
            self._mapped[id(noted)] = {
                name: np.concatenate([known[name], new[name]]) if known else new[name] for name in new
            }
        return self._mapped[id(noted)]

    def with_more(self, batch: Batch) -> "Measurements":
        """With more rows that stand for private ones; they weigh nothing yet."""
        rows = {name: np.concatenate([values, batch[name]]) for name, values in self.rows.batch.items()}
        n_new = len(next(iter(batch.values())))
        more = replace(self.rows, batch=rows, weights=np.append(self.rows.weights, np.zeros(n_new)))
        return replace(self, rows=more, fewer=self, _mapped={}, _systems={}, _cells={})

    def weighing(self, weights: Floats) -> "Measurements":
        """With these weights of the last rows."""
        own = np.concatenate([self.rows.weights[: -len(weights)], weights])
        return replace(self, rows=replace(self.rows, weights=own), _systems={}, _cells={})

    def cells(self, name: str, columns: tuple[str, ...]) -> Counted | None:
        """The cells that a number was counted in, alone or together with others of these columns; None where it was in none."""
        if (name, columns) not in self._cells:
            names = [column.name for column in self.schema.columns]
            own, at, maps = np.isin(names, columns), names.index(name), []
            for noted, depends in zip(self.sums, self._depends, strict=True):
                known = _depending_on(own, depends)
                of_number = {block: own_columns[at] for block, own_columns in depends.items()}
                if any((known[block] & of_number[block]).any() for block in known):
                    chosen = counting_columns(noted, self._of_rows(noted), known, of_number)
                    maps += [(noted, chosen)] if chosen else []
            values = self.rows.batch[name].astype(np.float64)
            self._cells[name, columns] = cells_of(self.schema[name], maps, self.rows.batch, values)
        return self._cells[name, columns]

    @property
    def some_columns(self) -> tuple[str, ...]:
        """A few, for what is asked of all rows: in every table of one column each row counts once."""
        return tuple(column.name for column in self.schema.columns)[:_FEW]

    def with_references(self, columns: Iterable[str]) -> tuple[str, ...]:
        """With the columns that these were measured by: the other end of a difference, the rest of a group, the target."""
        wanted = {name for name in (*columns, self.schema.target) if name}
        for name in columns:
            groups = [group for group in self.tables if name in group]
            if groups and not any(group <= wanted for group in groups):
                wanted |= min(groups, key=lambda group: (len(group - wanted), sorted(group)))
        return tuple(column.name for column in self.schema.columns if column.name in wanted)

    def together(self, columns: Iterable[str]) -> list[frozenset[str]]:
        """Which of these columns were counted in one table, each for itself or several together."""
        return [group for group in self.tables if group <= set(columns)]

    @cached_property
    def tables(self) -> list[frozenset[str]]:
        """The columns of every table of counts."""
        names, found = np.array([column.name for column in self.schema.columns]), set[frozenset[str]]()
        for noted, depends in zip(self.sums, self._depends, strict=True):
            for block in noted.blocks:
                own = depends[block.name]
                if isinstance(block, Hot):
                    tables = own[:, : block.n_hot]
                elif isinstance(block, Outer) and block.shape[0] == 1 and block.groups > 1:
                    tables = own[:, 1:-1] | own[:, -1:]  # by the group of a row
                else:
                    tables = own[:, own.sum(axis=0) == 1]
                found |= {frozenset(names[of].tolist()) for of in tables.T if of.any()}
        return sorted(found, key=sorted)

    def missed(self, columns: tuple[str, ...], *, n_asked: int) -> float:
        """So many rows the model is taken to miss of a function of these columns whose root mean square is 1."""
        return math.sqrt(self._system(columns, self._trusted(n_asked)).loud)

    def _trusted(self, n_asked: int) -> float:
        return self.discrepancy * max(1, n_asked - 2)

    def _system(self, columns: tuple[str, ...], discrepancy: float) -> _System:
        if (columns, discrepancy) not in self._systems:
            rows, numbers = self.rows, self.numbers(columns)
            weighed = numbers.features.multiply(rows.weights[:, None]).tocsr()
            # A model that was fitted to noisy numbers is no nearer to the truth than their noise lets it be.
            fitted_noise = _NOISE * float(np.mean(numbers.stddevs)) if len(numbers.stddevs) else 0.0
            loud = (discrepancy * self.n_rows) ** 2 + fitted_noise**2
            tied = _TIED * fitted_noise / math.sqrt(loud)
            gram = loud * np.asarray((weighed.T @ numbers.features).todense()) + np.diag(numbers.stddevs**2)
            expected = np.asarray(numbers.features[: rows.n_synthetic].mean(axis=0)).ravel()
            factor = cho_factor(gram, check_finite=False) if len(gram) else None
            self._systems[columns, discrepancy] = _System(numbers, weighed, expected, loud, tied, factor)
        return self._systems[columns, discrepancy]

    def totals(
        self, functions: Floats, columns: tuple[str, ...], *, n_asked: int = 1, counts: Sequence[int] = ()
    ) -> Totals:
        """The totals of some functions (stand-ins, functions) of these columns, of which so many are asked about.

        `counts` are the places of those that count rows.
        """
        system = self._system(columns, self._trusted(n_asked))
        rows, numbers, loud = self.rows, system.numbers, system.loud
        n, synthetic = self.n_rows, slice(0, self.rows.n_synthetic)
        scale = np.sqrt(np.maximum((rows.weights[:, None] * functions**2).sum(axis=0), 1e-300))
        q = functions / scale
        a = (
            np.zeros((0, q.shape[1]))
            if system.factor is None
            else cho_solve(system.factor, loud * (system.weighed.T @ q))
        )
        rest = q - numbers.features @ a
        values = n * q[synthetic].mean(axis=0) + a.T @ (numbers.values - n * system.expected)
        noise = _SEEN_TWICE**2 * (a * numbers.stddevs[:, None] ** 2).T @ a
        drawn_rest, other_rest, mean_rest = rest[synthetic], rest[rows.n_synthetic :], rest[synthetic].mean(axis=0)
        products = drawn_rest.T @ drawn_rest
        others = (other_rest * rows.weights[rows.n_synthetic :, None]).T @ other_rest
        squares = rows.weights[0] * products + others  # synthetic rows weigh alike
        drawn = (products / rows.n_synthetic - np.outer(mean_rest, mean_rest)) / rows.n_synthetic
        sampling = n * q[synthetic].T @ q[synthetic] / rows.n_synthetic
        both = np.outer(scale, scale)
        model = loud * squares + n**2 * drawn
        for at in counts:
            if scale[at] ** 2 < _RARE:
                model[at, at] = max(model[at, at], squares[at, at] * (system.least_noise / scale[at]) ** 2)
        both *= _together(np.diag(noise), np.diag(model), system.tied)
        return Totals(
            values * scale, noise * both, model * both, sampling * np.outer(scale, scale), np.diag(squares).copy()
        )


def _depending_on(own: NDArray[np.bool_], depends: dict[str, NDArray[np.bool_]]) -> dict[str, NDArray[np.bool_]]:
    """The columns of a map, by block, that change with no column of the schema but these."""
    return {block: np.asarray(~of_columns[~own].any(axis=0)) for block, of_columns in depends.items()}


def _together(noise: Floats, model: Floats, tied: float) -> Floats:
    """By how much more two errors with this correlation vary together than apart."""
    apart = np.maximum(noise + model, 1e-300)
    more = np.sqrt(1 + 2 * tied * np.sqrt(np.maximum(noise * model, 0.0)) / apart)
    return np.outer(more, more)
