"""What the first stage asks of a row. Partial functions of public facts alone, so that they can travel to another process."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.common.arrays import Integers, Values
from sfumato.mechanisms.common.compiled import looked_up
from sfumato.mechanisms.common.layout import Layout
from sfumato.mechanisms.common.prepared import CODES, bins_and_labels, whole_numbers
from sfumato.mechanisms.table.columns.features import Feature, one_of
from sfumato.mechanisms.table.columns.point_masses import Zoom
from sfumato.public.schema.following import Following
from sfumato.public.schema.schema import Batch


def cells_of(batch: Batch, features: tuple[Feature, ...], fresh: tuple[int, ...] | None = None) -> Values:
    """The cell of each row in every column; where only some columns are `fresh`, the others as they were prepared before."""
    if fresh is None:
        return np.stack([feature.code(batch) for feature in features], axis=1)
    cells = batch[CODES].copy()
    for j in fresh:
        cells[:, j] = features[j].code(batch)
    return cells


def places_of(batch: Batch, of_cell: NDArray[np.int32], first: int) -> NDArray[np.int32]:
    """The place of each row's cell in some neighbouring columns, of which the first is that of this number."""
    return np.asarray(looked_up(of_cell, whole_numbers(batch[CODES][:, first:])))


def bins_of(batch: Batch, bin_of: Integers, has_target: bool) -> Integers:
    """The bin of each row in every column, and its class: the last column, of zeros where there is no target."""
    bins = looked_up(bin_of, whole_numbers(batch[CODES]))
    return np.asarray(bins if has_target else np.column_stack([bins, np.zeros_like(bins[:, 0])]))


def categories_by_class(batch: Batch, columns: tuple[int, ...], layout: Layout) -> Integers:
    """The category of each row in some columns, by class."""
    cells = whole_numbers(batch[CODES])
    return cells[:, columns] + layout.starts + cells[:, -1:] * layout.width


def groups_of(batch: Batch, groups: tuple[tuple[str, ...], ...]) -> Integers:
    """Whether a row has exactly one member of each candidate for a one-hot group."""
    ones = [one_of(group, batch) < len(group) for group in groups]
    return np.stack([2 * i + one for i, one in enumerate(ones)], axis=1)


def reason_and_consequence(batch: Batch, rule: Following) -> Integers:
    """The place of each row in the table of a column that is a function of others; of a given one, among its reasons."""
    if rule.is_given:
        return rule.reason_of(batch)[:, None]
    return (rule.reason_of(batch) * rule.shape[1] + rule.value_of(batch))[:, None]


def class_of(batch: Batch) -> dict[str, Integers]:
    """The class of each row, for a count of all classes."""
    return {"sizes": bins_and_labels(batch)[1][:, None]}


def zoomed(batch: Batch, features: tuple[Feature, ...], zooms: Mapping[int, Zoom], width: int) -> Integers:
    """The part of a heavy cell that a row lies in, for some columns; each has so many parts in all."""
    cells = whole_numbers(batch[CODES])
    parts = [zoom.codes(features[i].numbers(batch), cells[:, i]) for i, zoom in zooms.items()]
    return np.stack([np.where(p >= 0, at * width + p, -1) for at, p in enumerate(parts)], axis=1)
