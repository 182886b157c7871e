"""Rows as points of the unit box, in a frame of their own, and back."""

from dataclasses import dataclass

import numpy as np

from sfumato.mechanisms.common.arrays import Floats, Integers, Values
from sfumato.public.schema.encoding import Encoder
from sfumato.public.schema.schema import Batch, Schema


@dataclass(frozen=True)
class Frame:
    """Where points are measured from, and in which unit: a point of the unit box, and a length."""

    centre: Floats
    unit: float

    def inward(self, box: Floats) -> Floats:
        """Points of the box as vectors from the centre."""
        return (box - self.centre) / self.unit

    def outward(self, vectors: Floats) -> Floats:
        """Vectors from the centre as points of the box."""
        return np.asarray(np.clip(self.centre + vectors * self.unit, 0.0, 1.0))

    def at(self, entries: Integers) -> "Frame":
        """The same frame for some entries alone."""
        return Frame(self.centre[entries], self.unit)


@dataclass(frozen=True, eq=False)
class Points:
    """Rows as vectors from the centre of a frame."""

    encoder: Encoder
    frame: Frame

    def __call__(self, batch: Batch) -> Floats:
        """Each row alone decides its vector."""
        return self.frame.inward(self.encoder(batch))


def shortened(vectors: Floats) -> Floats:
    """Vectors of norm at most 1."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1.0))


def directions(vectors: Floats) -> Floats:
    """Vectors of norm 1, but for those without a length."""
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def quantile_of_counts(counts: Floats, part: float) -> float:
    """At how many cells this part of the noisy counts lies below; never zero."""
    upto = np.maximum.accumulate(np.cumsum(counts))
    return float(np.searchsorted(upto, part * upto[-1]) + 1) if upto[-1] > 0 else float(len(counts))


def number_entries(schema: Schema) -> Integers:
    """Which entries of a point are values of numbers: not codes, and not whether a number is missing."""
    starts = np.cumsum([0, *(Encoder((column,)).width for column in schema.features)])
    numbers = [at for at, column in zip(starts, schema.features, strict=False) if column.is_number]
    return np.array(numbers, dtype=np.int64)


def number_values(batch: Batch, schema: Schema) -> Floats:
    """The numbers of each row in the unit box, NaN where one is missing."""
    columns = [column for column in schema.features if column.is_number]
    scaled = [(np.asarray(batch[c.name], dtype=np.float64) - c.low) / (c.high - c.low) for c in columns]
    return np.column_stack(scaled)


def decode(box: Floats, schema: Schema) -> dict[str, Values]:
    """Points of the unit box as encoded rows: the inverse of `Encoder`. Of a declared group the likeliest member is set."""
    batch: dict[str, Values] = {}
    leaning: dict[str, Floats] = {}
    start = 0
    for column in schema.features:
        width = Encoder((column,)).width
        part = box[:, start : start + width]
        start += width
        leaning[column.name] = part[:, -1] - (part[:, 0] if column.is_coded else 0.5)
        if column.is_coded:
            batch[column.name] = part.argmax(axis=1)
            continue
        value = column.low + part[:, 0] * (column.high - column.low)
        batch[column.name] = np.where(part[:, 1] > 0.5, np.nan, value) if column.missing else value
    for group in schema.groups:
        towards = np.stack([leaning[name] for name in group.members], axis=1)
        none = (towards.max(axis=1) <= 0) & group.or_none
        batch |= group.spelled(np.where(none, len(group.members), towards.argmax(axis=1)))
    return batch
