"""Tables side by side, in the one form that attacks and leak tests take: codes for equality, numbers for distance.

Everything here reads real rows WITHOUT privacy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sfumato.lab.attacks.meaning import as_codes, as_numbers, shares_values
from sfumato.public.schema.schema import Batch, Schema

#: Categories of a column that distances tell apart; the rest count as one.
_MOST_CATEGORIES = 40


@dataclass(frozen=True)
class Sheet:
    """Rows of one table: codes, which are equal where values are, in any two sheets of a comparison; and values, which are
    numbers as they are (NaN: missing) and codes of everything else.
    """

    codes: NDArray[np.int64] = field(repr=False)
    values: NDArray[np.float64] = field(repr=False)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, chosen: Any) -> "Sheet":
        return Sheet(self.codes[chosen], self.values[chosen])

    def keys(self) -> NDArray[np.uint64]:
        """A number for each row: equal rows have equal ones, and others, but for a chance of 2^-64, do not."""
        frame = pd.DataFrame(self.codes)
        return np.asarray(pd.util.hash_pandas_object(frame, index=False), dtype=np.uint64)


@dataclass(frozen=True)
class Comparison:
    """Real rows, synthetic ones, and where there are any, other real rows that the synthetic ones were not made from."""

    names: tuple[str, ...]
    is_number: tuple[bool, ...]
    real: Sheet
    synthetic: Sheet
    holdout: Sheet | None = None
    #: Columns that share no value: by them no copy can be known, whatever their rows hold.
    not_tested: tuple[str, ...] = ()

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """All that there are."""
        return tuple(sheet for sheet in (self.real, self.synthetic, self.holdout) if sheet is not None)

    def at_most(self, n_rows: int, *, synthetic: int) -> "Comparison":
        """The same with at most so many real and so many synthetic rows, drawn by a fixed seed."""
        rng = np.random.default_rng(0)

        def some(sheet: Sheet, most: int) -> Sheet:
            return sheet if len(sheet) <= most else sheet[np.sort(rng.choice(len(sheet), most, replace=False))]

        holdout = None if self.holdout is None else some(self.holdout, n_rows)
        return replace(self, real=some(self.real, n_rows), synthetic=some(self.synthetic, synthetic), holdout=holdout)


def from_batches(schema: Schema, *, real: Batch, synthetic: Batch, holdout: Batch | None = None) -> Comparison:
    """Encoded rows of a schema. Pictures have no columns, and are left out."""
    columns = [column for column in schema.columns if column.kind != "image"]
    tables = [real, synthetic] if holdout is None else [real, synthetic, holdout]
    return _compared(
        [column.name for column in columns],
        [column.is_number for column in columns],
        [{column.name: np.asarray(table[column.name], dtype=np.float64) for column in columns} for table in tables],
    )


def from_frames(real: pd.DataFrame, synthetic: pd.DataFrame, holdout: pd.DataFrame | None = None) -> Comparison:
    """Tables of any tool: the columns that all of them have, each read as numbers where every one of its values is one."""
    frames = [real, synthetic] if holdout is None else [real, synthetic, holdout]
    names = [name for name in real.columns if all(name in frame.columns for frame in frames)]
    tables: list[dict[str, NDArray[np.float64]]] = [{} for _ in frames]
    is_number = []
    for name in names:
        columns = [frame[name] for frame in frames]
        numbers = as_numbers(columns)
        is_number.append(numbers is not None)
        for table, values in zip(tables, as_codes(columns) if numbers is None else numbers, strict=True):
            table[str(name)] = values
    return _compared([str(name) for name in names], is_number, tables)


def _compared(
    names: list[str], is_number: list[bool], tables: Sequence[Mapping[str, NDArray[np.float64]]]
) -> Comparison:
    """Columns by which no copy could be known are named, and left out."""
    sizes = [len(next(iter(table.values()), ())) for table in tables]
    unlike = [
        name
        for name, number in zip(names, is_number, strict=True)
        if not shares_values(tables[0][name], tables[1][name], is_number=number)
    ]
    is_number = [number for name, number in zip(names, is_number, strict=True) if name not in unlike]
    names = [name for name in names if name not in unlike]
    values = [
        np.stack([table[name] for name in names], axis=1) if names else np.zeros((n, 0))
        for n, table in zip(sizes, tables, strict=True)
    ]
    together = np.concatenate(values) + 0.0  # -0 is 0
    codes = np.zeros(together.shape, dtype=np.int64)
    for at in range(len(names)):
        codes[:, at] = pd.factorize(together[:, at], use_na_sentinel=False)[0]
    parts = np.split(codes, np.cumsum(sizes)[:-1])
    real, synthetic, *holdout = (Sheet(code, value) for code, value in zip(parts, values, strict=True))
    return Comparison(
        tuple(names), tuple(is_number), real, synthetic, holdout[0] if holdout else None, not_tested=tuple(unlike)
    )


def places(found: Comparison) -> tuple[NDArray[np.float32], ...]:
    """Points of a space in which near rows are alike, by sheet.

    A number becomes its rank among the synthetic rows, in [0, 1]; a category a corner, 1 apart from every other. The
    synthetic rows are public, so an attacker has this space too.
    """
    parts: list[list[NDArray[np.float32]]] = [[] for _ in found.sheets]
    for at, is_number in enumerate(found.is_number):
        made = _ranks(found, at) if is_number else _corners(found, at)
        for part, block in zip(parts, made, strict=True):
            part.append(block)
    return tuple(np.concatenate(part, axis=1) if part else np.zeros((0, 0), np.float32) for part in parts)


def _ranks(found: Comparison, at: int) -> list[NDArray[np.float32]]:
    known = np.sort(found.synthetic.values[:, at])
    known = known[~np.isnan(known)]
    made = []
    for sheet in found.sheets:
        values = sheet.values[:, at]
        middle = (np.searchsorted(known, values, "left") + np.searchsorted(known, values, "right")) / 2
        rank = np.where(np.isnan(values), 0.5, middle / max(1, len(known)))
        made.append(np.stack([rank, np.isnan(values)], axis=1).astype(np.float32))
    return made


def _corners(found: Comparison, at: int) -> list[NDArray[np.float32]]:
    kinds, counts = np.unique(found.synthetic.codes[:, at], return_counts=True)
    kept = kinds[np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES]]
    side = np.float32(np.sqrt(0.5))  # two corners are 1 apart
    return [(sheet.codes[:, at][:, None] == kept[None, :]).astype(np.float32) * side for sheet in found.sheets]
