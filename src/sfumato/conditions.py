"""Rows of a part of the model: where a condition is true, with some values given, or as many of each class.

Post-processing, free of cost. A model that can narrows itself to what the condition may hold in, by its own chances; what it then
gives is looked at row by row, so that the rows are those of the model given the condition.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.errors import ModelError, SchemaError
from sfumato.model import Counted, FixedModel, Model, Synthetic, check_row_count
from sfumato.obeying import units_of
from sfumato.pieces import PIECE, draw_pieces, joined
from sfumato.public.expressions.domains import Domain
from sfumato.public.expressions.expression import Expression
from sfumato.public.expressions.syntax import BACKTICK, quoted
from sfumato.public.schema.column import Column
from sfumato.public.schema.possible import impossible, tasks_of
from sfumato.public.schema.ruled import Condition
from sfumato.public.schema.schema import Schema

#: Rows that are drawn at most, and at most without finding a single one.
MOST_DRAWN, MOST_IN_VAIN = 200_000_000, 4_000_000
_FIRST, _MORE = 2_000, 1.3
#: A number that is given is looked for so near, as a part of its bounds, and then set.
_NEAR = 0.01


@runtime_checkable
class Narrowing(Protocol):
    """A model that can draw from a part of itself. It need not."""

    def narrowed(self, domains: Mapping[str, Domain], *, is_exact: bool) -> tuple[Model, float]:
        """The model of rows within domains of some columns, or nearly within, and the share of all rows that they are.

        `is_exact`: nearly all of these rows are wanted. Otherwise any part of them may be, so that all must be drawn by their chances,
        each on its own: what makes the whole come out evenly is chance or worse in a part.
        """


@dataclass
class Conditioned:
    """A model under a condition. After rows were drawn, `share` is the part of all rows that fulfils it."""

    model: Model
    schema: Schema
    where: Expression | None
    given: Mapping[str, Any] = field(default_factory=dict)
    drawn: int = 0
    found: int = 0

    @cached_property
    def _part(self) -> tuple[Model, float]:
        """The narrowed model and its share. Columns that rules may change are left to be looked at."""
        if self.where is None or not isinstance(self.model, Narrowing):
            return self.model, 1.0
        units = units_of(self.schema)
        changed = {name for task in tasks_of(self.schema.ruled, units) for name in task.names}
        changed |= {name for unit in units for name in unit} | {column.name for column in self.schema.computed}
        box = self.where.box()
        domains = {name: domain for name, domain in box.domains.items() if name not in changed}
        part, share = self.model.narrowed(domains, is_exact=box.is_exact and len(domains) == len(box.domains))
        return (part, share) if share > 0 else (self.model, 1.0)

    @property
    def share(self) -> float:
        """The part of the model's rows that fulfils the condition, as far as rows were drawn."""
        return self._part[1] * self.found / max(self.drawn, 1)

    @property
    def told(self) -> str:
        """How many real rows seem to stand behind the condition, by the noisy counts."""
        if not isinstance(self.model, Counted):
            return (
                f"{_percent(self.share)} of the model's rows fulfil the condition. How many real rows do is not known."
            )
        rows, noise = self.share * self.model.noisy_rows, self.model.noisy_rows_stddev
        few = (
            ""
            if rows > 4 * noise
            else " So few cannot be told from noise: the rows show what the model makes of other rows."
        )
        return (
            f"{_percent(self.share)} of the model's rows fulfil the condition, about {max(rows, 0):,.0f} real ones by noisy "
            f"counts (a count is off by about {noise:,.0f}).{few}"
        )

    def sample(self, n_rows: int, *, seed: int) -> Synthetic:
        """So many rows that fulfil the condition."""
        return with_keys(self.without_keys(n_rows, seed=seed), self.schema, seed=seed)

    def without_keys(self, n_rows: int, *, seed: int) -> Synthetic:
        """The same rows, before keys are made up: the rows that are looked through need none."""
        check_row_count(n_rows)
        kept, n_kept = list[Synthetic](), 0
        for piece in self._pieces(n_rows, seed):
            some = self._fulfilling(piece)
            kept.append(some)
            n_kept += len(some)
            if n_kept >= n_rows:
                break
        if n_kept < n_rows:
            raise ModelError(
                f"{n_kept:,} rows that fulfil the condition were found among {self.drawn:,}, and {n_rows:,} were asked for. Ask for "
                "fewer rows, or for a wider condition."
            )
        return joined(kept).take(slice(0, n_rows))

    @cached_property
    def _keyless(self) -> Schema:
        return replace(self.schema, rules=tuple(rule for rule in self.schema.rules if not rule.key))

    def _pieces(self, n_rows: int, seed: int) -> Iterator[Synthetic]:
        """Rows of the narrowed model: first some, then as many as seem to be needed."""
        model, turn, want = self._part[0], 0, n_rows
        if isinstance(model, FixedModel):
            yield from self._counted(draw_pieces(model, model.default_rows, schema=self._keyless, seed=seed))
            return
        while self.drawn < MOST_DRAWN and (self.found or self.drawn < MOST_IN_VAIN):
            rate = max(self.found, 1) / self.drawn if self.drawn else 1.0
            size = math.ceil(min(max(_MORE * want / rate, _FIRST), PIECE))
            before = self.found
            own = int(np.random.SeedSequence([seed, turn, 31]).generate_state(1, np.uint64)[0])
            yield from self._counted(draw_pieces(model, size, schema=self._keyless, seed=own))
            turn, want = turn + 1, max(want - (self.found - before), 1)

    def _counted(self, pieces: Iterator[Synthetic]) -> Iterator[Synthetic]:
        for piece in pieces:
            self.drawn += len(piece)
            yield piece

    def _fulfilling(self, piece: Synthetic) -> Synthetic:
        if piece.table is None:
            raise ModelError("conditions are for tables, and this release holds images.")
        some = self._holding(with_given(self._holding(piece), self.given, self.schema))
        self.found += len(some)
        return some

    def _holding(self, piece: Synthetic) -> Synthetic:
        if self.where is None or piece.table is None:
            return piece
        holds = self.where.holds(encoded(piece.table, self.schema, self.where.columns))
        return piece if holds.all() else piece.take(np.flatnonzero(holds))


def encoded(table: pd.DataFrame, schema: Schema, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some columns of released rows as encoded rows hold them; with the first column, so that there are rows."""
    wanted = names or [schema.columns[0].name]
    return {column.name: column.encode(table[column.name]) for column in schema.released if column.name in wanted}


def with_keys(rows: Synthetic, schema: Schema, *, seed: int) -> Synthetic:
    """Rows with the keys that rules of the schema make up, in front as in a release."""
    n_rows = len(rows)
    keys = {key.name: key.pattern.draw(n_rows, first=0, seed=seed, unique=key.unique) for key in schema.ruled.keys}
    if not keys or rows.table is None:
        return rows
    return replace(rows, table=pd.DataFrame({**keys, **{str(name): rows.table[name].array for name in rows.table}}))


def with_given(rows: Synthetic, given: Mapping[str, Any], schema: Schema) -> Synthetic:
    """Rows with numbers that were found near given ones set to these, as far as they then still obey the rules."""
    exact = {name: value for name, value in given.items() if schema[name].kind in ("numeric", "datetime", "time")}
    if not exact or rows.table is None or not len(rows):
        return rows
    n_rows, table = len(rows), rows.table
    for name, value in exact.items():
        table = table.assign(**{name: schema[name].decode(np.full(n_rows, number_given(value, schema[name]))).array})
    if not schema.rules:
        return replace(rows, table=table)
    every = schema.ruled.complete({column.name: column.encode(table[column.name]) for column in schema.columns})
    table = table.assign(**{column.name: column.decode(every[column.name]).array for column in schema.computed})
    broken = np.zeros(n_rows, dtype=bool)
    for condition in schema.ruled.conditions:
        broken |= condition.is_broken(every, n_rows)
    return replace(rows, table=table).take(np.flatnonzero(~broken))


def number_given(value: Any, column: Column) -> float:
    """A number or a date as people give one, within the bounds."""
    try:
        if column.kind == "time":
            number = float(column.encode(pd.Series([str(value)]))[0])
        else:
            number = pd.Timestamp(value).timestamp() if column.kind == "datetime" else float(value)
    except (TypeError, ValueError):
        raise SchemaError(f"{value!r} is no value of column {column.name!r}, which is {column.kind}.") from None
    if not column.low <= number <= column.high:
        raise SchemaError(f"{value!r} is outside the bounds of column {column.name!r}. No row of the model has it.")
    return number


def given_text(given: Mapping[str, Any], schema: Schema) -> str:
    """The condition that given values are."""
    return " and ".join(_equals(schema[name], value) for name, value in given.items())


def _equals(column: Column, value: Any) -> str:
    name = quoted(column.name, BACKTICK)
    if value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NaT or value is pd.NA:
        return f"{name} is missing"
    if column.kind == "boolean":
        return f"{name} = {str(value).lower()!r}"
    if column.is_coded:
        if str(value) not in column.categories:
            raise SchemaError(
                f"column {column.name!r} cannot be {value!r}. It holds {', '.join(column.categories[:10])}."
            )
        return f"{name} = {quoted(str(value))}"
    number = number_given(value, column)
    if column.kind == "integer":
        return f"{name} = {number!r}"
    near = _NEAR * (column.high - column.low)
    if column.kind == "datetime":
        low, high = (
            pd.Timestamp(side, unit="s").strftime("%Y-%m-%dT%H:%M:%S") for side in (number - near, number + near)
        )
        return f"'{low}' <= {name} <= '{high}'"
    return f"{number - near!r} <= {name} <= {number + near!r}"


def conditioned(
    model: Model, schema: Schema, *, where: str | None = None, given: Mapping[str, Any] | None = None
) -> Conditioned:
    """A model under a condition. What no row can fulfil, by bounds, categories and rules, is refused at once."""
    if schema.tables:
        raise ModelError(
            "conditions are for one table, and this release has several. Draw more persons, and keep those that fulfil it."
        )
    given = dict(given or {})
    texts = [f"({where})"] if where else []
    texts += [given_text(given, schema)] if given else []
    if where:
        schema.expression(where).box()  # so that a mistake is shown in the text as it was written
    if not texts:
        return Conditioned(model, schema, None)
    asked = schema.expression(" and ".join(texts))
    asked.box()
    if schema.rules:
        more = Condition(asked.text, asked.node, 0)
        told = impossible(replace(schema.ruled, conditions=(*schema.ruled.conditions, more)), asked.box().domains)
        if told is not None:
            raise SchemaError(f"the rules of the schema leave no row that fulfils the condition: {told}")
    return Conditioned(model, schema, asked, given)


def sample_balanced(
    model: Model, schema: Schema, column: str, n_rows: int, *, seed: int, where: str | None = None
) -> Synthetic:
    """As many rows of each value of a coded column, in random order."""
    if not schema[column].is_coded:
        raise SchemaError(f"column {column!r} is {schema[column].kind}: only classes can be balanced.")
    values = schema[column].categories
    sizes = [n_rows * (at + 1) // len(values) - n_rows * at // len(values) for at in range(len(values))]
    parts = [
        conditioned(model, schema, where=where, given={column: value}).without_keys(size, seed=seed + at)
        for at, (value, size) in enumerate(zip(values, sizes, strict=True))
        if size
    ]
    whole = joined(parts)
    return with_keys(whole.take(np.random.default_rng(seed).permutation(len(whole))), schema, seed=seed)


def sample_filled(
    model: Model, schema: Schema, rows: pd.DataFrame, *, seed: int, where: str | None = None
) -> Synthetic:
    """One row for each public row that is partly filled, with the values that it has; what is empty is drawn."""
    strange = [str(name) for name in rows.columns if name not in {column.name for column in schema.columns}]
    if strange:
        raise SchemaError(f"the given rows have a column {strange[0]!r}, which is no measured column of the schema.")
    groups: dict[tuple[tuple[str, Any], ...], list[int]] = {}
    for at, row in enumerate(rows.to_dict("records")):
        filled = tuple((str(name), value) for name, value in row.items() if not pd.isna(value))
        groups.setdefault(filled, []).append(at)
    parts, places = [], []
    for number, (filled, members) in enumerate(groups.items()):
        parts.append(
            conditioned(model, schema, where=where, given=dict(filled)).without_keys(len(members), seed=seed + number)
        )
        places += members
    whole = joined(parts)
    return with_keys(whole.take(np.argsort(np.array(places), kind="stable")), schema, seed=seed)


#: Values of some columns, or public rows that are partly filled.
Given = Mapping[str, Any] | pd.DataFrame


@dataclass(frozen=True)
class Asked:
    """What is asked of rows besides their number."""

    where: str | None = None
    given: Given | None = None
    balance: str | None = None

    def rows_of(self, model: Model, schema: Schema, n_rows: int, *, seed: int) -> tuple[Synthetic, str]:
        """The rows, and what is to be said of those behind them. Of given rows there are as many as are given."""
        if self.balance is not None:
            if self.given is not None:
                raise SchemaError("balance goes with where, and not with given values.")
            return sample_balanced(model, schema, self.balance, n_rows, seed=seed, where=self.where), ""
        if isinstance(self.given, pd.DataFrame):
            return sample_filled(model, schema, self.given, seed=seed, where=self.where), ""
        part = conditioned(model, schema, where=self.where, given=self.given)
        rows = part.sample(n_rows, seed=seed)
        return rows, part.told


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
