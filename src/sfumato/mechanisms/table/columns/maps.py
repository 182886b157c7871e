"""What the first stage asks of a row: small maps that hold public facts alone, so that they can travel to another process."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Integers, Values
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.prepared import CODES, bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.differences import ComparedPair, scale_codes
from sfumato.mechanisms.table.columns.features import Feature, one_of
from sfumato.mechanisms.table.columns.point_masses import Zoom
from sfumato.public.schema.schema import Batch


@dataclass(frozen=True)
class CellMap:
    """The cell of each row in every column; where only some columns are `fresh`, the others as they were prepared before."""

    features: tuple[Feature, ...]
    fresh: tuple[int, ...] | None = None

    def __call__(self, batch: Batch) -> Values:
        """By row and column."""
        if self.fresh is None:
            return np.stack([feature.code(batch) for feature in self.features], axis=1)
        cells = batch[CODES].copy()
        for j in self.fresh:
            cells[:, j] = self.features[j].code(batch)
        return cells


@dataclass(frozen=True)
class PlaceMap:
    """The place of each row's cell in some neighbouring columns, of which the first is that of this number."""

    of_cell: Integers
    starts: Integers
    first: int

    def __call__(self, batch: Batch) -> Integers:
        """By row and column."""
        n_columns = len(self.of_cell)
        cells = whole_numbers(batch[CODES])[:, self.first : self.first + n_columns]
        return np.asarray(self.of_cell[np.arange(n_columns), cells] + self.starts)


@dataclass(frozen=True)
class BinMap:
    """The bin of each row in every column, and its class: the last column, of zeros where there is no target."""

    bin_of: tuple[Integers, ...]
    has_target: bool

    def __call__(self, batch: Batch) -> Integers:
        """By row and column."""
        codes = whole_numbers(batch[CODES])
        columns = [bin_of[column] for bin_of, column in zip(self.bin_of, codes.T, strict=True)]
        return np.stack(columns if self.has_target else [*columns, np.zeros(len(codes), dtype=np.int64)], axis=1)


@dataclass(frozen=True)
class CategoryMap:
    """The category of each row in some columns, by class."""

    columns: tuple[int, ...]
    layout: Layout

    def __call__(self, batch: Batch) -> Integers:
        """By row and column."""
        cells = whole_numbers(batch[CODES])
        return cells[:, self.columns] + self.layout.starts + cells[:, -1:] * self.layout.width


@dataclass(frozen=True)
class GroupMap:
    """Whether a row has exactly one member of each candidate for a one-hot group."""

    groups: tuple[tuple[str, ...], ...]

    def __call__(self, batch: Batch) -> Integers:
        """By row and group."""
        ones = [one_of(group, batch) < len(group) for group in self.groups]
        return np.stack([2 * i + one for i, one in enumerate(ones)], axis=1)


@dataclass(frozen=True)
class ClassMap:
    """The class of each row, for a count of all classes."""

    def __call__(self, batch: Batch) -> dict[str, Integers]:
        """One column."""
        return {"sizes": bins_and_labels(batch)[1][:, None]}


@dataclass(frozen=True)
class ScaleMap:
    """By how little two columns differ, for each of some pairs."""

    features: tuple[Feature, ...]
    pairs: tuple[ComparedPair, ...]
    scales: int

    def __call__(self, batch: Batch) -> Integers:
        """By row and pair."""
        return scale_codes(self.features, self.pairs, batch, scales=self.scales)


@dataclass(frozen=True)
class ZoomMap:
    """The part of a heavy cell that a row lies in, for some columns; each has so many parts in all."""

    features: tuple[Feature, ...]
    zooms: Mapping[int, Zoom]
    width: int

    def __call__(self, batch: Batch) -> Integers:
        """By row and column."""
        cells = whole_numbers(batch[CODES])
        parts = [zoom.codes(self.features[i].numbers(batch), cells[:, i]) for i, zoom in self.zooms.items()]
        return np.stack([np.where(p >= 0, at * self.width + p, -1) for at, p in enumerate(parts)], axis=1)
