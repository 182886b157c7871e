"""Rows as numbers in [0, 1], codes and a class: what generators are shown, and what they give back."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import SchemaError
from sfumato.mechanisms.common.arrays import Floats, Integers
from sfumato.mechanisms.common.classed_rows import ClassedRows, class_names
from sfumato.mechanisms.common.pictures import in_bounds
from sfumato.model import Synthetic
from sfumato.public.schema.schema import Batch, Column, n_rows_of

_PRESENT, _ABSENT = 0, 1


@dataclass(frozen=True)
class MixedRows(ClassedRows):
    """What a row is made of. A class is a coded target; a target that is a number is one more number.

    A missing number lies in the middle of its bounds, and a code beside it says that it is missing.

    >>> from sfumato.public.schema.schema import Schema
    >>> age = Column(name="age", kind="integer", bounds=(0, 100), missing=True)
    >>> rows = MixedRows(Schema(columns=(age, Column(name="ill", kind="boolean")), target="ill"))
    >>> rows.numbers({"age": np.array([25.0, np.nan])}), rows.code_sizes, rows.n_classes
    (array([[0.25],
           [0.5 ]]), (2,), 2)
    """

    def __post_init__(self) -> None:
        """Refuse what has nothing besides its class."""
        if not self.columns:
            raise SchemaError("a generator needs a column besides the target.")

    @cached_property
    def n_numbers(self) -> int:
        """Pixels, or columns that hold numbers."""
        return len(self._numbers) if self.image is None else math.prod(self.image.shape)

    @cached_property
    def code_sizes(self) -> tuple[int, ...]:
        """Of every column of codes; then two for each number that may be missing."""
        return (*(column.size for column in self._coded), *(2 for _ in self._optional))

    def numbers(self, batch: Batch) -> Floats:
        """Numbers by their bounds, one row each."""
        values = [batch[column.name].reshape(n_rows_of(batch), -1).astype(np.float64) for column in self._numbers]
        scaled = [(v - c.low) / (c.high - c.low) for v, c in zip(values, self._numbers, strict=True)]
        return np.nan_to_num(np.concatenate(scaled, axis=1), nan=0.5) if scaled else np.zeros((n_rows_of(batch), 0))

    def codes(self, batch: Batch) -> Integers:
        """Codes, one row each."""
        coded = [batch[column.name].astype(np.int64) for column in self._coded]
        absent = [np.where(np.isnan(batch[column.name]), _ABSENT, _PRESENT) for column in self._optional]
        columns = [*coded, *absent]
        return np.stack(columns, axis=1) if columns else np.zeros((n_rows_of(batch), 0), dtype=np.int64)

    def synthetic(self, numbers: NDArray[Any], codes: Integers, labels: Integers) -> Synthetic:
        """Rows again."""
        if self.image is not None:
            images = in_bounds(numbers.reshape(len(numbers), *self.image.shape), self.image)
            if self.target is None:
                return Synthetic(images=images)
            return Synthetic(images=images, labels=labels, classes=class_names(self.target))
        batch: dict[str, NDArray[Any]] = {}
        for column, values in zip(self._numbers, numbers.T, strict=True):
            batch[column.name] = column.low + np.clip(values, 0, 1) * (column.high - column.low)
        batch |= {column.name: code for column, code in zip(self._coded, codes.T, strict=False)}
        for column, code in zip(self._optional, codes.T[len(self._coded) :], strict=True):
            batch[column.name] = np.where(code == _ABSENT, np.nan, batch[column.name])
        if self.target is not None:
            batch[self.target.name] = labels
        return Synthetic(table=self.schema.decode(batch))

    @cached_property
    def _numbers(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if not column.is_coded)

    @cached_property
    def _coded(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.is_coded)

    @cached_property
    def _optional(self) -> tuple[Column, ...]:
        return tuple(column for column in self._numbers if column.missing)
